"""Distributions of training instances: mixtures of kinds, in TOML, and saved with a run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from dynaroute.base.errors import FileError, FormatError, OptionError, in_file
from dynaroute.base.files import read_bytes
from dynaroute.base.limits import LARGEST_SETTINGS
from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.draw.paper import LARGEST_PAPER_DEMAND, usual_capacity

Coordinates = Literal["unit", "grid"]
RouteLengths = Literal["x", "usual"] | tuple[float, float]

_KINDS: dict[str, tuple[str, ...]] = {
    "customers": get_args(CustomerPositions),
    "depots": get_args(DepotPosition),
    "demands": get_args(DemandKind),
}
_LARGEST_SIZE = 100_000  # a batch of these exceeds any memory

GRID = 1000  # the X set's coordinates are whole numbers from 0 to this
CLUSTER_DECAY = 40.0  # a seed's attraction halves every so many units
CLUSTER_SEEDS = (3, 8)
ROUTE_LENGTHS = (3.0, 6.0, 25.0)  # r is triangular: least, most likely, most
LARGE_DEMANDS = (50, 100)  # of a few customers, with many small demands
RICH_QUADRANTS = 50  # added to demands in two of the four quadrants
DEMAND_RANGES: dict[DemandKind, tuple[int, int]] = {
    "unitary": (1, 1),
    "1-9": (1, LARGEST_PAPER_DEMAND),
    "1-10": (1, 10),
    "5-10": (5, 10),
    "1-100": (1, 100),
    "50-100": (50, 100),
    "quadrant": (1, 50),  # in the poor ones
    "many-small": (1, 10),  # the small ones
}
MOST_SEEDS = 32  # cluster seeds; all are drawn for every instance
_EXAMPLE = "the example in docs/training.md"


@dataclass(frozen=True)
class Part:
    """A kind of instances. From each list, every instance gets one value at random, all equally likely.

    Attributes
    ----------
    sizes
        Fewest and most customers; all numbers in between are equally likely.
    customers, depots, demands
        As in `dynaroute.draw.XSettings`.
    route_lengths
        Average number of customers per route, which determines the capacity: "x" for a triangular distribution (3, 6,
        25) as in the X set; two numbers for a uniform distribution; or "usual" for the usual capacity of the size.
    capacities
        Capacities of vehicles, instead of route lengths.
    coordinates
        "unit": anywhere in the unit square. "grid": integers up to 1000, scaled to fill the unit square, as for files.
    cluster_seeds
        Fewest and most cluster seeds.
    weight
        How often this part is drawn, relative to the others.
    """

    sizes: tuple[int, int]
    customers: tuple[CustomerPositions, ...] = ("uniform",)
    depots: tuple[DepotPosition, ...] = ("random",)
    demands: tuple[DemandKind, ...] = ("1-9",)
    route_lengths: RouteLengths = "usual"
    capacities: tuple[int, ...] = ()
    coordinates: Coordinates = "unit"
    cluster_seeds: tuple[int, int] = CLUSTER_SEEDS
    weight: float = 1.0

    def __post_init__(self) -> None:
        _require_range("sizes", self.sizes, _LARGEST_SIZE)
        _require_range("cluster_seeds", self.cluster_seeds, MOST_SEEDS)
        for field, known in _KINDS.items():
            _require_some_of(field, getattr(self, field), known)
        if self.coordinates not in get_args(Coordinates):
            raise OptionError.about("coordinates", f"coordinates are {self.coordinates!r}.", "Use unit or grid.")
        require_amount("weight", self.weight)
        self._require_route_lengths()
        self._require_room_for_demands()

    def _require_route_lengths(self) -> None:
        limits = self.route_lengths
        if isinstance(limits, tuple):
            is_range = len(limits) == 2 and all(type(limit) in (int, float) for limit in limits)
            if not is_range or not 1 <= limits[0] <= limits[1] <= _LARGEST_SIZE:
                message = f"route lengths are {list(limits)!r}."
                raise OptionError.about(
                    "route_lengths", message, "Give two numbers of 1 or more, the smaller one first."
                )
        elif limits not in ("x", "usual"):
            message = f"route lengths are {limits!r}."
            raise OptionError.about("route_lengths", message, "Use x, usual, or two numbers: [3, 25].")
        if self.capacities and limits != "usual":
            message = "route lengths and capacities are both given."
            raise OptionError.about("capacities", message, "Leave one of them out: each determines the capacity.")

    def _require_room_for_demands(self) -> None:
        for capacity in self.capacities:
            require_count("capacities", capacity)
        if self.route_lengths != "usual":
            return  # the capacity is always at least the largest demand
        largest = max(map(largest_demand, self.demands))
        least = min(self.capacities or (usual_capacity(self.sizes[0]),))
        if largest > least:
            message = f"demands go up to {largest}, but a capacity is {least}."
            raise OptionError.about("capacities", message, "Give larger capacities, or route_lengths instead.")


@dataclass(frozen=True)
class Distribution:
    """A mixture of kinds of instances.

    Attributes
    ----------
    parts
        The kinds, at least one.
    name
        Name for model cards.
    """

    parts: tuple[Part, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.parts:
            raise OptionError.about("parts", "a distribution has no parts.", "Write [[parts]] before each part.")
        if not isinstance(self.name, str):
            raise OptionError.about("name", f"the name is {self.name!r}.", "Give a string.")

    @property
    def smallest(self) -> int:
        """Fewest customers."""
        return min(part.sizes[0] for part in self.parts)

    @property
    def largest(self) -> int:
        """Most customers."""
        return max(part.sizes[1] for part in self.parts)

    @property
    def mean_size(self) -> float:
        """Mean number of customers."""
        return sum(part.weight * sum(part.sizes) / 2 for part in self.parts) / sum(part.weight for part in self.parts)

    @property
    def mean_square_size(self) -> float:
        """Mean square of the number of customers, which attention grows with."""
        squares = [
            (part.weight, sum(size * size for size in part.sizes) + part.sizes[0] * part.sizes[1])
            for part in self.parts
        ]
        return sum(weight * square / 3 for weight, square in squares) / sum(weight for weight, _ in squares)

    def resize(self, smallest: int, largest: int) -> Distribution:
        """Return the same kinds with other sizes."""
        return replace(self, parts=tuple(replace(part, sizes=(smallest, largest)) for part in self.parts))

    def describe(self) -> str:
        """Describe it briefly, for a model card."""
        whole = sum(part.weight for part in self.parts)
        words = [f"{100 * part.weight / whole:.0f} % {_describe_part(part)}" for part in self.parts]
        return f"{self.name}: {'; '.join(words)}" if self.name else "; ".join(words)


def largest_demand(kind: DemandKind) -> int:
    """Return the largest demand of this kind."""
    more = {"quadrant": DEMAND_RANGES[kind][1] + RICH_QUADRANTS, "many-small": LARGE_DEMANDS[1]}
    return more.get(kind, DEMAND_RANGES[kind][1])


def find_distribution(name: str) -> Distribution:
    """Return the built-in distribution of this name, or read one from a file.

    Parameters
    ----------
    name
        "paper", "x", "mixed", or the path of a TOML file.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if not name.lower().endswith(".toml"):
        remedy = f"Use {', '.join(BUILT_IN)} or a file: FILE.toml."
        raise OptionError.about("distribution", f"there is no distribution {name!r}.", remedy)
    return read_distribution(Path(name))


def read_distribution(path: Path) -> Distribution:
    """Read a distribution from TOML.

    Parameters
    ----------
    path
        A file with one table ``[[parts]]`` per part. The file's name is used if it states no name.
    """
    with in_file(path):
        table = load_toml(path, "distribution", _EXAMPLE)
        return parse_distribution({"name": path.stem, **table})


def parse_distribution(table: dict[str, Any]) -> Distribution:
    """Build a distribution from a TOML table."""
    require_known(table, Distribution)
    parts = table.get("parts", [])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise OptionError.about("parts", "parts are not tables.", "Write [[parts]] before each part.")
    for part in parts:
        require_known(part, Part)
        if "sizes" not in part:
            raise OptionError.about("sizes", "a part has no sizes.", "Give the smallest and the largest: [20, 100].")
    try:
        read = tuple(Part(**{name: as_tuple(value) for name, value in part.items()}) for part in parts)
        return Distribution(read, **{name: value for name, value in table.items() if name != "parts"})
    except TypeError as error:  # a list within a list, or a string for a number
        raise FormatError(f"the distribution is invalid: {error}.", remedy=f"Start from {_EXAMPLE}.") from error


def show_distribution(distribution: Distribution, heading: str) -> list[str]:
    """Format a distribution as lines of TOML."""
    lines = ["", f"[{heading}]", *show_table({"name": distribution.name})]
    for part in distribution.parts:
        lines += ["", f"[[{heading}.parts]]", *show_table(asdict(part))]
    return lines


def _describe_part(part: Part) -> str:
    low, high = part.sizes
    if part.capacities:
        held = f"capacity {', '.join(map(str, part.capacities))}"
    elif isinstance(part.route_lengths, tuple):
        held = f"{part.route_lengths[0]:g} to {part.route_lengths[1]:g} customers per route"
    else:
        held = "X route lengths" if part.route_lengths == "x" else "usual capacities"
    size = f"n={low}" if low == high else f"n={low} to {high}"
    if all(getattr(part, field) == getattr(_X_PARTS[0], field) for field in _KINDS):
        return ", ".join([size, "the kinds of the X set", held])
    kinds = (f"{'/'.join(getattr(part, field))} {field}" for field in _KINDS)
    return ", ".join([size, *kinds, held])


def _require_range(field: str, limits: object, most: int) -> None:
    if not isinstance(limits, tuple) or len(limits) != 2:
        raise OptionError.about(field, f"{field} is {limits!r}.", "Give the smallest and the largest, such as [3, 8].")
    for limit in limits:
        require_count(field, limit)
    if not limits[0] <= limits[1] <= most:
        message = f"{field} goes from {limits[0]} to {limits[1]}."
        raise OptionError.about(field, message, f"Give the smaller one first, and no more than {most}.")


def _require_some_of(field: str, values: Sequence[object], known: Sequence[str]) -> None:
    if not isinstance(values, tuple) or not values:
        raise OptionError.about(field, f"{field} is {values!r}.", f"Give a list of some of {', '.join(known)}.")
    for value in values:
        if value not in known:
            raise OptionError.about(field, f"{value!r} is unknown.", f"Use some of {', '.join(known)}.")


def load_toml(path: Path, what: str, example: str) -> dict[str, Any]:
    """Read the tables of a file; call it within `in_file`."""
    try:
        text = read_bytes(path, LARGEST_SETTINGS).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read the {what}.", remedy="Is it text?") from error
    return parse_toml(text, example)


def parse_toml(text: str, example: str) -> dict[str, Any]:
    """Read the tables of a text."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"this is not TOML: {error}.", remedy=f"Correct it, or start from {example}.") from error


def require_known(table: dict[str, Any], kind: type[Any], besides: tuple[str, ...] = ()) -> None:
    """Raise if a name is neither a field of the dataclass nor in `besides`."""
    known = {field.name for field in fields(kind)} - set(besides)
    for name in table:
        if name not in known:
            raise OptionError.about(
                name, "there is no such setting.", f"Known settings are {', '.join(sorted(known))}."
            )


def show_table(values: dict[str, Any]) -> list[str]:
    """Format one line per value that is not None."""
    return [f"{name} = {_show(value)}" for name, value in values.items() if value is not None]


def as_tuple(value: Any) -> Any:
    """Convert lists to tuples."""
    return tuple(value) if isinstance(value, list) else value


def require_count(field: str, value: object) -> None:
    """Raise unless it is a whole number of 1 or more."""
    if type(value) is not int or value < 1:
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a whole number of 1 or more.")


def require_amount(field: str, value: object) -> None:
    """Raise unless it is a finite number above 0."""
    if type(value) not in (int, float) or not 0 < value < float("inf"):  # type: ignore[operator]
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a number above 0.")


def _show(value: object) -> str:
    # same as in JSON, except for surrogate pairs
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _x_part(smallest: int, largest: int, weight: float) -> Part:
    x_demands = tuple(kind for kind in get_args(DemandKind) if kind != "1-9")
    return Part(
        sizes=(smallest, largest),
        customers=get_args(CustomerPositions),
        depots=get_args(DepotPosition),
        demands=x_demands,
        route_lengths="x",
        coordinates="grid",
        weight=weight,
    )


# Small instances teach most per minute, but large ones must be seen too.
_X_PARTS = (_x_part(20, 100, 4.0), _x_part(100, 250, 2.0), _x_part(250, 500, 1.0))
BUILT_IN = {
    "paper": Distribution((Part(sizes=(20, 100)),), "paper"),
    "x": Distribution(_X_PARTS, "x"),
    "mixed": Distribution(
        (
            *_X_PARTS,
            # as in a third of XML100
            replace(_x_part(60, 150, 1.0), route_lengths=(16.0, 50.0), cluster_seeds=(2, 6)),
            Part(sizes=(10, 100), weight=2.0),
            Part(sizes=(100, 500), route_lengths=(6.0, 45.0), weight=1.0),
        ),
        "mixed",
    ),
}
