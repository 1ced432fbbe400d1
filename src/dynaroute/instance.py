"""One routing problem, in exact integers, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.decimals import unscale
from dynaroute.details import Details
from dynaroute.instance_checks import (
    LARGEST_INTEGER,
    find_common_power_of_ten,
    freeze,
    make_fault,
    read_capacity,
    read_coordinates,
    read_customer_names,
    read_demands,
    read_distances,
    read_name,
    read_scale,
    refuse_overlarge_demand,
    refuse_unknown_choice,
    refuse_vanishing_lengths,
)
from dynaroute.lengths import great_circle, round_lengths, straight_line
from dynaroute.memory import memory_for_all_legs, require_memory
from dynaroute.vocabulary import Metric, Rounding

__all__ = ["LARGEST_INTEGER", "Instance"]


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A capacitated vehicle routing problem with one depot and as many vehicles as needed.

    Node 0 is the depot; customers are 1 to n. Arrays are copied and made read-only.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first: x and y, or latitude and longitude in degrees
        for the great-circle metric. None if only `distances` are known.
    demands
        (n + 1,) whole numbers; the depot's is 0.
    capacity
        What one vehicle holds, in the same unit as the demands.
    name
        A label; it plays no part in comparisons.
    distances
        (n + 1, n + 1) symmetric matrix, used instead of the metric; its diagonal is read as 0.
        `rounding` is applied to it once, here.
    rounding
        How the length of one leg is rounded: not at all, to the nearest integer (halves up, as in CVRPLIB's
        EUC_2D), or up (CEIL_2D).
    metric
        Straight lines in the plane, or metres on the globe.
    customer_names
        n distinct names, customer 1 first. The plain numbers "1", "2", ... are what None means.
    demand_scale
        How many stored units make one unit of the user's file: 10 where demands had one decimal.
    details
        What the file tells of its nodes beside the problem, such as addresses; it plays no part in comparisons.

    Raises
    ------
    InstanceError
        If the values cannot be a problem; it names the field, and the customer where there is one.
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
    details: Details | None = None

    def __post_init__(self) -> None:
        refuse_unknown_choice(self.rounding, get_args(Rounding), "rounding")
        refuse_unknown_choice(self.metric, get_args(Metric), "metric")
        demands = read_demands(self.demands)
        count = len(demands) - 1
        customer_names = read_customer_names(self.customer_names, count)
        capacity = read_capacity(self.capacity)
        scale = read_scale(self.demand_scale)
        refuse_overlarge_demand(demands, capacity, customer_names, scale)
        coordinates = None if self.coordinates is None else read_coordinates(self.coordinates, count, self.metric)
        distances = None if self.distances is None else read_distances(self.distances, count, self.rounding)
        if coordinates is None and distances is None:
            raise make_fault("coordinates", "there are neither coordinates nor distances.", "Give one of the two.")
        if distances is None and coordinates is not None and self.metric == "euclidean":
            refuse_vanishing_lengths(coordinates)
        if self.details is not None and len(self.details.rows) != count + 1:
            message = f"there are details of {len(self.details.rows)} nodes, not of {count + 1}."
            raise make_fault("details", message, "Give a row for the depot and for each customer.")
        factor = find_common_power_of_ten(demands, capacity, scale)

        self._set("demands", freeze(demands // factor))
        self._set("capacity", capacity // factor)
        self._set("demand_scale", scale // factor)
        self._set("coordinates", None if coordinates is None else freeze(coordinates))
        self._set("distances", None if distances is None else freeze(distances))
        self._set("rounding", self.rounding if distances is None else "none")  # the matrix holds it already
        self._set("metric", self.metric if coordinates is not None else "euclidean")
        self._set("name", read_name(self.name))
        self._set("customer_names", customer_names)

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen; this is its constructor's own door

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - 1

    @property
    def minimum_routes(self) -> int:
        """Lower bound on the number of routes: all demand over one vehicle's capacity."""
        return max(1, -(-int(self.demands.sum()) // self.capacity))

    @property
    def unit(self) -> Literal["m"] | None:
        """Unit of lengths and costs: metres where they come from degrees; None where the file does not say it."""
        return "m" if self.metric == "great_circle" and self.distances is None else None

    def customer_name(self, customer: int) -> str:
        """The user's own name of customer 1..n, or its number."""
        return str(customer) if self.customer_names is None else self.customer_names[customer - 1]

    def shown_demand(self, load: int) -> int | Decimal:
        """Turn a load in stored units into the user's unit, exactly.

        Parameters
        ----------
        load
            A demand, a load or the capacity, as stored.
        """
        return unscale(load, self.demand_scale)

    def leg_lengths(self, origins: ArrayLike, destinations: ArrayLike) -> NDArray[np.float64]:
        """Lengths of the legs between pairs of nodes, under this instance's metric and rounding.

        Parameters
        ----------
        origins, destinations
            Node numbers, of shapes that broadcast against each other.
        """
        start, end = np.asarray(origins, dtype=np.intp), np.asarray(destinations, dtype=np.intp)
        if self.distances is not None:
            return np.asarray(self.distances[start, end], dtype=np.float64)
        assert self.coordinates is not None  # __post_init__ saw to it
        measure = great_circle if self.metric == "great_circle" else straight_line
        return round_lengths(measure(self.coordinates[start], self.coordinates[end]), self.rounding)

    @cached_property
    def distance_matrix(self) -> NDArray[np.float64]:
        """All leg lengths as an (n + 1, n + 1) matrix; computed once and kept."""
        if self.distances is not None:
            return self.distances
        require_memory(memory_for_all_legs(self.size), self.size)
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
        )

    def __hash__(self) -> int:
        return hash((self.capacity, self.rounding, self.demands.tobytes()))

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Instance({name}{self.size} customers, capacity {self.shown_demand(self.capacity)})"


def _equal_or_none(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)
