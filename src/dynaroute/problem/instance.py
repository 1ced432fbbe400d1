"""One routing problem in exact integers, validated on creation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.base.decimals import unscale
from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.base.errors import InstanceError
from dynaroute.base.memory import memory_for_all_legs, require_memory
from dynaroute.base.vocabulary import Metric, Rounding
from dynaroute.problem.checks import (
    LARGEST_INTEGER,
    find_common_power_of_ten,
    find_largest_capacity,
    freeze,
    read_capacity,
    read_coordinates,
    read_customer_names,
    read_demands,
    read_distances,
    read_durations,
    read_name,
    read_scale,
    read_service,
    read_speed,
    read_vehicles,
    read_windows,
    refuse_overlarge_demand,
    refuse_unknown_choice,
    refuse_vanishing_lengths,
)
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import AlikeTypes, VehicleType, merge_alike
from dynaroute.problem.lengths import great_circle, round_lengths, straight_line
from dynaroute.problem.sketch import Sketch, draw_sketch
from dynaroute.problem.times import format_clock, format_duration

__all__ = ["LARGEST_INTEGER", "Instance"]


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A vehicle routing problem with one depot.

    Node 0 is the depot; customers are 1 to n. Arrays are copied and made read-only. By default there are as many
    vehicles as needed, and only their capacity limits a route.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first: x and y, or latitude and longitude in degrees
        for the great-circle metric. None if only `distances` are known.
    demands
        (n + 1,) whole numbers; the depot's is 0.
    capacity
        Capacity of a vehicle, in the same unit as the demands; with `vehicles`, that of the largest.
    name
        A label; comparisons ignore it.
    distances
        (n + 1, n + 1) matrix, from row to column, used instead of the metric. Its diagonal is taken as 0, and
        `rounding` is applied to it once, here.
    rounding
        How the length of each leg is rounded: "none"; "nearest" integer (halves up, as in CVRPLIB's EUC_2D); or "up"
        (CEIL_2D).
    metric
        Straight lines in the plane, or great circles in metres.
    customer_names
        n distinct names, customer 1 first. None means "1", "2", ...
    demand_scale
        How many stored units make one unit of the user's file: 10 if demands had one decimal.
    vehicles
        The vehicle types. None: any number of vehicles of one type, limited only by capacity.
    service
        (n + 1,) service times in seconds; the depot's is 0.
    windows
        (n + 1, 2) earliest and latest start of service, in seconds. A vehicle that is early waits. The first row holds
        the depot's earliest departure and latest return. 0 and infinity mean no bound.
    durations
        (n + 1, n + 1) travel times in seconds, from row to column.
    speed
        Distance units per second, for travel times if there are no `durations`.
    details
        Extra columns of the file, such as addresses; comparisons ignore them.
    depot_name
        The depot's name in the file; comparisons ignore it.

    Raises
    ------
    InstanceError
        If the values are not a valid problem; the error names the field and, if any, the customer.
    """

    coordinates: NDArray[np.float64] | None
    demands: NDArray[np.int64]
    capacity: int
    name: str = ""
    distances: NDArray[np.float64] | None = None
    rounding: Rounding = "none"
    metric: Metric = "euclidean"
    customer_names: tuple[str, ...] | None = None
    demand_scale: int = 1
    vehicles: tuple[VehicleType, ...] | None = None
    service: NDArray[np.float64] | None = None
    windows: NDArray[np.float64] | None = None
    durations: NDArray[np.float64] | None = None
    speed: float | None = None
    details: Details | None = None
    depot_name: str = ""

    def __post_init__(self) -> None:
        refuse_unknown_choice(self.rounding, get_args(Rounding), "rounding")
        refuse_unknown_choice(self.metric, get_args(Metric), "metric")
        demands = read_demands(self.demands)
        count = len(demands) - 1
        customer_names = read_customer_names(self.customer_names, count)
        vehicles = None if self.vehicles is None else read_vehicles(self.vehicles)
        capacity = read_capacity(self.capacity if self.vehicles is None else find_largest_capacity(self.vehicles))
        scale = read_scale(self.demand_scale)
        refuse_overlarge_demand(demands, capacity, customer_names, scale)
        coordinates = None if self.coordinates is None else read_coordinates(self.coordinates, count, self.metric)
        distances = None if self.distances is None else read_distances(self.distances, count, self.rounding)
        if coordinates is None and distances is None:
            raise InstanceError.about(
                "coordinates", "there are neither coordinates nor distances.", "Give one of the two."
            )
        if distances is None and coordinates is not None and self.metric == "euclidean":
            refuse_vanishing_lengths(coordinates)
        if self.details is not None and len(self.details.rows) != count + 1:
            message = f"there are details for {len(self.details.rows)} nodes, not {count + 1}."
            raise InstanceError.about("details", message, "Give one row for the depot and one per customer.")
        capacities = [capacity] if vehicles is None else [vehicle.capacity for vehicle in vehicles]
        factor = find_common_power_of_ten(demands, capacities, scale)

        self._set("demands", freeze(demands // factor))
        self._set("capacity", capacity // factor)
        self._set("demand_scale", scale // factor)
        self._set("coordinates", None if coordinates is None else freeze(coordinates))
        self._set("distances", None if distances is None else freeze(distances))
        self._set("rounding", self.rounding if distances is None else "none")  # already applied to the matrix
        self._set("metric", self.metric if coordinates is not None else "euclidean")
        self._set("name", read_name(self.name))
        self._set("depot_name", read_name(self.depot_name))
        self._set("customer_names", customer_names)
        if vehicles is not None and factor > 1:
            vehicles = tuple(replace(vehicle, capacity=vehicle.capacity // factor) for vehicle in vehicles)
        self._set("vehicles", vehicles)
        self._set_times(count)

    def _set_times(self, count: int) -> None:
        service = None if self.service is None else read_service(self.service, count)
        durations = None if self.durations is None else read_durations(self.durations, count)
        self._set("service", None if service is None else freeze(service))
        self._set("durations", None if durations is None else freeze(durations))
        self._set("speed", None if self.speed is None else read_speed(self.speed))
        windows = None if self.windows is None else read_windows(self.windows, count, self.shown_time)
        self._set("windows", None if windows is None else freeze(windows))

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen, but its constructor may still set fields

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - 1

    @property
    def minimum_routes(self) -> int:
        """Lower bound on the number of routes: the fewest vehicles, largest first, that hold all demand."""
        demand, routes = int(self.demands.sum()), 0
        for vehicle in sorted(self.vehicles or (), key=lambda vehicle: -vehicle.capacity):
            needed = -(-demand // vehicle.capacity)
            if vehicle.count is None or needed <= vehicle.count:
                return max(1, routes + needed)
            demand, routes = demand - vehicle.count * vehicle.capacity, routes + vehicle.count
        return max(1, routes + -(-demand // self.capacity))

    @cached_property
    def fleet(self) -> tuple[VehicleType, ...]:
        """The vehicle types; if none were given, one type with as many vehicles as needed."""
        return (VehicleType(self.capacity),) if self.vehicles is None else self.vehicles

    @property
    def parts_of_fleet(self) -> tuple[str, ...]:
        """Names of the given optional fields: vehicles, service, windows, durations, speed."""
        names = ("vehicles", "service", "windows", "durations", "speed")
        return tuple(name for name in names if getattr(self, name) is not None)

    @cached_property
    def alike_types(self) -> tuple[AlikeTypes, ...]:
        """The vehicle types, those that differ only in name and number as one."""
        return merge_alike(self.fleet)

    @cached_property
    def has_times(self) -> bool:
        """Whether times are limited, by windows, shifts or longest durations."""
        return self.windows is not None or any(vehicle.limits_time for vehicle in self.vehicles or ())

    @property
    def knows_times(self) -> bool:
        """Whether travel times are known, from durations or a speed."""
        return self.durations is not None or self.speed is not None

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every leg has the same length and duration in both directions."""
        return self._has_symmetric_distances and (self.durations is None or _is_symmetric(self.durations))

    @cached_property
    def _has_symmetric_distances(self) -> bool:
        return self.distances is None or _is_symmetric(self.distances)

    @property
    def is_plain(self) -> bool:
        """Whether only capacity limits routes.

        Service times, durations and a speed do not count: without windows or limits they only affect timetables.
        """
        types = self.vehicles
        is_usual_fleet = types is None or (len(types) == 1 and types[0].is_plain)
        return is_usual_fleet and self.windows is None and self._has_symmetric_distances

    @property
    def unit(self) -> Literal["m"] | None:
        """Unit of lengths and costs: "m" if they come from degrees, else None (unknown)."""
        return "m" if self.metric == "great_circle" and self.distances is None else None

    def customer_name(self, customer: int) -> str:
        """The user's name for customer 1..n, or its number."""
        return str(customer) if self.customer_names is None else self.customer_names[customer - 1]

    def called(self, node: int) -> str:
        """The name of a node in messages: the depot, or a customer's number and, if it has one, its name."""
        if node == 0:
            return "the depot"
        name = "" if self.customer_names is None else f" ({show_text(self.customer_names[node - 1], LONGEST_ITEM)})"
        return f"customer {node}{name}"

    def shown_demand(self, load: int) -> int | Decimal:
        """Convert stored units to the user's unit, exactly.

        Parameters
        ----------
        load
            A demand, a load or the capacity, as stored.
        """
        return unscale(load, self.demand_scale)

    def shown_time(self, seconds: float) -> str:
        """Write a time as on a clock, or as a plain number where time is distance, as in Solomon's instances.

        Parameters
        ----------
        seconds
            Seconds since midnight, or since the start.
        """
        return f"{round(seconds, 2):.10g}" if self._counts_in_distance else format_clock(seconds)

    def shown_duration(self, seconds: float) -> str:
        """Write a duration in hours, minutes and seconds, or as a plain number where time is distance.

        Parameters
        ----------
        seconds
            The duration.
        """
        return f"{float(f'{seconds:.6g}'):.10g}" if self._counts_in_distance else format_duration(seconds)

    @property
    def _counts_in_distance(self) -> bool:
        return self.speed == 1 and self.durations is None  # no vehicle drives one metre per second

    def leg_lengths(self, origins: ArrayLike, destinations: ArrayLike) -> NDArray[np.float64]:
        """Lengths of legs between pairs of nodes, under this instance's metric and rounding.

        Parameters
        ----------
        origins, destinations
            Node numbers, in shapes that broadcast.
        """
        start, end = np.asarray(origins, dtype=np.intp), np.asarray(destinations, dtype=np.intp)
        if self.distances is not None:
            return np.asarray(self.distances[start, end], dtype=np.float64)
        assert self.coordinates is not None  # checked by __post_init__
        measure = great_circle if self.metric == "great_circle" else straight_line
        return round_lengths(measure(self.coordinates[start], self.coordinates[end]), self.rounding)

    def leg_durations(self, origins: ArrayLike, destinations: ArrayLike) -> NDArray[np.float64]:
        """Seconds of legs between pairs of nodes: from `durations`, or length divided by `speed`.

        Parameters
        ----------
        origins, destinations
            Node numbers, in shapes that broadcast.

        Raises
        ------
        InstanceError
            If there are neither durations nor a speed.
        """
        self.require_times()
        if self.durations is not None:
            start, end = np.asarray(origins, dtype=np.intp), np.asarray(destinations, dtype=np.intp)
            return np.asarray(self.durations[start, end], dtype=np.float64)
        assert self.speed is not None  # checked by require_times
        return np.asarray(self.leg_lengths(origins, destinations) / self.speed, dtype=np.float64)

    def require_times(self) -> None:
        """Raise unless travel times are known."""
        if self.knows_times:
            return
        what = "time windows" if self.windows is not None else "limits of time" if self.has_times else "no times"
        raise InstanceError.about(
            "speed",
            f"there are {what}, but neither a speed nor durations tell how long a leg takes.",
            'Give a speed (--speed 40km/h; "speed" in JSON, distance units per second), or a matrix of durations.',
        )

    @cached_property
    def distance_matrix(self) -> NDArray[np.float64]:
        """All leg lengths as an (n + 1, n + 1) matrix, computed once."""
        if self.distances is not None:
            return self.distances
        require_memory(memory_for_all_legs(self.size))
        nodes = np.arange(self.size + 1)
        return freeze(self.leg_lengths(nodes[:, None], nodes[None, :]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (
            self.capacity == other.capacity
            and self.rounding == other.rounding
            and self.metric == other.metric
            and self.demand_scale == other.demand_scale
            and self.customer_names == other.customer_names
            and np.array_equal(self.demands, other.demands)
            and _equal_or_none(self.coordinates, other.coordinates)
            and _equal_or_none(self.distances, other.distances)
            and self.vehicles == other.vehicles
            and self.speed == other.speed
            and _equal_or_none(self.service, other.service)
            and _equal_or_none(self.windows, other.windows)
            and _equal_or_none(self.durations, other.durations)
        )

    def __hash__(self) -> int:
        return hash((self.capacity, self.rounding, self.demands.tobytes()))

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Instance({name}{self.size} customers, capacity {self.shown_demand(self.capacity)})"

    def _repr_html_(self) -> str:
        return self.sketch()._repr_html_()

    def sketch(self, routes: Sequence[Sequence[int]] = (), words: str = "") -> Sketch:
        """A small picture, for notebooks; `dynaroute.plotting` draws larger ones.

        Parameters
        ----------
        routes
            Sequences of customers to draw.
        words
            Caption; the instance's `repr` if empty.
        """
        if self.coordinates is None:
            return Sketch(words or repr(self), "")
        columns = self.coordinates if self.metric == "euclidean" else self.coordinates[:, ::-1]  # longitude goes east
        return Sketch(words or repr(self), draw_sketch([(x, y) for x, y in columns.tolist()], routes))


def _equal_or_none(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _is_symmetric(matrix: NDArray[np.float64]) -> bool:
    return bool((matrix == matrix.T).all())
