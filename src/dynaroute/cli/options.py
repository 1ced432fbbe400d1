"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "AugmentOption",
    "CapacityOption",
    "Decode",
    "DecodeOption",
    "DeviceOption",
    "Improve",
    "ImproveOption",
    "InstanceArgument",
    "IterationsOption",
    "JsonOption",
    "ModelOption",
    "SamplesOption",
    "SeedOption",
    "TargetOption",
    "TemperatureOption",
    "ThreadsOption",
    "TimeLimitOption",
]

# Said again here, since the module it comes from loads numpy, for which --help has no time.
Decode = Literal["greedy", "sample", "multistart"]
Improve = Literal["none", "2opt", "local", "search"]

POLICY_PANEL = "Policy"
IMPROVE_PANEL = "Improving"

# Of files to read, readable=False: that there is no permission is for the reader to say, as it says everything else.
InstanceArgument = Annotated[
    Path,
    typer.Argument(
        metavar="INSTANCE", readable=False, help="Instance file: .vrp, .json, .csv, or a set with one instance."
    ),
]
CapacityOption = Annotated[
    float | None,
    typer.Option("--capacity", metavar="Q", help="Vehicle capacity of CSV files; goes before their own."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="A shipped model, or a folder with one. auto: the shipped one of the nearest size, or savings where that "
        "is better; a search starts from savings. savings: no policy.",
        rich_help_panel=POLICY_PANEL,
    ),
]
DecodeOption = Annotated[
    Decode | None,
    typer.Option(
        "--decode",
        metavar="HOW",
        help="greedy: the likeliest stop each time (the default). sample: the best of K samples. multistart: the best "
        "of K first customers.",
        rich_help_panel=POLICY_PANEL,
    ),
]
SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="K",
        min=1,
        help="Samples, or first customers of multistart; 16 by default.",
        rich_help_panel=POLICY_PANEL,
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="T",
        help="Of samples: above 1 wilder, below 1 tamer; 1 by default.",
        rich_help_panel=POLICY_PANEL,
    ),
]
AugmentOption = Annotated[
    bool,
    typer.Option(
        "--augment",
        help="Decode in all eight orientations of the map, and keep the best.",
        rich_help_panel=POLICY_PANEL,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="S",
        min=0,
        help="Same seed, same samples; and the same search for a number of iterations. 0 by default.",
        rich_help_panel=POLICY_PANEL,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="D",
        help="cpu, cuda, ...; a GPU by default if there is one.",
        rich_help_panel=POLICY_PANEL,
    ),
]

ImproveOption = Annotated[
    Improve | None,
    typer.Option(
        "--improve",
        metavar="HOW",
        help="none (the default). 2opt: within each route. local: within and between routes, milliseconds. search: "
        "goes on until its time is up; the default where a limit is given.",
        rich_help_panel=IMPROVE_PANEL,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="S",
        help="Seconds of the search for each instance; 10 by default. Many instances are searched side by side, on "
        "all cores.",
        rich_help_panel=IMPROVE_PANEL,
    ),
]
IterationsOption = Annotated[
    int | None,
    typer.Option(
        "--iterations",
        metavar="N",
        help="Iterations of the search for each instance. Without a time limit, the same seed gives the same routes.",
        rich_help_panel=IMPROVE_PANEL,
    ),
]
TargetOption = Annotated[
    float | None,
    typer.Option("--target", metavar="COST", help="End the search early at this cost.", rich_help_panel=IMPROVE_PANEL),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="T",
        help="Cores to use; by default all of them for many instances, one for a single search.",
        rich_help_panel=IMPROVE_PANEL,
    ),
]
