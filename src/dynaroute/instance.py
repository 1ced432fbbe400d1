"""One routing problem, in exact integers, checked when it is made."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.decimals import unscale
from dynaroute.errors import InstanceError, Where
from dynaroute.lengths import LONGEST_LENGTH, Metric, Rounding, great_circle, round_lengths, straight_line

__all__ = ["LARGEST_INTEGER", "Instance"]

LARGEST_INTEGER = 2**31 - 1  # loads are added in 32-bit registers on the GPU


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
        _refuse_unknown_choice(self.rounding, get_args(Rounding), "rounding")
        _refuse_unknown_choice(self.metric, get_args(Metric), "metric")
        demands = _checked_demands(self.demands)
        count = len(demands) - 1
        customer_names = _checked_customer_names(self.customer_names, count)
        capacity = _checked_capacity(self.capacity)
        scale = _checked_scale(self.demand_scale)
        _refuse_overlarge_demand(demands, capacity, customer_names, scale)
        coordinates = None if self.coordinates is None else _checked_coordinates(self.coordinates, count, self.metric)
        distances = None if self.distances is None else _checked_distances(self.distances, count, self.rounding)
        if coordinates is None and distances is None:
            raise _fault("coordinates", "there are neither coordinates nor distances.", "Give one of the two.")
        factor = _common_power_of_ten(demands, capacity, scale)

        self._set("demands", _frozen(demands // factor))
        self._set("capacity", capacity // factor)
        self._set("demand_scale", scale // factor)
        self._set("coordinates", None if coordinates is None else _frozen(coordinates))
        self._set("distances", None if distances is None else _frozen(distances))
        self._set("rounding", self.rounding if distances is None else "none")  # the matrix holds it already
        self._set("metric", self.metric if coordinates is not None else "euclidean")
        self._set("name", _checked_name(self.name))
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


def _fault(field: str, message: str, remedy: str = "", customer: int | None = None) -> InstanceError:
    return InstanceError(message, where=Where(field=field, customer=customer), remedy=remedy)


def _node(index: int) -> str:
    return "the depot" if index == 0 else f"customer {index}"


def _refuse_unknown_choice(value: object, choices: tuple[str, ...], field: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise _fault(field, f"the {field} {value!r} is unknown.", f"Use {' or '.join(choices)}.")


def _numbers(values: object, field: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.asarray(values)
        if array.dtype == object and all(type(value) in (int, float) for value in array.flat):
            array = array.astype(np.float64)  # integers beyond 64 bits
    except ValueError as error:
        raise _fault(field, "the rows have different lengths.", "Give a rectangular array.") from error
    except OverflowError as error:
        raise _fault(field, "a value is too large.", "Use a coarser unit.") from error
    if array.dtype.kind not in "iuf":
        raise _fault(field, "the values are not numbers.", "Give numbers.")
    return array


def _floats(values: object, field: str) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
        return _numbers(values, field).astype(np.float64)


def _whole_numbers(values: object, field: str) -> NDArray[np.int64]:
    array = _numbers(values, field)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    floats = _floats(array, field)  # unsigned integers too: exact as far as we allow them
    _refuse_where(~np.isfinite(floats), field, "not finite", "Give whole numbers.")
    _refuse_where(floats > LARGEST_INTEGER, field, f"above {LARGEST_INTEGER}", "Use a coarser unit.")
    remedy = "Scale all of them to whole numbers (dynaroute.decimals.scale_to_integers does it exactly)."
    _refuse_where(floats != np.floor(floats), field, "not a whole number", remedy)
    return np.maximum(floats, -(2.0**62)).astype(np.int64)  # still negative, so refused by who asked, and in 64 bits


def _refuse_where(bad: NDArray[np.bool_], field: str, fault: str, remedy: str) -> None:
    if not bad.any():
        return
    index = int(np.argmax(bad))
    whose = "the value" if bad.ndim == 0 else f"the value of {_node(index)}"
    raise _fault(field, f"{whose} is {fault}.", remedy, index or None)


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


def _refuse_overlarge_demand(
    demands: NDArray[np.int64], capacity: int, names: tuple[str, ...] | None, scale: int
) -> None:
    if demands.max() <= capacity:
        return
    customer = int(np.argmax(demands > capacity))
    called = "" if names is None else f" ({names[customer - 1]})"
    demand, limit = unscale(demands[customer], scale), unscale(capacity, scale)
    raise _fault(
        "demands",
        f"the demand of customer {customer}{called} is {demand}, above the capacity {limit}.",
        "Split this customer, or use larger vehicles.",
        customer,
    )


def _checked_coordinates(values: object, count: int, metric: Metric) -> NDArray[np.float64]:
    coordinates = _floats(values, "coordinates")
    if coordinates.shape != (count + 1, 2):
        raise _fault(
            "coordinates",
            f"coordinates have the shape {coordinates.shape}, not {(count + 1, 2)}.",
            "Give two numbers for the depot and for each customer.",
        )
    bad = ~np.isfinite(coordinates).all(axis=1)
    if bad.any():
        index = int(np.argmax(bad))
        raise _fault(
            "coordinates", f"the position of {_node(index)} is not finite.", "Give two finite numbers.", index or None
        )
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
    elif np.abs(coordinates).max() > LONGEST_LENGTH:
        index = int(np.argmax(np.abs(coordinates).max(axis=1)))
        raise _fault(
            "coordinates",
            f"the position of {_node(index)} is above {LONGEST_LENGTH:g}, which cannot be measured.",
            "Use a coarser unit.",
            index or None,
        )
    return coordinates


def _checked_distances(values: object, count: int, rounding: Rounding) -> NDArray[np.float64]:
    distances = _floats(values, "distances")
    if distances.shape != (count + 1, count + 1):
        raise _fault(
            "distances",
            f"the distance matrix has the shape {distances.shape}, not {(count + 1, count + 1)}.",
            "It needs a row and a column for the depot and for each customer.",
        )
    reasons = (
        (~np.isfinite(distances), "not finite"),
        (distances < 0, "negative"),
        (distances > LONGEST_LENGTH, f"above {LONGEST_LENGTH:g}"),
    )
    for bad, reason in reasons:
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise _fault(
                "distances", f"the distance from node {row} to node {column} is {reason}.", "Distances are 0 or more."
            )
    np.fill_diagonal(distances, 0.0)  # no vehicle drives it, and some files hold 9999 there
    if (distances != distances.T).any():
        row, column = np.argwhere(distances != distances.T)[0]
        raise _fault(
            "distances",
            f"the matrix is asymmetric: node {row} to {column} is {distances[row, column]:g}, "
            f"back it is {distances[column, row]:g}.",
            "Only symmetric distances are solved.",
        )
    return round_lengths(distances, rounding)


def _checked_scale(value: object) -> int:
    scale = int(value) if isinstance(value, int | np.integer) else 0
    power = scale
    while power > 1 and power % 10 == 0:
        power //= 10
    if power != 1:
        raise _fault("demand_scale", f"the scale {value!r} is not a power of ten.", "Use 1, 10, 100, ...")
    return scale


def _common_power_of_ten(demands: NDArray[np.int64], capacity: int, scale: int) -> int:
    """Find the power of ten that scale, demands and capacity share: equal problems are stored alike."""
    factor = 1
    while scale % (factor * 10) == 0 and capacity % (factor * 10) == 0 and not (demands % (factor * 10)).any():
        factor *= 10
    return factor


def _checked_name(value: object) -> str:
    name = value.strip() if isinstance(value, str) else "\n"
    if not _is_one_line(name):
        raise _fault("name", f"the name {value!r} is not one line of plain text.", "Leave it out, or use letters.")
    return name


def _checked_customer_names(values: object, count: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list | tuple):
        raise _fault("customer_names", f"{values!r} is not a list of names.", "Give one name a customer.")
    names = tuple(value.strip() if isinstance(value, str) else "" for value in values)
    if len(names) != count:
        raise _fault("customer_names", f"there are {len(names)} names for {count} customers.", "Name each.")
    seen: dict[str, int] = {}
    for customer, name in enumerate(names, start=1):
        if not name or not _is_one_line(name):
            raise _fault(
                "customer_names",
                f"the name of customer {customer} is not one line of text.",
                "Name it without line breaks and control characters.",
                customer,
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


def _is_one_line(text: str) -> bool:
    # not str.isprintable(), which refuses the joiners that names in Persian or Hindi need
    return not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    owned = np.array(array, order="C")
    owned.setflags(write=False)
    return owned


def _equal_or_none(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)
