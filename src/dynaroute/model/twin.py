"""Comparing a policy with its twin: one that is made of the same settings, as its parts' classes, values and shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import torch
from torch import nn

from dynaroute.model.config import PolicyConfig

FORWARD_HOOKS = ("_forward_hooks", "_forward_pre_hooks")

# methods that may be replaced: first values, saving and loading
HARMLESS = {"_initialise", "save_pretrained", "from_pretrained", "device", "dtype"}
_OF_TRAINING = {"training", "momentum"}  # neither changes what a finished policy computes
_MAKING = {"__init__", "_make_parts"}  # what a subclass makes is compared itself
_OF_CLASSES = {"__doc__", "__module__", "__annotations__", "__qualname__"}
_OF_CLASSES |= {"__static_attributes__", "__firstlineno__", "__annotate__"}  # of later versions of Python


class Twin(NamedTuple):
    """A module as it is made.

    Attributes
    ----------
    made
        Its class.
    values
        Its plain values by name.
    shapes
        Shapes of its own parameters and buffers.
    names
        The names of all its attributes.
    parts
        Its parts.
    """

    made: type[nn.Module]
    values: Mapping[str, object]
    shapes: Mapping[str, tuple[int, ...]]
    names: frozenset[str]
    parts: Mapping[str, Twin]


def make_twin(made: Callable[[PolicyConfig], nn.Module], config: PolicyConfig) -> Twin:
    """Describe a policy of these settings, without giving it numbers."""
    with torch.device("meta"):
        return _describe(made(config))


def _describe(module: nn.Module) -> Twin:
    own = vars(module)
    plain = (int, float, str, tuple, PolicyConfig)
    values = {name: value for name, value in own.items() if isinstance(value, plain) and name not in _OF_TRAINING}
    parts = {name: _describe(part) for name, part in module.named_children()}
    return Twin(type(module), values, _list_shapes(own), frozenset(own), parts)


def find_difference(module: nn.Module, twin: Twin, words: str, hooks: tuple[str, ...] = FORWARD_HOOKS) -> str:
    """Describe how a module, or a part of it, differs from its twin; empty if not at all.

    Parameters
    ----------
    module, twin
        The two.
    words
        What the module is called.
    hooks
        The kinds of hooks that count.
    """
    if other := find_own_difference(module, twin, words, hooks):
        return other
    for name, part in module._modules.items():
        if part is not None and (other := find_difference(part, twin.parts[name], f"{words}.{name}", hooks)):
            return other
    return ""


def find_own_difference(module: nn.Module, twin: Twin, words: str, hooks: tuple[str, ...]) -> str:
    """Describe how a module itself differs, besides its parts."""
    own = vars(module)
    if type(module) is not twin.made and not _inherits_all(type(module), twin.made):
        return f"{words} is a {type(module).__name__}, not a {twin.made.__name__}"
    for each in hooks:
        if own[each]:
            return f"{words} has hooks"
    if not own.keys() <= twin.names and (name := _find_method(own.keys() - twin.names, twin.made)):
        return f"{words} has a changed method {name}"
    if odd := {name for name, part in own["_modules"].items() if part is not None} ^ twin.parts.keys():
        return f"{words} has other parts than those of the configuration ({', '.join(sorted(odd))})"
    if (shapes := _list_shapes(own)) != twin.shapes:
        name = next(name for name in [*shapes, *twin.shapes] if shapes.get(name) != twin.shapes.get(name))
        return f"{words} has a {name} of another shape"
    for name, usual in twin.values.items():
        value = own.get(name)
        if type(value) is not type(usual) or value != usual:
            return f"{words} has another {name} than that of the configuration"
    return ""


def _list_shapes(own: Mapping[str, Mapping[str, torch.Tensor | None]]) -> dict[str, tuple[int, ...]]:
    tensors = {**own["_parameters"], **own["_buffers"]} if own["_buffers"] else own["_parameters"]
    return {name: tensor.shape for name, tensor in tensors.items() if tensor is not None}


def _find_method(names: AbstractSet[str], made: type[nn.Module]) -> str:
    """Find an attribute that stands in place of a class's code."""
    classes = [each for each in made.__mro__ if each not in nn.Module.__mro__]
    return next((name for name in sorted(names) if any(name in vars(each) for each in classes)), "")


def _inherits_all(own: type[nn.Module], made: type[nn.Module]) -> bool:
    """Whether a class is a subclass of one of ours without code in place of it."""
    if not issubclass(own, made) or not made.__module__.startswith("dynaroute."):
        return False
    classes = own.__mro__[: own.__mro__.index(made)]
    names = {name for each in classes for name in vars(each)} - HARMLESS - _MAKING - _OF_CLASSES
    return not any(hasattr(made, name) for name in names)
