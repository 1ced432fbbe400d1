"""Arguments and options shared by several commands. Those of solving are declared in `dynaroute.solving.options`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dynaroute.cli.option_groups import make_option, take_group
from dynaroute.cli.output import print_note
from dynaroute.solving.options import DECLARATIONS, Decode, Improve, SolveOptions
from dynaroute.vocabulary import Objective

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


def _option(name: str, metavar: str | None = None, **more: Any) -> Any:
    """Make the option from its declaration; `more` holds what only a command line needs."""
    declared = DECLARATIONS[name]
    settings = {"help": declared.help, "rich_help_panel": PANELS[declared.about], **more}
    return typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, **settings)


ModelsOption = Annotated[list[str], _option("model", "NAME|FOLDER")]
DeviceOption = Annotated[str | None, _option("device", "D")]
StartOption = Annotated[
    Path | None,
    _option(
        "start",
        "FILE|FOLDER",
        readable=False,
        help="Known routes to improve: a .sol or .json file; for many instances a folder with NAME.sol for each.",
    ),
]

_SOLVING_OPTIONS = (
    make_option("model", Annotated[str, _option("model", "NAME|FOLDER")], "auto"),
    make_option("decode", Annotated[Decode | None, _option("decode", "HOW")]),
    make_option("samples", Annotated[int | None, _option("samples", "K", min=DECLARATIONS["samples"].least)]),
    make_option("temperature", Annotated[float | None, _option("temperature", "T")]),
    make_option("augment", Annotated[bool, _option("augment")], False),
    make_option("seed", Annotated[int | None, _option("seed", "S", min=DECLARATIONS["seed"].least)]),
    make_option("device", DeviceOption),
    make_option("improve", Annotated[Improve | None, _option("improve", "HOW")]),
    make_option("time_limit", Annotated[float | None, _option("time_limit", "S")]),
    make_option("total_time", Annotated[float | None, _option("total_time", "S")]),
    make_option("iterations", Annotated[int | None, _option("iterations", "N")]),
    make_option("target", Annotated[float | None, _option("target", "COST")]),
    make_option("objective", Annotated[Objective | None, _option("objective", "WHAT")]),
    make_option("threads", Annotated[int | None, _option("threads", "T")]),
)


def takes_solving(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of solving to a command, which gets them as its parameter `options`.

    Parameters
    ----------
    without
        Options that the command does not have, or declares itself.
    """
    options = [each for each in _SOLVING_OPTIONS if each.name not in without]
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
