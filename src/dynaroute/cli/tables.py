"""How tables are read: options that the commands share, and reading with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.cli.fleets import FleetWords

if TYPE_CHECKING:
    from dynaroute.fleet_options import FleetOptions
    from dynaroute.instance import Instance

__all__ = [
    "CapacityOption",
    "ColumnsOption",
    "DurationsOption",
    "FormatOption",
    "MatrixOption",
    "SheetOption",
    "TableOptions",
]

PANEL = "Tables"

# A text, not a number: 450,5 and "450 kg" are understood, and what is not is told in our words.
CapacityOption = Annotated[
    str | None,
    typer.Option(
        "--capacity",
        metavar="Q",
        help="Vehicle capacity of tables; goes before their own.",
        rich_help_panel=PANEL,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="SUFFIX",
        help="What the file is, if its suffix does not say it, or '-' stands for it: csv, xlsx, json, ...",
        rich_help_panel=PANEL,
    ),
]
SheetOption = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook; else the first visible one with a header.",
        rich_help_panel=PANEL,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMN=MEANING,...",
        help="What columns are, where headings do not say it: Mng=demand,x=lon,y=lat.",
        rich_help_panel=PANEL,
    ),
]
MatrixOption = Annotated[
    str | None,
    typer.Option(
        "--matrix",
        metavar="FILE[#SHEET]",
        help="Distances between the stops of a table: a .csv file, or a sheet.",
        rich_help_panel=PANEL,
    ),
]
DurationsOption = Annotated[
    str | None,
    typer.Option(
        "--durations",
        metavar="FILE[#SHEET]",
        help="The same of travel times.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class TableOptions:
    """What the user said about tables, and about vehicles beside them."""

    capacity: str | None = None
    format: str | None = None
    sheet: str | None = None
    columns: str | None = None
    matrix: str | None = None
    durations: str | None = None
    fleet: FleetWords = field(default_factory=FleetWords)
    _understood: FleetOptions = field(init=False)

    def __post_init__(self) -> None:
        # now, so that a wrong option is told once, and not of every file
        object.__setattr__(self, "_understood", self.fleet.understand())

    def read(self, path: Path) -> Instance:
        """Read one instance; "-" is the standard input."""
        from dynaroute.formats import read

        instance = read(os.fspath(path), **self._settings())
        self.fleet.tell_unit([instance])
        return instance

    def read_set(self, path: Path) -> list[Instance]:
        """Read all instances of a file."""
        from dynaroute.formats import read_set

        instances = read_set(os.fspath(path), **self._settings())
        self.fleet.tell_unit(instances)
        return instances

    def _settings(self) -> dict[str, Any]:
        said = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {**said, "fleet": self._understood}

    @property
    def files(self) -> list[Path]:
        """What is read beside the instance's own file."""
        specs = [spec for spec in (self.matrix, self.durations) if spec is not None]
        legs = [Path(spec if Path(spec).exists() else spec.rpartition("#")[0] or spec) for spec in specs]
        return [*legs, *self.fleet.files]
