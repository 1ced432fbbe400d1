"""Detecting changed policies, which kernels and the parallel replay cannot run.

If you override a method, replace a module or add a hook, the plain PyTorch code calls yours. So the fast paths ask here
first, and a note says once that they are not used. Changes that even the plain code could not respect are refused
(`Decoder.fold`).
"""

from __future__ import annotations

import warnings
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, TypeAlias

from torch import nn

from dynaroute.errors import InputWarning
from dynaroute.model import decoder as decoder_module
from dynaroute.model import encoder as encoder_module
from dynaroute.model import state as state_module
from dynaroute.model.config import PolicyConfig
from dynaroute.model.decoder import Decoder
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.packing import Packing
from dynaroute.model.pointer import PointerMemory, PointerNetwork
from dynaroute.model.policy import Memory, Policy
from dynaroute.model.state import RouteState

__all__ = ["ModelWarning", "find_change", "find_decoder_change", "find_encoder_change", "warn_once"]


class ModelWarning(InputWarning):
    """A policy runs without kernels, because it was changed or has no kernels."""


_Shapes: TypeAlias = dict[str, tuple[int, int, bool]]  # by name: rows, columns, whether there is a bias

# methods that may be overridden: creating, saving and loading
_HARMLESS = {
    "__init__",
    "_initialise",
    "save_pretrained",
    "from_pretrained",
    "device",
    "dtype",
    "__doc__",
    "__module__",
}
_OF_CLASSES = {"__annotations__", "__static_attributes__", "__firstlineno__", "__annotate__", "__qualname__"}


def _list_code(made: type) -> dict[str, Any]:
    is_code = (str, int, float, tuple, dict, type(None))
    return {name: code for name, code in vars(made).items() if name not in _HARMLESS and not isinstance(code, is_code)}


_AS_MADE: dict[type[nn.Module], dict[str, Any]] = {
    made: _list_code(made) for made in (Policy, Encoder, AttentionLayer, Decoder, PointerNetwork)
}
_VALUES_AS_MADE: dict[type, dict[str, Any]] = {
    made: _list_code(made) for made in (Packing, Memory, RouteState, PointerMemory)
}
_FUNCTIONS_AS_MADE = (
    (encoder_module, "attend", encoder_module.attend),
    (decoder_module, "log_distances", decoder_module.log_distances),
    (state_module, "find_feasible", state_module.find_feasible),
)


def find_change(policy: Policy) -> str:
    """Describe what was changed in a policy; empty if nothing."""
    return find_decoder_change(policy) or find_encoder_change(policy)  # a kind of one's own may have no encoder


def find_encoder_change(policy: Policy) -> str:
    """Describe what was changed in its encoder; a pointer network has none."""
    if isinstance(policy, PointerNetwork):
        return ""
    encoder, config = policy.encoder, policy.config
    shapes, layer_shapes, _ = _expect(config)
    if fault := _find_other_code(encoder, Encoder, shapes, {"layers"}):
        return f"the encoder {fault}"
    if encoder.depot_features != config.depot_features or len(encoder.layers) != config.layers:
        return "the encoder is not that of the configuration"
    for index, layer in enumerate(encoder.layers):
        if fault := _find_layer_change(layer, config, layer_shapes):
            return f"layer {index} of the encoder {fault}"
    return ""


def find_decoder_change(policy: Policy) -> str:
    """Describe what was changed in its decoder, or in how the policy uses it."""
    if isinstance(policy, PointerNetwork):
        return _find_pointer_change(policy) or _find_other_values()
    if fault := _find_other_code(policy, Policy, {}, {"encoder", "decoder"}):
        return f"the policy {fault}"
    learned = {"distance_weight"} if policy.config.distance_bias else set()
    if fault := _find_other_code(policy.decoder, Decoder, _expect(policy.config)[2], set(), learned):
        return f"the decoder {fault}"
    if policy.decoder.config != policy.config:
        return "the decoder is not that of the configuration"
    return _find_other_values()


def _find_pointer_change(policy: PointerNetwork) -> str:
    width = policy.config.dimension
    shapes: _Shapes = {
        "embed_static": (width, 2, True),
        "embed_dynamic": (width, 2, True),
        "attention": (width, 3 * width, False),
        "attention_score": (1, width, False),
        "pointer": (width, 4 * width, False),
        "pointer_score": (1, width, False),
    }
    if fault := _find_other_code(policy, PointerNetwork, shapes, {"recurrent"}):
        return f"the policy {fault}"
    recurrent = policy.recurrent
    if type(recurrent) is not nn.LSTM or _is_hooked(recurrent) or recurrent.hidden_size != width:
        return f"the policy has another recurrent part ({type(recurrent).__name__}, or hooks on it)"
    return ""


def _find_other_values() -> str:
    """Describe what was changed in shared classes and functions."""
    for made, code in _VALUES_AS_MADE.items():
        if name := _find_other_method(vars(made), code):
            return f"{made.__name__}.{name} was changed"
    others = [name for module, name, function in _FUNCTIONS_AS_MADE if vars(module)[name] is not function]
    return f"the function {others[0]} was changed" if others else ""


def warn_once(what: str) -> None:
    """Note once that a policy runs without kernels or the parallel replay, and why."""
    words = "it runs as plain PyTorch, which calls the policy's own code; kernels are not used."
    _warn(f"{what[0].upper()}{what[1:]}: {words}")


@cache
def _warn(note: str) -> None:
    warnings.warn(note, ModelWarning, stacklevel=4)


@cache
def _expect(config: PolicyConfig) -> tuple[_Shapes, _Shapes, _Shapes]:
    """Return the expected shapes of the linear parts of encoder, layers and decoder."""
    width, inner = config.dimension, config.feed_forward
    square = (width, width, False)
    encoder = {"embed_customer": (width, 3, True), "embed_depot": (width, config.depot_features, True)}
    layer = {
        "query_key_value": (3 * width, width, False),
        "output": square,
        "feed_forward_in": (inner, width, True),
        "feed_forward_out": (width, inner, True),
    }
    decoder = {"context_query": (width, 2 * width + 1, False)}
    decoder |= dict.fromkeys(("key", "value", "output", "logit_key"), square)
    if config.logit_query:
        decoder["logit_query"] = square
    if config.edge_scores:
        decoder["edge"] = (width, width + 1, False)
    return encoder, layer, decoder


def _find_layer_change(layer: nn.Module, config: PolicyConfig, shapes: _Shapes) -> str:
    if fault := _find_other_code(layer, AttentionLayer, shapes, {"after_attention", "after_feed_forward"}):
        return fault
    assert isinstance(layer, AttentionLayer)
    if type(layer.scale) is not float or (layer.heads, layer.scale) != (config.heads, config.attention_scale):
        return "is not that of the configuration"
    is_batch = config.normalisation == "batch"
    for part in (layer.after_attention, layer.after_feed_forward):
        if type(part) is not (nn.BatchNorm1d if is_batch else nn.Tanh) or _is_hooked(part):
            return f"has another normalisation ({type(part).__name__})"
        is_usual = not is_batch or (part.affine and part.track_running_stats and part.num_features == config.dimension)
        if not is_usual or part.training != layer.training:
            return "has a normalisation of another size or mode"
    return ""


def _find_other_code(
    module: nn.Module,
    made: type[nn.Module],
    shapes: _Shapes,
    others: set[str],
    learned: AbstractSet[str] = frozenset(),
) -> str:
    """Describe a change of a module's class, methods, parts or parameters."""
    if not isinstance(module, made) or _overrides(type(module), made):
        return f"is a {type(module).__name__}, not a {made.__name__}"
    own, as_made = vars(module), _AS_MADE[made]
    if _is_hooked(module):
        return "has hooks, or a forward of its own"
    if own["_buffers"] or own["_parameters"].keys() != learned:
        return f"has other parameters ({', '.join([*own['_parameters'], *own['_buffers']])})"
    if name := _find_other_method(vars(made), as_made) or next((name for name in as_made if name in own), ""):
        return f"has a changed method {name}"
    parts = {name: part for name, part in own["_modules"].items() if part is not None}
    if len(parts) != len(shapes) + len(others):
        return f"has other parts ({', '.join(sorted(parts.keys() ^ shapes.keys() ^ others))})"
    for name, (rows, columns, has_bias) in shapes.items():
        part = parts.get(name)
        if type(part) is not nn.Linear or _is_hooked(part):
            return f"has another {name} ({type(part).__name__}, or hooks on it)"
        if part.weight.shape != (rows, columns) or (part.bias is not None) != has_bias:
            return f"has a {name} of another shape"
    return ""


def _overrides(own: type[nn.Module], made: type[nn.Module]) -> bool:
    """Whether a subclass has code in place of ours; parts that it makes are compared one by one."""
    classes = own.__mro__[: own.__mro__.index(made)]
    names = {name for each in classes for name in vars(each)} - _HARMLESS - _OF_CLASSES - {"_make_parts"}
    return any(hasattr(made, name) for name in names)


def _find_other_method(now: Any, as_made: dict[str, Any]) -> str:
    return next((name for name, code in as_made.items() if now.get(name) is not code), "")


def _is_hooked(module: nn.Module) -> bool:
    own = vars(module)
    on_the_way = own["_forward_hooks"] or own["_forward_pre_hooks"]
    return bool(on_the_way or own["_backward_hooks"] or own["_backward_pre_hooks"] or "forward" in own)
