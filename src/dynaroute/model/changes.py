"""Whether a policy is still what Dynaroute made: kernels and the parallel replay know only that.

Whoever overrides a method, swaps a module in or hooks into one gets what they wrote: the plain path calls it. So the
fast paths ask here first, and a note says once that they stand aside.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from torch import nn

from dynaroute.errors import InputWarning
from dynaroute.model.config import PolicyConfig
from dynaroute.model.decoder import Decoder
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.policy import Policy

__all__ = ["ModelWarning", "find_change", "find_decoder_change", "find_encoder_change", "tell_of_change"]


class ModelWarning(InputWarning):
    """A policy was changed, so that it runs without kernels."""


# what a policy computes with; other methods, such as those that save it, may be anybody's
_METHODS: dict[type[nn.Module], tuple[str, ...]] = {
    Policy: ("begin", "begin_exactly", "logits", "advance"),
    Encoder: ("forward", "embed", "encode_exactly"),
    AttentionLayer: ("forward", "attention", "feed_forward"),
    Decoder: ("fold", "capacity_weight", "project", "logits", "_query", "_split_context_query", "_split_heads"),
}
_AS_MADE: dict[type[nn.Module], dict[str, Any]] = {
    made: {name: vars(made)[name] for name in names} for made, names in _METHODS.items()
}
_LINEAR_IN_LAYER = {"query_key_value": False, "output": False, "feed_forward_in": True, "feed_forward_out": True}
_LINEAR_IN_DECODER = ("context_query", "key", "value", "output", "logit_key")


def find_change(policy: Policy) -> str:
    """What of a policy is not as Dynaroute made it, in words; empty if nothing is.

    Parameters
    ----------
    policy
        The policy.
    """
    if fault := _find_other_code(policy, Policy, 2):
        return f"the policy {fault}"
    return find_encoder_change(policy) or find_decoder_change(policy)


def find_encoder_change(policy: Policy) -> str:
    """The same of its encoder alone."""
    encoder, config = policy.encoder, policy.config
    if fault := _find_other_code(encoder, Encoder, 3) or _find_other_linear(encoder, ("embed_customer", "embed_depot")):
        return f"the encoder {fault}"
    if encoder.depot_features != config.depot_features or len(encoder.layers) != config.layers:
        return "the encoder is not that of the configuration"
    for index, layer in enumerate(encoder.layers):
        if fault := _find_layer_change(layer, config):
            return f"layer {index} of the encoder {fault}"
    return ""


def find_decoder_change(policy: Policy) -> str:
    """The same of its decoder, and of how the policy uses it."""
    decoder, has_query = policy.decoder, policy.config.logit_query
    names = (*_LINEAR_IN_DECODER, "logit_query") if has_query else _LINEAR_IN_DECODER
    if fault := _find_other_code(policy, Policy, 2):
        return f"the policy {fault}"
    # where there is no query of its own, None stands in its place
    if fault := _find_other_code(decoder, Decoder, 6) or _find_other_linear(decoder, names, has_bias=False):
        return f"the decoder {fault}"
    is_alike = decoder.config == policy.config and (decoder.logit_query is not None) == has_query
    return "" if is_alike else "the decoder is not that of the configuration"


def tell_of_change(change: str) -> None:
    """Note, once, that a changed policy runs without kernels."""
    _tell_once(f"{change}: this policy runs as plain PyTorch, which calls your code; kernels stand aside.")


@cache
def _tell_once(note: str) -> None:
    warnings.warn(note[0].upper() + note[1:], ModelWarning, stacklevel=4)


def _find_layer_change(layer: nn.Module, config: PolicyConfig) -> str:
    if fault := _find_other_code(layer, AttentionLayer, 6):
        return fault
    assert isinstance(layer, AttentionLayer)
    if layer.heads != config.heads or layer.scale != config.attention_scale:
        return "is not that of the configuration"
    for name, has_bias in _LINEAR_IN_LAYER.items():
        if fault := _find_other_linear(layer, (name,), has_bias):
            return fault
    is_batch = config.normalisation == "batch"
    for name in ("after_attention", "after_feed_forward"):
        normalisation = layer._modules[name]
        if type(normalisation) is not (nn.BatchNorm1d if is_batch else nn.Tanh) or _is_hooked(normalisation):
            return f"has another {name} ({type(normalisation).__name__})"
        if is_batch and not (normalisation.affine and normalisation.track_running_stats):
            return f"has a {name} without parameters or statistics"
    return ""


def _find_other_code(module: nn.Module, made: type[nn.Module], children: int) -> str:
    """Whether a module's class, methods or parts are others."""
    if type(module) is not made:
        return f"is a {type(module).__name__}, not a {made.__name__}"
    if _is_hooked(module):
        return "has hooks"
    if len(module._modules) > children:
        return f"has further modules ({', '.join(module._modules)})"
    of_class, of_object = vars(made), vars(module)
    for name, function in _AS_MADE[made].items():
        if of_class[name] is not function or name in of_object:
            return f"has a method {name} that is another one"
    return ""


def _find_other_linear(module: nn.Module, names: tuple[str, ...], has_bias: bool = True) -> str:
    for name in names:
        part = module._modules.get(name)
        if type(part) is not nn.Linear or _is_hooked(part) or (part.bias is not None) != has_bias:
            return f"has another {name} ({type(part).__name__})"
    return ""


def _is_hooked(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))
