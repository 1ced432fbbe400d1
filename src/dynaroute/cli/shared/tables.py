"""Options for reading tables, shared by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.cli.shared.fleets import FLEET_OPTIONS, FleetWords
from dynaroute.cli.shared.option_groups import make_option, take_group

if TYPE_CHECKING:
    from dynaroute.formats.fleet_options import FleetOptions
    from dynaroute.problem.instance import Instance

__all__ = ["CapacityOption", "IgnoreOption", "TableOptions", "takes_tables"]

PANEL = "Tables"

# A text, not a number, so that 450,5 and "450 kg" work, and errors are in our words.
CapacityOption = Annotated[
    str | None,
    typer.Option(
        "--capacity",
        metavar="Q",
        help="Vehicle capacity for tables; overrides their own.",
        rich_help_panel=PANEL,
    ),
]
_FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="SUFFIX",
        help="Format of the file, if its suffix does not say or it is '-': csv, xlsx, json, ...",
        rich_help_panel=PANEL,
    ),
]
_SheetOption = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook; default: the first visible sheet with a header.",
        rich_help_panel=PANEL,
    ),
]
_ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMN=MEANING,...",
        help="Meaning of columns with unclear headings: Mng=demand,x=lon,y=lat.",
        rich_help_panel=PANEL,
    ),
]
_MatrixOption = Annotated[
    str | None,
    typer.Option(
        "--matrix",
        metavar="FILE[#SHEET]",
        help="Distances between the stops of a table: a file such as .csv, or FILE#SHEET.",
        rich_help_panel=PANEL,
    ),
]
_DurationsOption = Annotated[
    str | None,
    typer.Option(
        "--durations",
        metavar="FILE[#SHEET]",
        help="Travel times between the stops of a table, likewise.",
        rich_help_panel=PANEL,
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="COLUMN",
        help="Plan without a column, or a key of a .json file, that asks for something unsupported. May be given "
        "several times.",
        rich_help_panel=PANEL,
    ),
]
_TABLE_OPTIONS = {
    "capacity": CapacityOption,
    "format": _FormatOption,
    "sheet": _SheetOption,
    "columns": _ColumnsOption,
    "matrix": _MatrixOption,
    "durations": _DurationsOption,
    "ignore": IgnoreOption,
}
_OPTIONS = [make_option(name, option) for name, option in (_TABLE_OPTIONS | FLEET_OPTIONS).items()]


@dataclass(frozen=True)
class TableOptions:
    """The user's options about tables and vehicles."""

    capacity: str | None = None
    format: str | None = None
    sheet: str | None = None
    columns: str | None = None
    matrix: str | None = None
    durations: str | None = None
    ignore: tuple[str, ...] = ()
    fleet: FleetWords = field(default_factory=FleetWords)
    _understood: FleetOptions = field(init=False)

    def __post_init__(self) -> None:
        # now, so that a wrong option is reported once, not for every file
        object.__setattr__(self, "_understood", self.fleet.understand(self.ignore))

    def read(self, path: Path) -> Instance:
        """Read one instance; "-" is standard input."""
        from dynaroute.formats import read

        instance = read(os.fspath(path), **self._settings())
        self.fleet.note_unit([instance])
        return instance

    def read_set(self, path: Path) -> list[Instance]:
        """Read all instances of a file."""
        from dynaroute.formats import read_set

        instances = read_set(os.fspath(path), **self._settings())
        self.fleet.note_unit(instances)
        return instances

    def _settings(self) -> dict[str, Any]:
        said = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {**said, "fleet": self._understood}

    @property
    def files(self) -> list[Path]:
        """List the additional files that are read."""
        specs = [spec for spec in (self.matrix, self.durations) if spec is not None]
        legs = [Path(spec if Path(spec).exists() else spec.rpartition("#")[0] or spec) for spec in specs]
        return [*legs, *self.fleet.files]


def takes_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for tables and vehicles to a command, which gets them as its parameter `tables`."""
    return take_group(command, "tables", _OPTIONS, _gather)


def _gather(**given: Any) -> TableOptions:
    fleet = FleetWords(**{name: given.pop(name) for name in FLEET_OPTIONS})
    ignore = tuple(given.pop("ignore") or ())
    return TableOptions(**given, ignore=ignore, fleet=fleet)
