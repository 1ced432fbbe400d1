"""One routing problem, in exact integers, checked when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.errors import InstanceError, Where

__all__ = ["EARTH_RADIUS_METRES", "LARGEST_INTEGER", "Instance", "Metric", "Rounding", "scale_to_integers"]

Rounding = Literal["none", "nearest", "up"]
Metric = Literal["euclidean", "great_circle"]

LARGEST_INTEGER = 2**31 - 1  # loads are added in 32-bit registers on the GPU
EARTH_RADIUS_METRES = 6_371_008.8  # mean radius of the WGS 84 ellipsoid


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
        (n + 1, n + 1) symmetric matrix with a zero diagonal, used instead of the metric.
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

    def __post_init__(self) -> None:
        if self.rounding not in get_args(Rounding):
            raise _fault("rounding", f"the rounding rule {self.rounding!r} is unknown.", "Use none, nearest or up.")
        if self.metric not in get_args(Metric):
            raise _fault("metric", f"the metric {self.metric!r} is unknown.", "Use euclidean or great_circle.")
        demands = _checked_demands(self.demands)
        capacity = _checked_capacity(self.capacity)
        _refuse_overlarge_demand(demands, capacity, self.customer_names)
        count = len(demands) - 1
        coordinates = None if self.coordinates is None else _checked_coordinates(self.coordinates, count, self.metric)
        distances = None if self.distances is None else _checked_distances(self.distances, count, self.rounding)
        if coordinates is None and distances is None:
            raise _fault("coordinates", "there are neither coordinates nor distances.", "Give one of the two.")
        scale = _checked_scale(self.demand_scale)
        factor = _common_power_of_ten(demands, capacity, scale)

        self._set("demands", _frozen(demands // factor))
        self._set("capacity", capacity // factor)
        self._set("demand_scale", scale // factor)
        self._set("coordinates", None if coordinates is None else _frozen(coordinates))
        self._set("distances", None if distances is None else _frozen(distances))
        self._set("rounding", self.rounding if distances is None else "none")  # the matrix holds it already
        self._set("metric", self.metric if coordinates is not None else "euclidean")
        self._set("name", _checked_name(self.name))
        self._set("customer_names", _checked_customer_names(self.customer_names, count))

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
        if self.demand_scale == 1:
            return int(load)
        return Decimal(int(load)) / Decimal(self.demand_scale)

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
        measure = _great_circle if self.metric == "great_circle" else _straight_line
        return _rounded(measure(self.coordinates[start], self.coordinates[end]), self.rounding)

    @cached_property
    def distance_matrix(self) -> NDArray[np.float64]:
        """All leg lengths as an (n + 1, n + 1) matrix; computed once and kept."""
        if self.distances is not None:
            return self.distances
        nodes = np.arange(self.size + 1)
        return _frozen(self.leg_lengths(nodes[:, None], nodes[None, :]))

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


def scale_to_integers(values: Sequence[Decimal]) -> tuple[list[int], int]:
    """Scale decimals to integers by the smallest power of ten that makes all of them whole.

    Parameters
    ----------
    values
        Finite decimals.

    Returns
    -------
    tuple[list[int], int]
        The integers and the power of ten.
    """
    # normalize() drops trailing zeros, so that 1.50 needs one decimal, not two
    decimals = max((max(0, -_exponent(value)) for value in values), default=0)
    scale = 10**decimals
    return [int(value * scale) if decimals == 0 else _scaled(value, decimals) for value in values], scale


def _exponent(value: Decimal) -> int:
    exponent: int | str = value.normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # finite, as the caller promised
    return exponent


def _scaled(value: Decimal, decimals: int) -> int:
    # by digits, since Decimal multiplication rounds to the context's 28 digits
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole: int = int("".join(map(str, digits)))
    shift = exponent + decimals
    whole = whole * int(10**shift) if shift >= 0 else whole // int(10**-shift)
    return -whole if sign else whole


def _fault(field: str, message: str, remedy: str = "", customer: int | None = None) -> InstanceError:
    return InstanceError(message, where=Where(field=field, customer=customer), remedy=remedy)


def _node(index: int) -> str:
    return "the depot" if index == 0 else f"customer {index}"


def _whole_numbers(values: object, field: str) -> NDArray[np.int64]:
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind in "iu":
        if array.size and array.dtype.kind == "u" and int(array.max()) > LARGEST_INTEGER:
            raise _fault(field, f"a value is above {LARGEST_INTEGER}.", "Use a coarser unit.")
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise _fault(field, "the values are not numbers.", "Give whole numbers.")
    if not np.isfinite(array).all():
        index = int(np.argmax(~np.isfinite(array.reshape(-1))))
        raise _fault(field, f"the value of {_node(index)} is not finite.", "Give whole numbers.")
    if (array != np.floor(array)).any():
        raise _fault(
            field,
            "the values are not whole numbers.",
            "Scale them to whole numbers (dynaroute.instance.scale_to_integers does it exactly).",
        )
    within: NDArray[np.int64] = np.clip(array, -(2.0**62), 2.0**62).astype(np.int64)
    return within


def _checked_demands(values: object) -> NDArray[np.int64]:
    demands = _whole_numbers(values, "demands")
    if demands.ndim != 1:
        raise _fault("demands", f"demands have {demands.ndim} dimensions, not one.", "Give one demand a node.")
    if len(demands) < 2:
        raise _fault("demands", "there is no customer.", "Give the depot and at least one customer.")
    if demands.min() < 0:
        index = int(np.argmax(demands < 0))
        raise _fault(
            "demands",
            f"the demand of {_node(index)} is negative ({demands[index]}).",
            "Demands are 0 or more.",
            customer=index or None,
        )
    if demands[0] != 0:
        raise _fault("demands", f"the depot has a demand ({demands[0]}).", "It is the first node and has none.")
    return demands


def _checked_capacity(value: object) -> int:
    array = _whole_numbers(value, "capacity")
    if array.ndim != 0:
        raise _fault("capacity", "the capacity is not one number.", "All vehicles have the same capacity.")
    capacity = int(array)
    if capacity <= 0:
        raise _fault("capacity", f"the capacity is {capacity}.", "It must be above 0.")
    if capacity > LARGEST_INTEGER:
        raise _fault(
            "capacity",
            f"the capacity is {capacity} in whole units, above the largest possible, {LARGEST_INTEGER}.",
            "Use a coarser unit, or fewer decimals.",
        )
    return capacity


def _refuse_overlarge_demand(demands: NDArray[np.int64], capacity: int, names: tuple[str, ...] | None) -> None:
    if demands.max() <= capacity:
        return
    customer = int(np.argmax(demands > capacity))
    called = f" ({names[customer - 1]})" if names is not None and customer <= len(names) else ""
    raise _fault(
        "demands",
        f"the demand of customer {customer}{called} is {demands[customer]}, above the capacity {capacity}.",
        "Split this customer, or use larger vehicles.",
        customer=customer,
    )


def _checked_coordinates(values: object, count: int, metric: Metric) -> NDArray[np.float64]:
    coordinates = _as_floats(values, "coordinates")
    if coordinates.shape != (count + 1, 2):
        raise _fault(
            "coordinates",
            f"coordinates have the shape {coordinates.shape}, not {(count + 1, 2)}.",
            "Give two numbers for the depot and for each customer.",
        )
    bad = ~np.isfinite(coordinates).all(axis=1)
    if bad.any():
        index = int(np.argmax(bad))
        raise _fault("coordinates", f"the position of {_node(index)} is not finite.", customer=index or None)
    if metric == "great_circle":
        outside = (np.abs(coordinates[:, 0]) > 90) | (np.abs(coordinates[:, 1]) > 180)
        if outside.any():
            index = int(np.argmax(outside))
            raise _fault(
                "coordinates",
                f"latitude and longitude of {_node(index)} are {coordinates[index].tolist()}, not on the globe.",
                "Latitude is -90 to 90, longitude -180 to 180, in degrees.",
                index or None,
            )
    elif np.abs(coordinates).max() > 1e150:  # squares of differences would overflow
        raise _fault("coordinates", "coordinates above 1e150 cannot be measured.", "Use a coarser unit.")
    return coordinates


def _checked_distances(values: object, count: int, rounding: Rounding) -> NDArray[np.float64]:
    distances = _as_floats(values, "distances")
    if distances.shape != (count + 1, count + 1):
        raise _fault(
            "distances",
            f"the distance matrix has the shape {distances.shape}, not {(count + 1, count + 1)}.",
            "It needs a row and a column for the depot and for each customer.",
        )
    for bad, reason in ((~np.isfinite(distances), "not finite"), (distances < 0, "negative")):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise _fault(
                "distances", f"the distance from node {row} to node {column} is {reason}.", "Distances are 0 or more."
            )
    if (np.diagonal(distances) != 0).any():
        node = int(np.argmax(np.diagonal(distances) != 0))
        raise _fault("distances", f"the distance from node {node} to itself is not 0.", "The diagonal must be 0.")
    if (distances != distances.T).any():
        row, column = np.argwhere(distances != distances.T)[0]
        raise _fault(
            "distances",
            f"the matrix is asymmetric: node {row} to {column} is {distances[row, column]:g}, "
            f"back it is {distances[column, row]:g}.",
            "Only symmetric distances are solved.",
        )
    return _rounded(distances, rounding)


def _as_floats(values: object, field: str) -> NDArray[np.float64]:
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise _fault(field, "the rows have different lengths.", "Give a rectangular array.") from error
    if array.dtype.kind not in "iuf":
        raise _fault(field, "the values are not numbers.", "Give numbers.")
    return array.astype(np.float64)


def _checked_scale(value: int) -> int:
    scale = int(value)
    power = scale
    while power > 1 and power % 10 == 0:
        power //= 10
    if power != 1:
        raise _fault("demand_scale", f"the scale {value} is not a power of ten.", "Use 1, 10, 100, ...")
    return scale


def _common_power_of_ten(demands: NDArray[np.int64], capacity: int, scale: int) -> int:
    """Find the power of ten that scale, demands and capacity share: equal problems are stored alike."""
    factor = 1
    while scale % (factor * 10) == 0 and capacity % (factor * 10) == 0 and not (demands % (factor * 10)).any():
        factor *= 10
    return factor


def _checked_name(value: str) -> str:
    name = value.strip()
    if not name.isprintable():
        raise _fault("name", "the name holds line breaks or control characters.", "Use one line of text.")
    return name


def _checked_customer_names(values: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    names = tuple(str(value).strip() for value in values)
    if len(names) != count:
        raise _fault("customer_names", f"there are {len(names)} names for {count} customers.", "Name each.")
    seen: dict[str, int] = {}
    for customer, name in enumerate(names, start=1):
        if not name or not name.isprintable():
            raise _fault(
                "customer_names", f"the name of customer {customer} is not one line of text.", customer=customer
            )
        if name in seen:
            raise _fault(
                "customer_names",
                f"customers {seen[name]} and {customer} are both called {name!r}.",
                "Names must differ.",
                customer=customer,
            )
        seen[name] = customer
    return None if names == tuple(map(str, range(1, count + 1))) else names


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    owned = np.array(array, order="C")
    owned.setflags(write=False)
    return owned


def _equal_or_none(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _straight_line(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    difference = start - end
    return np.sqrt(difference[..., 0] ** 2 + difference[..., 1] ** 2)


def _great_circle(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Haversine distance in metres between points in degrees; exact to rounding for near points too."""
    (latitude_1, longitude_1), (latitude_2, longitude_2) = (
        np.moveaxis(np.radians(points), -1, 0) for points in (start, end)
    )
    half_chord_squared = (
        np.sin((latitude_2 - latitude_1) / 2) ** 2
        + np.cos(latitude_1) * np.cos(latitude_2) * np.sin((longitude_2 - longitude_1) / 2) ** 2
    )
    return np.asarray(2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(np.minimum(half_chord_squared, 1.0))))


def _rounded(lengths: NDArray[np.float64], rounding: Rounding) -> NDArray[np.float64]:
    if rounding == "nearest":
        return np.floor(lengths + 0.5)
    if rounding == "up":
        return np.ceil(lengths)
    return lengths
