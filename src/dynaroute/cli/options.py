"""Arguments and options shared by several commands. Those of solving are declared in `dynaroute.solving.options`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dynaroute.cli.output import print_note
from dynaroute.solving.options import DECLARATIONS, Decode, Improve, SolveOptions
from dynaroute.vocabulary import Objective

__all__ = [
    "AugmentOption",
    "BestOption",
    "DecodeOption",
    "DeviceOption",
    "ImproveOption",
    "InstanceArgument",
    "IterationsOption",
    "JsonOption",
    "ModelOption",
    "ModelsOption",
    "ObjectiveOption",
    "SamplesOption",
    "SeedOption",
    "StartOption",
    "TargetOption",
    "TemperatureOption",
    "ThreadsOption",
    "TimeLimitOption",
    "TotalTimeOption",
    "print_void_options",
    "refuse_unknown_model",
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


ModelOption = Annotated[str, _option("model", "NAME|FOLDER")]
ModelsOption = Annotated[list[str], _option("model", "NAME|FOLDER")]
DecodeOption = Annotated[Decode | None, _option("decode", "HOW")]
SamplesOption = Annotated[int | None, _option("samples", "K", min=DECLARATIONS["samples"].least)]
TemperatureOption = Annotated[float | None, _option("temperature", "T")]
AugmentOption = Annotated[bool, _option("augment")]
SeedOption = Annotated[int | None, _option("seed", "S", min=DECLARATIONS["seed"].least)]
DeviceOption = Annotated[str | None, _option("device", "D")]
ImproveOption = Annotated[Improve | None, _option("improve", "HOW")]
TimeLimitOption = Annotated[float | None, _option("time_limit", "S")]
TotalTimeOption = Annotated[float | None, _option("total_time", "S")]
IterationsOption = Annotated[int | None, _option("iterations", "N")]
TargetOption = Annotated[float | None, _option("target", "COST")]
ThreadsOption = Annotated[int | None, _option("threads", "T")]
ObjectiveOption = Annotated[Objective | None, _option("objective", "WHAT")]
StartOption = Annotated[
    Path | None,
    _option(
        "start",
        "FILE|FOLDER",
        readable=False,
        help="Known routes to improve: a .sol or .json file; for many instances a folder with NAME.sol for each.",
    ),
]


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
