"""Lets a command take a group of options as one parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

__all__ = ["make_option", "take_group", "takes_groups"]


def make_option(name: str, annotation: Any, default: object = None) -> Parameter:
    """Make an option of a group, with the annotation that declares it for Typer."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def take_group(
    command: Callable[..., None], group: str, options: Sequence[Parameter], gather: Callable[..., Any]
) -> Callable[..., None]:
    """Return a command with a group of options in place of one parameter.

    Parameters
    ----------
    command
        The command.
    group
        The parameter. The help lists the options where it is among the command's parameters.
    options
        The options, from `make_option`.
    gather
        Makes the parameter from the options, which it gets by name.
    """

    @wraps(command)
    def take(**given: Any) -> None:
        gathered = gather(**{each.name: given.pop(each.name, each.default) for each in options})
        command(**given, **{group: gathered})

    parameters: list[Parameter] = []
    for own in signature(command, eval_str=True).parameters.values():
        parameters += options if own.name == group else [own.replace(kind=Parameter.KEYWORD_ONLY)]
    # what Typer reads
    take.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    take.__annotations__ = {each.name: each.annotation for each in parameters}
    return take


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with a group of options in place of each parameter that is a dataclass.

    Each field of the dataclass is an option: its metadata has Typer's description of it as "option".
    """
    taken = command
    for own in signature(command, eval_str=True).parameters.values():
        group = own.annotation
        if isinstance(group, type) and is_dataclass(group):
            taken = take_group(taken, own.name, _list_options(group), group)
    return taken


def _list_options(group: Any) -> list[Parameter]:
    types = get_type_hints(group)
    return [
        make_option(each.name, Annotated[types[each.name], each.metadata["option"]], each.default)
        for each in fields(group)
    ]
