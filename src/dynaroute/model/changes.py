"""Detecting changed policies, which kernels and the parallel replay cannot run.

If you override a method, replace a module or add a hook, the plain PyTorch code calls yours. So the fast paths ask here
first, and a note says once that they are not used. Changes that even the plain code could not respect are refused
(`Decoder.fold`).
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, TypeAlias

from torch import nn

from dynaroute.base.errors import InputWarning
from dynaroute.model import decoder as decoder_module
from dynaroute.model import encoder as encoder_module
from dynaroute.model import state as state_module
from dynaroute.model.decoder import Decoder
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.packing import Packing
from dynaroute.model.pointer import PointerMemory, PointerNetwork
from dynaroute.model.policy import Memory, Policy
from dynaroute.model.state import RouteState
from dynaroute.model.twin import FORWARD_HOOKS, HARMLESS, find_difference, find_own_difference, make_twin


class ModelWarning(InputWarning):
    """A policy runs without kernels, because it was changed or has no kernels."""


_Code: TypeAlias = dict[type, dict[str, Any]]  # by class and name

_ALL_HOOKS = (*FORWARD_HOOKS, "_backward_hooks", "_backward_pre_hooks")


def _list_code(made: type) -> dict[str, Any]:
    data = (str, int, float, tuple, dict, type(None))
    return {name: code for name, code in vars(made).items() if name not in HARMLESS and not isinstance(code, data)}


_ENCODER_AS_MADE: _Code = {made: _list_code(made) for made in (Encoder, AttentionLayer)}
_OTHERS_AS_MADE: _Code = {
    made: _list_code(made) for made in (Policy, Decoder, PointerNetwork, Packing, Memory, RouteState, PointerMemory)
}
_FUNCTIONS_AS_MADE = (
    (encoder_module, "attend", encoder_module.attend),
    (encoder_module, "_make_normalisation", encoder_module._make_normalisation),
    (decoder_module, "log_distances", decoder_module.log_distances),
    (state_module, "find_feasible", state_module.find_feasible),
)
_make_twin = cache(make_twin)  # asked for before every batch


def find_change(policy: Policy) -> str:
    """Describe what was changed in a policy; empty if nothing."""
    return find_decoder_change(policy) or find_encoder_change(policy)  # a kind of one's own may have no encoder


def find_encoder_change(policy: Policy) -> str:
    """Describe what was changed in its encoder; a pointer network has none."""
    if isinstance(policy, PointerNetwork):
        return ""
    twin = _make_twin(Policy, policy.config).parts["encoder"]
    return (
        find_difference(policy.encoder, twin, "the encoder", _ALL_HOOKS)
        or (_find_other_mode(policy.encoder) if policy.config.normalisation == "batch" else "")
        or _find_other_code(_ENCODER_AS_MADE)
    )


def find_decoder_change(policy: Policy) -> str:
    """Describe what was changed in its decoder, or in how the policy uses it."""
    if isinstance(policy, PointerNetwork):
        change = find_difference(policy, _make_twin(PointerNetwork, policy.config), "the policy", _ALL_HOOKS)
    else:
        twin = _make_twin(Policy, policy.config)
        change = find_own_difference(policy, twin, "the policy", _ALL_HOOKS) or find_difference(
            policy.decoder, twin.parts["decoder"], "the decoder", _ALL_HOOKS
        )
    if change := change or _find_other_code(_OTHERS_AS_MADE):
        return change
    others = [name for module, name, function in _FUNCTIONS_AS_MADE if vars(module)[name] is not function]
    return f"the function {others[0]} was changed" if others else ""


def _find_other_mode(encoder: Encoder) -> str:
    """Describe a normalisation that learns from batches while its layer does not, or the other way round."""
    for index, layer in enumerate(encoder.layers):
        if any(part.training != layer.training for part in layer.children() if isinstance(part, nn.BatchNorm1d)):
            return f"layer {index} of the encoder has a normalisation of another mode"
    return ""


def _find_other_code(as_made: _Code) -> str:
    """Describe what was changed in our classes themselves."""
    for made, usual in as_made.items():
        now = vars(made)
        for name, code in usual.items():
            if now.get(name) is not code:
                return f"{made.__name__}.{name} was changed"
    return ""


def warn_once(what: str) -> None:
    """Note once that a policy runs without kernels or the parallel replay, and why."""
    words = "it runs as plain PyTorch, which calls the policy's own code; kernels are not used."
    _warn(f"{what[0].upper()}{what[1:]}: {words}")


@cache
def _warn(note: str) -> None:
    warnings.warn(note, ModelWarning, stacklevel=4)
