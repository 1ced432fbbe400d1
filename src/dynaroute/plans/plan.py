"""A plan: an instance and its routes, stop by stop as a driver meets them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from dynaroute.errors import UnsupportedError, Where
from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = ["NEEDS_DEGREES", "Plan", "PlannedRoute", "Stop", "require_degrees"]

NEEDS_DEGREES = (".geojson", ".gpx", ".kml")

# What columns with the name of a stop are called, in the languages that headers are read in.
_NAME_COLUMN = re.compile(
    r"(?:(?:customer|stop|client|company|kunden?|stopp?)[ _-]?)?name"
    r"|customer|client|company|kunde|firma|nom|nombre|cliente",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Stop:
    """One stop of a route, or its end at the depot.

    Attributes
    ----------
    number
        From 1 in its route; 0 and one more than the last customer's are the depot.
    customer
        Node, 0 being the depot.
    id
        What the file calls the customer, or its number; empty for the depot.
    name
        Its name, where the file has a column of names; "depot" for a depot without one.
    demand, load
        What it wants, and what this and all earlier stops want together, in the user's unit.
    distance
        Driven since the depot, in the instance's unit.
    details
        Further columns of the file, by their names.
    """

    number: int
    customer: int
    id: str
    name: str
    demand: int | Decimal
    load: int | Decimal
    distance: float
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What a driver calls the stop: id and name, as far as they differ."""
        return " ".join(dict.fromkeys(filter(None, (self.id, self.name))))


@dataclass(frozen=True)
class PlannedRoute:
    """What one driver drives.

    Attributes
    ----------
    number
        From 1.
    start, stops, end
        The depot, the customers in order, the depot again.
    """

    number: int
    start: Stop
    stops: tuple[Stop, ...]
    end: Stop

    @property
    def load(self) -> int | Decimal:
        """What all its customers want."""
        return self.end.load

    @property
    def length(self) -> float:
        """Its length in the instance's unit."""
        return self.end.distance

    @property
    def called(self) -> str:
        """What the driver's sheet is headed by."""
        return f"Route {self.number}"


@dataclass(frozen=True)
class Plan:
    """An instance and its routes.

    Parameters
    ----------
    instance
        The problem.
    solution
        Routes over customers that it has; whether they are right is for `dynaroute.check` to say.

    Raises
    ------
    SolutionError
        If a route visits a customer that does not exist.
    """

    instance: Instance
    solution: Solution

    def __post_init__(self) -> None:
        self.solution.loads(self.instance)  # refuses customers that are not there

    @property
    def cost(self) -> float:
        """Total length of the routes."""
        return self.solution.cost(self.instance)

    @cached_property
    def name_column(self) -> str | None:
        """The column of the file that holds the names of stops, if there is one."""
        details = self.instance.details
        return None if details is None else next(filter(_NAME_COLUMN.fullmatch, details.columns), None)

    @property
    def detail_columns(self) -> tuple[str, ...]:
        """The other further columns of the file."""
        details = self.instance.details
        return () if details is None else tuple(name for name in details.columns if name != self.name_column)

    @cached_property
    def routes(self) -> tuple[PlannedRoute, ...]:
        """The routes, stop by stop."""
        return tuple(self._plan_route(number, route) for number, route in enumerate(self.solution.routes, start=1))

    def _plan_route(self, number: int, route: tuple[int, ...]) -> PlannedRoute:
        nodes = [0, *route, 0]
        legs = self.instance.leg_lengths(nodes[:-1], nodes[1:]).tolist()
        demands = self.instance.demands[nodes].tolist()
        stops = [
            self._make_stop(position, node, demands[position], sum(demands[: position + 1]), math.fsum(legs[:position]))
            for position, node in enumerate(nodes)
        ]
        return PlannedRoute(number, stops[0], tuple(stops[1:-1]), stops[-1])

    def _make_stop(self, number: int, node: int, demand: int, load: int, distance: float) -> Stop:
        instance = self.instance
        details = {} if instance.details is None else dict(instance.details.of(node))
        name = details.pop(self.name_column, "") if self.name_column is not None else ""
        return Stop(
            number=number,
            customer=node,
            id="" if node == 0 else instance.customer_name(node),
            name=name or ("depot" if node == 0 else ""),
            demand=instance.shown_demand(demand),
            load=instance.shown_demand(load),
            distance=distance,
            details=details,
        )

    def place(self, stop: Stop) -> tuple[float, float]:
        """Latitude and longitude of a stop; ask `require_degrees` before."""
        assert self.instance.coordinates is not None
        latitude, longitude = self.instance.coordinates[stop.customer].tolist()
        return latitude, longitude

    @property
    def has_degrees(self) -> bool:
        """Whether places are latitudes and longitudes."""
        return self.instance.metric == "great_circle"


def require_degrees(instance: Instance, suffix: str) -> None:
    """Refuse an instance whose places are not on the globe, for a format that needs them there.

    Parameters
    ----------
    instance
        The problem.
    suffix
        Of the file that was asked for.
    """
    if instance.metric == "great_circle":
        return
    found = "x and y in a plane" if instance.coordinates is not None else "not known"
    raise UnsupportedError(
        f"a {suffix} file holds places in degrees, but those of this instance are {found}.",
        where=Where(field="coordinates"),
        remedy="Give customers lat and lon; or write .json, .csv, .xlsx, .html or .pdf.",
    )
