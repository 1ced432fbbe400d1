"""Arguments and options shared by several commands. Those of solving are declared in `dynaroute.solving.options`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dynaroute.cli.shared.output import print_note
from dynaroute.solving.options import DECLARATIONS, SolveOptions, list_types


def option(metavar: str | None, help: str | None, panel: str | None = None, *flags: str, **more: Any) -> Any:
    """Describe an option, whose name is the parameter's unless there are flags.

    Missing permissions of files are left to our readers, which report them like all other errors.

    Parameters
    ----------
    metavar, help, panel
        What the help shows: what stands for the value, a sentence, and the group of options.
    *flags
        Other names.
    **more
        As for Typer: least and largest value, ...
    """
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=panel, readable=False, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Describe an argument: what stands for it in the help, and a sentence."""
    return typer.Argument(metavar=metavar, help=help, readable=False, **more)


def switch(flag: str, help: str, panel: str | None = None) -> Any:
    """Describe an option without a value, which can only be switched on."""
    return typer.Option(flag, help=help, rich_help_panel=panel)


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


PANELS = {"policy": "Policy", "improvement": "Improvement"}

InstanceArgument = Annotated[
    Path, argument("INSTANCE", "Instance file: .vrp, .json, .csv, .xlsx, or a set with one instance.")
]
BestOption = Annotated[
    Path | None,
    option(
        "FILE.csv",
        "Table of best known costs, with the columns name and best_known_cost (or optimum); default: best.csv in the "
        "folder.",
    ),
]
JsonOption = Annotated[bool, switch("--json", "Print one JSON document on stdout instead of text.")]


_SHOWN_LIMITS = ("samples", "seed")  # these are Typer's to check, and in the help


def _option(name: str, **more: Any) -> Any:
    """Make the option from its declaration; `more` is what differs for a command."""
    declared = DECLARATIONS[name]
    settings = {"metavar": declared.metavar, "help": declared.help, **more}
    if name in _SHOWN_LIMITS:
        settings["min"] = declared.least
    flag = f"--{name.replace('_', '-')}"
    return option(settings.pop("metavar"), settings.pop("help"), PANELS[declared.about], flag, **settings)


ModelsOption = Annotated[list[str], _option("model")]
DeviceOption = Annotated[str | None, _option("device")]
StartOption = Annotated[
    Path | None,
    _option(
        "start",
        metavar="FILE|FOLDER",
        help="Known routes to improve: a .sol or .json file; for many instances a folder with NAME.sol for each.",
    ),
]


def takes_solving(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of solving to a command, which gets them as its parameter `options`.

    Parameters
    ----------
    without
        Options that the command does not have, or declares itself. Known routes are always its own.
    """
    types, left_out = list_types(), {"start", *without}
    options = [
        make_option(entry.name, Annotated[types[entry.name], _option(entry.name)], entry.default)
        for entry in fields(SolveOptions)
        if entry.name not in left_out
    ]
    return lambda command: take_group(command, "options", options, SolveOptions)


def refuse_unknown_model(options: SolveOptions) -> None:
    """Raise if there is no such model, before files are read."""
    if options.model not in ("auto", "savings"):
        from dynaroute.weights import find_model

        find_model(str(options.model))


def print_void_options(options: SolveOptions, *, has_start: bool = False) -> None:
    """Note the given options that have no effect; `has_start` says whether known routes are given."""
    uses_policy = options.uses_policy and not (has_start and options.model == "auto")
    if (
        options.seed is not None
        and options.decode not in ("sample", "sgbs")
        and options.improver not in ("search", "active")
    ):
        print_note("--seed has no effect: only --decode sample, sgbs and a search use random numbers.")
    if options.device is not None and not uses_policy and options.total_time is None:
        print_note("--device has no effect: without a policy, only the CPU is used.")
    if options.threads is not None and options.improver == "none":
        print_note("--threads has no effect without --improve.")
    if uses_policy:
        return
    first_routes = "the first routes are those of --start" if has_start else "a search chooses its start itself"
    for name in options.given_decoding:
        print_note(f"--{name} has no effect: {first_routes}, unless --model names a policy.")
