"""A plan: an instance and its routes, stop by stop."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, pairwise

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.problem.driving import list_loads
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import RouteSchedule, schedule_route
from dynaroute.problem.unserved import explain_unserved
from dynaroute.roads.source import Ways

_Times = tuple[float | None, float | None, float | None]
_NO_TIMES: _Times = (None, None, None)

NEEDS_DEGREES = (".geojson", ".gpx", ".kml")

# Headings of columns with a stop's name, in all supported languages.
_NAME_COLUMN = re.compile(
    r"(?:(?:customer|stop|client|company|kunden?|stopp?)[ _-]?)?name"
    r"|customer|client|company|kunde|firma|nom|nombre|cliente",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PlannedStop:
    """One stop of a route, or its start or end at the depot.

    Attributes
    ----------
    number
        Position on its route, from 1; the depot is 0 at the start, and one more than the last customer at the end.
    customer
        Node number; 0 is the depot, and places follow the customers.
    id
        The customer's id in the file, or its number; empty for the depot.
    name
        Its name, if the file has a column of names; "depot" for a depot with neither a name nor an id.
    demand, load
        Its demand, and the total demand up to this stop, in the user's unit; in the first dimension of loads. With
        pickups or reloads, the load is what is on board when the vehicle leaves.
    distance
        Distance driven so far, in the instance's unit.
    arrival, start, leave
        Arrival, start of service and departure, in seconds; None if times are unknown. For the depot, the return and
        the departure.
    details
        Other columns of the file, by name.
    is_customer
        Whether it is a customer, not a depot or another place.
    is_reload
        Whether the vehicle loads again there.
    pickup
        What is collected there, in words; empty for nothing.
    on_board
        The load on board in every dimension, in words, where it is more than a sum of demands.
    delivered
        A customer's demand in every dimension, in words.
    """

    number: int
    customer: int
    id: str
    name: str
    demand: int | Decimal
    load: int | Decimal
    distance: float
    arrival: float | None = None
    start: float | None = None
    leave: float | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    is_customer: bool = True
    is_reload: bool = False
    pickup: str = ""
    on_board: str = ""
    delivered: str = ""

    @property
    def label(self) -> str:
        """Label for drivers: id and name, if they differ."""
        return " ".join(dict.fromkeys(filter(None, (self.id, self.name))))


@dataclass(frozen=True)
class PlannedRoute:
    """One route of a plan.

    Attributes
    ----------
    number
        Number of the route, from 1.
    vehicle
        Name of the vehicle type; empty if types have no names.
    capacity
        Capacity of the vehicle, in the user's unit.
    start, stops, end
        The depot, the customers in order, and the depot again; None at the end of an open route. Where vehicles load
        again is a stop, too.
    breaks
        Each break: its start and its end in seconds, and after how many stops it is taken.
    """

    number: int
    vehicle: str
    capacity: int | Decimal
    start: PlannedStop
    stops: tuple[PlannedStop, ...]
    end: PlannedStop | None
    breaks: tuple[tuple[float, float, int], ...] = ()

    @property
    def places(self) -> tuple[PlannedStop, ...]:
        """All places in order, including the depot."""
        return (self.start, *self.stops, *([] if self.end is None else [self.end]))

    @property
    def load(self) -> int | Decimal:
        """Total demand of its customers; with pickups or reloads, the largest load on board."""
        return max(place.load for place in self.places)

    @property
    def length(self) -> float:
        """Its length in the instance's unit."""
        return self.places[-1].distance

    @property
    def called(self) -> str:
        """Heading of the driver's sheet."""
        return f"Route {self.number}, {self.vehicle}" if self.vehicle else f"Route {self.number}"


@dataclass(frozen=True)
class UnservedStop:
    """A customer on no route.

    Attributes
    ----------
    stop
        The customer: a stop without a number, a load, a distance and times.
    reason
        Why no route serves it, as `dynaroute.problem.unserved` explains it.
    """

    stop: PlannedStop
    reason: str


@dataclass(frozen=True)
class Plan:
    """An instance and its routes.

    Parameters
    ----------
    instance
        The problem.
    solution
        Routes over its customers. Use `dynaroute.check` to verify them.
    ways
        Latitudes and longitudes along the roads from node to node, where they are known.

    Raises
    ------
    SolutionError
        If a route visits an unknown customer.
    """

    instance: Instance
    solution: Solution
    ways: Ways = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.solution.loads(self.instance)  # raises if a customer is unknown

    @property
    def cost(self) -> float:
        """Total length of the routes, or money where anything has a price."""
        return self.solution.cost(self.instance)

    @cached_property
    def name_column(self) -> str | None:
        """The file's column with names of stops, if any."""
        details = self.instance.details
        return None if details is None else next(filter(_NAME_COLUMN.fullmatch, details.columns), None)

    @property
    def detail_columns(self) -> tuple[str, ...]:
        """The other columns of the file."""
        details = self.instance.details
        return () if details is None else tuple(name for name in details.columns if name != self.name_column)

    @cached_property
    def routes(self) -> tuple[PlannedRoute, ...]:
        """The routes, stop by stop."""
        vehicles = self.solution.vehicle_types(self.instance)
        pairs = zip(self.solution.routes, vehicles, strict=True)
        return tuple(self._plan_route(number, route, kind) for number, (route, kind) in enumerate(pairs, start=1))

    @cached_property
    def unserved(self) -> tuple[UnservedStop, ...]:
        """The customers on no route."""
        return tuple(
            UnservedStop(
                self._make_stop(0, found.customer, (self._demand(found.customer), 0), 0.0, _NO_TIMES),
                found.reason,
            )
            for found in explain_unserved(self.instance, self.solution)
        )

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the routes, such as a late stop; customers on no route are in `unserved`."""
        if self.instance.has_times and not self.instance.knows_times:
            return ()
        found = check(self.instance, self.solution)
        return tuple(violation.message for violation in found if not violation.is_absence)

    @property
    def has_times(self) -> bool:
        """Whether times are known."""
        return self.instance.knows_times

    def _plan_route(self, number: int, route: tuple[int, ...], kind: int) -> PlannedRoute:
        instance, vehicle = self.instance, self.instance.fleet[kind]
        end_node = instance.end_nodes[kind]
        nodes = [instance.start_nodes[kind], *route, *([] if end_node < 0 else [end_node])]
        legs = instance.leg_lengths(nodes[:-1], nodes[1:], vehicle.profile).tolist()
        demands = [self._demand(node) for node in nodes]
        carried = list_loads(instance, route, vehicle).tolist() if instance.rules else []
        loads = [amounts[0] for amounts in carried] or list(accumulate(demands))
        schedule = schedule_route(instance, route, kind) if self.has_times else None
        times = _list_times(schedule, len(route))
        stops = [
            self._make_stop(
                position,
                node,
                (demands[position], loads[min(position, len(loads) - 1)]),
                math.fsum(legs[:position]),
                times[position],
                carried[min(position, len(carried) - 1)] if carried else (),
                is_reload=0 < position <= len(route) and not 0 < node <= instance.size,
            )
            for position, node in enumerate(nodes)
        ]
        capacity = instance.shown_demand(vehicle.capacities[0])
        customers = stops[1:] if end_node < 0 else stops[1:-1]
        end = None if end_node < 0 else stops[-1]
        breaks = () if schedule is None else schedule.breaks
        return PlannedRoute(number, vehicle.name, capacity, stops[0], tuple(customers), end, breaks)

    def _demand(self, node: int) -> int:
        return int(self.instance.demands[node].reshape(-1)[0]) if node <= self.instance.size else 0

    def _make_stop(
        self,
        number: int,
        node: int,
        amounts: tuple[int, int],
        distance: float,
        times: _Times,
        on_board: Sequence[int] = (),
        *,
        is_reload: bool = False,
    ) -> PlannedStop:
        instance = self.instance
        is_customer = 0 < node <= instance.size
        details = {} if instance.details is None or node > instance.size else dict(instance.details.of(node))
        pickups = instance.pickups
        collects = pickups is not None and is_customer and bool(pickups[node].any())
        name = details.pop(self.name_column, "") if self.name_column is not None else ""
        return PlannedStop(
            number=number,
            customer=node,
            id=instance.customer_name(node) if is_customer else "",
            name=name or ("" if is_customer else (node == 0 and instance.depot_name) or instance.customer_name(node)),
            demand=instance.shown_demand(amounts[0]),
            load=instance.shown_demand(amounts[1]),
            distance=distance,
            arrival=times[0],
            start=times[1],
            leave=times[2],
            details=details,
            is_customer=is_customer,
            is_reload=is_reload,
            delivered=instance.shown_amounts(instance.demands[node].reshape(-1)) if is_customer else "",
            pickup=instance.shown_amounts(pickups[node].reshape(-1)) if pickups is not None and collects else "",
            on_board=instance.shown_amounts(on_board) if on_board else "",
        )

    def place(self, stop: PlannedStop) -> tuple[float, float]:
        """Latitude and longitude of a stop; call `require_degrees` first."""
        assert self.instance.coordinates is not None
        latitude, longitude = self.instance.coordinates[stop.customer].tolist()
        return latitude, longitude

    def follow(self, route: PlannedRoute) -> list[tuple[float, float]]:
        """Latitudes and longitudes along a route: on the roads where they are known, else from stop to stop."""
        line = [self.place(route.start)]
        for before, stop in pairwise(route.places):
            line += [*self.ways.get((before.customer, stop.customer), ()), self.place(stop)]
        return line

    @property
    def has_degrees(self) -> bool:
        """Whether places are latitudes and longitudes."""
        return self.instance.metric == "great_circle"


def _list_times(schedule: RouteSchedule | None, count: int) -> list[_Times]:
    """List arrival, start and departure of every place of a route with so many stops."""
    if schedule is None:
        return [_NO_TIMES] * (count + 2)
    stops: list[_Times] = [(stop.arrival, stop.start, stop.leave) for stop in schedule.stops]
    return [(None, None, schedule.departure), *stops, (schedule.end, None, None)]


def require_degrees(instance: Instance, suffix: str) -> None:
    """Raise if an instance's places are not in degrees, for a format that needs them."""
    if instance.metric == "great_circle":
        return
    found = "x and y in a plane" if instance.coordinates is not None else "not known"
    raise UnsupportedError(
        f"a {suffix} file needs places in degrees, but those of this instance are {found}.",
        where=Where(field="coordinates"),
        remedy="Give customers lat and lon, or write .json, .csv, .xlsx, .html or .pdf.",
    )
