"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["CapacityOption", "InstanceArgument", "JsonOption"]

InstanceArgument = Annotated[
    Path, typer.Argument(metavar="INSTANCE", help="Instance file: .vrp, .json, .csv, or a set with one instance.")
]
CapacityOption = Annotated[
    float | None,
    typer.Option("--capacity", metavar="Q", help="Vehicle capacity, for a CSV file without it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]
