"""Options for vehicles, limits and a speed, shared by several commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.base.errors import OptionError, Where
from dynaroute.base.vocabulary import ReadingRule
from dynaroute.cli.shared.output import print_note
from dynaroute.problem.measures import parse_length, parse_speed
from dynaroute.problem.times import parse_time

if TYPE_CHECKING:
    from dynaroute.formats.fleet_options import FleetOptions, VehicleList
    from dynaroute.problem.instance import Instance

__all__ = ["FLEET_OPTIONS", "FleetWords"]

PANEL = "Fleet"


def _option(name: str, metavar: str | None, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, rich_help_panel=PANEL)


_VehiclesOption = Annotated[
    str | None,
    _option(
        "--vehicles", "N|FILE", "How many vehicles there are; or a file of their types, instead of those of the file."
    ),
]
_MaxDurationOption = Annotated[
    str | None,
    _option("--max-duration", "TIME", "Longest time from departure to the end of a route: 8h, 90min, 28800 (seconds)."),
]
_MaxDistanceOption = Annotated[
    str | None,
    _option("--max-distance", "LENGTH", "Longest route: 120km, or a number in the unit of the distances."),
]
_SpeedOption = Annotated[
    str | None,
    _option("--speed", "SPEED", "Speed of vehicles, if the file has no travel times: 40km/h, 10m/s, 25mph."),
]
_RoundingOption = Annotated[
    ReadingRule | None,
    _option("--rounding", None, "How lengths are rounded; dimacs truncates to one decimal, for Solomon's instances."),
]
FLEET_OPTIONS = {
    "vehicles": _VehiclesOption,
    "max_duration": _MaxDurationOption,
    "max_distance": _MaxDistanceOption,
    "speed": _SpeedOption,
    "rounding": _RoundingOption,
}


@dataclass(frozen=True)
class FleetWords:
    """The user's options about vehicles, as text."""

    vehicles: str | None = None
    max_duration: str | None = None
    max_distance: str | None = None
    speed: str | None = None
    rounding: ReadingRule | None = None

    def understand(self, ignore: Sequence[str] = ()) -> FleetOptions:
        """Convert to numbers, reading files of vehicles without the columns to ignore."""
        from dynaroute.formats.fleet_options import FleetOptions

        return FleetOptions(
            vehicles=_read_vehicles(self.vehicles, ignore),
            max_duration=_read_limit(self.max_duration, "--max-duration", parse_time),
            max_distance=_read_limit(self.max_distance, "--max-distance", parse_length),
            speed=None if self.speed is None else parse_speed(self.speed, Where(field="--speed")),
            rounding=self.rounding,
        )

    def note_unit(self, instances: Sequence[Instance]) -> None:
        """Note that lengths are assumed to be metres, if an option has a unit but the file has none."""
        named = [word for word in (self.speed, self.max_distance) if word is not None and "m" in word.lower()]
        if named and any(instance.metric != "great_circle" for instance in instances):
            print_note(f"lengths are assumed to be in metres, because {named[0]} has a unit.")

    @property
    def files(self) -> list[Path]:
        """List the additional files that are read."""
        from dynaroute.formats.tables.side_tables import split_sheet

        return [] if self.vehicles is None or _is_number(self.vehicles) else [Path(split_sheet(self.vehicles)[0])]


def _read_vehicles(text: str | None, ignore: Sequence[str]) -> int | VehicleList | None:
    if text is None:
        return None
    if not _is_number(text):
        from dynaroute.formats.ignored import Ignored
        from dynaroute.formats.vehicles import read_vehicles_beside_stops

        return read_vehicles_beside_stops(text, Ignored.of(ignore))
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise OptionError(
            f"{text} is not a number of vehicles.",
            where=Where(field="--vehicles"),
            remedy="Give a whole number above 0.",
        )
    return int(text)


def _is_number(text: str) -> bool:
    return bool(text) and all(character in "+-.,0123456789" for character in text)


def _read_limit(text: str | None, option: str, parse: Any) -> float | None:
    if text is None:
        return None
    limit = float(parse(text, Where(field=option)))
    if limit <= 0:
        raise OptionError(
            f"{text} is not a limit above 0.", where=Where(field=option), remedy="Give one, or leave it out."
        )
    return limit
