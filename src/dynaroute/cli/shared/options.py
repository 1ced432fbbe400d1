"""Arguments and options shared by several commands. Those of solving are declared in `dynaroute.solving.options`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from dynaroute.cli.shared.option_groups import make_option, take_group
from dynaroute.cli.shared.output import print_note
from dynaroute.solving.options import DECLARATIONS, SolveOptions, list_types

__all__ = [
    "PANELS",
    "BestOption",
    "DeviceOption",
    "InstanceArgument",
    "JsonOption",
    "ModelsOption",
    "StartOption",
    "print_void_options",
    "refuse_unknown_model",
    "takes_solving",
]

PANELS = {"policy": "Policy", "improvement": "Improvement"}

# readable=False for input files, because the reader reports missing permissions like all other errors.
InstanceArgument = Annotated[
    Path,
    typer.Argument(
        metavar="INSTANCE", readable=False, help="Instance file: .vrp, .json, .csv, .xlsx, or a set with one instance."
    ),
]
BestOption = Annotated[
    Path | None,
    typer.Option(
        "--best",
        metavar="FILE.csv",
        readable=False,
        help="Table of best known costs, with the columns name and best_known_cost (or optimum); default: best.csv in "
        "the folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]


_SHOWN_LIMITS = ("samples", "seed")  # these are Typer's to check, and in the help


def _option(name: str, **more: Any) -> Any:
    """Make the option from its declaration; `more` is what differs for a command."""
    declared = DECLARATIONS[name]
    settings = {"metavar": declared.metavar, "help": declared.help, "rich_help_panel": PANELS[declared.about], **more}
    if name in _SHOWN_LIMITS:
        settings["min"] = declared.least
    return typer.Option(f"--{name.replace('_', '-')}", **settings)


ModelsOption = Annotated[list[str], _option("model")]
DeviceOption = Annotated[str | None, _option("device")]
StartOption = Annotated[
    Path | None,
    _option(
        "start",
        metavar="FILE|FOLDER",
        readable=False,
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
    if options.seed is not None and options.decode != "sample" and not options.searches:
        print_note("--seed has no effect: only --decode sample and a search use random numbers.")
    if options.device is not None and not uses_policy and options.total_time is None:
        print_note("--device has no effect: without a policy, only the CPU is used.")
    if options.threads is not None and options.improver == "none":
        print_note("--threads has no effect without --improve.")
    if uses_policy:
        return
    first_routes = "the first routes are those of --start" if has_start else "a search starts from savings"
    for name in options.given_decoding:
        print_note(f"--{name} has no effect: {first_routes}, unless --model names a policy.")
