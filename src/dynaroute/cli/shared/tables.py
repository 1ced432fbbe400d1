"""Options for reading tables, and for vehicles, limits and a speed, shared by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dynaroute.base.errors import OptionError, Where
from dynaroute.base.vocabulary import ReadingRule
from dynaroute.cli.shared.options import make_option, option, take_group
from dynaroute.cli.shared.output import print_note
from dynaroute.problem.measures import parse_length, parse_speed
from dynaroute.problem.times import parse_time

if TYPE_CHECKING:
    from dynaroute.formats.fleet_options import FleetOptions, VehicleList
    from dynaroute.problem.instance import Instance
    from dynaroute.roads.source import RoadSource


def _text_option(metavar: str, help: str, panel: str = "Tables") -> Any:
    return Annotated[str | None, option(metavar, help, panel)]


# A text, not a number, so that 450,5 and "450 kg" work, and errors are in our words.
CapacityOption = Annotated[str | None, option("Q", "Vehicle capacity for tables; overrides their own.", "Tables")]
IgnoreOption = Annotated[
    list[str] | None,
    option(
        "COLUMN",
        "Plan without a column, or a key of a .json file, that asks for something unsupported. May be given several "
        "times.",
        "Tables",
    ),
]
_TABLE_OPTIONS: dict[str, Any] = {
    "capacity": CapacityOption,
    "format": _text_option(
        "SUFFIX", "Format of the file, if its suffix does not say or it is '-': csv, xlsx, json, ..."
    ),
    "sheet": _text_option("NAME", "Sheet of a workbook; default: the first visible sheet with a header."),
    "columns": _text_option("COLUMN=MEANING,...", "Meaning of columns with unclear headings: Mng=demand,x=lon,y=lat."),
    "matrix": _text_option(
        "FILE[#SHEET]",
        "Distances between the stops of a table: a file such as .csv, FILE#SHEET, or the answer of OSRM, Valhalla, "
        "openrouteservice or Google (.json).",
    ),
    "durations": _text_option("FILE[#SHEET]", "Travel times between the stops of a table, likewise."),
    "ignore": IgnoreOption,
}
_ROAD_OPTIONS: dict[str, Any] = {
    "osrm": _text_option(
        "URL", "Distances, times and ways on roads from a server of OSRM: http://localhost:5000.", "Roads"
    ),
    "valhalla": _text_option("URL", "The same from a server of Valhalla.", "Roads"),
    "roads": _text_option("FILE.osm.pbf", "The same from an extract of OpenStreetMap, without a server.", "Roads"),
    "detour": _text_option("FACTOR", "Straight-line distances times a factor: 1.3 is usual for roads.", "Roads"),
}
FLEET_OPTIONS: dict[str, Any] = {
    "vehicles": _text_option(
        "N|FILE", "How many vehicles there are; or a file of their types, instead of those of the file.", "Fleet"
    ),
    "max_duration": _text_option(
        "TIME", "Longest time from departure to the end of a route: 8h, 90min, 28800 (seconds).", "Fleet"
    ),
    "max_distance": _text_option("LENGTH", "Longest route: 120km, or a number in the unit of the distances.", "Fleet"),
    "speed": _text_option(
        "SPEED", "Speed of vehicles, if the file has no travel times: 40km/h, 10m/s, 25mph.", "Fleet"
    ),
    "rounding": Annotated[
        ReadingRule | None,
        option(None, "How lengths are rounded; dimacs truncates to one decimal, for Solomon's instances.", "Fleet"),
    ],
}
_OPTIONS = [make_option(name, declared) for name, declared in (_TABLE_OPTIONS | _ROAD_OPTIONS | FLEET_OPTIONS).items()]


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
        raise OptionError.about("--vehicles", f"{text} is not a number of vehicles.", "Give a whole number above 0.")
    return int(text)


def _is_number(text: str) -> bool:
    return bool(text) and all(character in "+-.,0123456789" for character in text)


def _read_limit(text: str | None, option: str, parse: Any) -> float | None:
    if text is None:
        return None
    limit = float(parse(text, Where(field=option)))
    if limit <= 0:
        raise OptionError.about(option, f"{text} is not a limit above 0.", "Give one, or leave it out.")
    return limit


@dataclass(frozen=True)
class RoadWords:
    """The user's options about roads, as text."""

    osrm: str | None = None
    valhalla: str | None = None
    roads: str | None = None
    detour: str | None = None

    def __post_init__(self) -> None:
        given = [f"--{name}" for name, text in vars(self).items() if text is not None]
        if len(given) > 1:
            raise OptionError.about(given[1], f"{given[0]} gives the distances, too.", "Leave out one of the two.")

    def find_source(self) -> RoadSource | None:
        """Find what knows the roads, if the user named it."""
        from dynaroute.roads.extract import RoadExtract
        from dynaroute.roads.servers import RoadServer

        if self.roads is not None:
            return RoadExtract(Path(self.roads))
        if self.osrm is not None:
            return RoadServer("osrm", self.osrm)
        return None if self.valhalla is None else RoadServer("valhalla", self.valhalla)

    @property
    def factor(self) -> float | None:
        """The factor for straight lines."""
        if self.detour is None:
            return None
        try:
            return float(self.detour.replace(",", "."))
        except ValueError as error:
            raise OptionError.about("--detour", f"{self.detour!r} is not a number.", "Give 1.3, say.") from error


@dataclass(frozen=True)
class TableOptions:
    """The user's options about tables, roads and vehicles."""

    capacity: str | None = None
    format: str | None = None
    sheet: str | None = None
    columns: str | None = None
    matrix: str | None = None
    durations: str | None = None
    ignore: tuple[str, ...] = ()
    fleet: FleetWords = field(default_factory=FleetWords)
    roads: RoadSource | None = None
    detour: float | None = None
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
    words = RoadWords(**{name: given.pop(name) for name in _ROAD_OPTIONS})
    ignore = tuple(given.pop("ignore") or ())
    return TableOptions(**given, ignore=ignore, fleet=fleet, roads=words.find_source(), detour=words.factor)
