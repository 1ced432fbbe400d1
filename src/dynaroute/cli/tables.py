"""How tables are read: options that the commands share, and reading with them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.cli.fleets import FLEET_OPTIONS, FleetWords

if TYPE_CHECKING:
    from dynaroute.fleet_options import FleetOptions
    from dynaroute.instance import Instance

__all__ = ["CapacityOption", "TableOptions", "takes_tables"]

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
_FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="SUFFIX",
        help="What the file is, if its suffix does not say it, or '-' stands for it: csv, xlsx, json, ...",
        rich_help_panel=PANEL,
    ),
]
_SheetOption = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook; else the first visible one with a header.",
        rich_help_panel=PANEL,
    ),
]
_ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMN=MEANING,...",
        help="What columns are, where headings do not say it: Mng=demand,x=lon,y=lat.",
        rich_help_panel=PANEL,
    ),
]
_MatrixOption = Annotated[
    str | None,
    typer.Option(
        "--matrix",
        metavar="FILE[#SHEET]",
        help="Distances between the stops of a table: a .csv file, or a sheet.",
        rich_help_panel=PANEL,
    ),
]
_DurationsOption = Annotated[
    str | None,
    typer.Option(
        "--durations",
        metavar="FILE[#SHEET]",
        help="The same of travel times.",
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
}


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


def takes_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of tables and fleets; it gets them as `tables`, its last parameter."""
    options = _TABLE_OPTIONS | FLEET_OPTIONS

    @wraps(command)
    def take(**given: Any) -> None:
        fleet = FleetWords(**{name: given.pop(name, None) for name in FLEET_OPTIONS})
        said = {name: given.pop(name, None) for name in _TABLE_OPTIONS}
        command(**given, tables=TableOptions(**said, fleet=fleet))

    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "tables"]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in options.items()
    ]
    # what Typer reads
    take.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    take.__annotations__ = {each.name: each.annotation for each in (*own, *more)}
    return take
