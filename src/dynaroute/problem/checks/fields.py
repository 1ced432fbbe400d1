"""Validation of an instance's parts. Errors name the field, the customer and a remedy."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import LARGEST_INTEGER, show_number, unscale
from dynaroute.base.errors import InstanceError
from dynaroute.base.limits import refuse_large_fleet
from dynaroute.base.vocabulary import Metric, Rounding
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.lengths import GLOBE_REMEDY, LARGEST_DEGREES, LONGEST_LENGTH, SHORTEST_SPREAD, round_lengths
from dynaroute.problem.places import Place

__all__ = [
    "LARGEST_INTEGER",
    "find_common_power_of_ten",
    "find_largest_capacities",
    "freeze",
    "node_words",
    "read_capacity",
    "read_coordinates",
    "read_customer_names",
    "read_demands",
    "read_distances",
    "read_durations",
    "read_floats",
    "read_name",
    "read_scale",
    "read_service",
    "read_speed",
    "read_vehicles",
    "read_windows",
    "refuse_first",
    "refuse_overlarge_demand",
    "refuse_unknown_choice",
    "refuse_vanishing_lengths",
    "refuse_where",
]

_SLOWEST_SPEED = 1 / LONGEST_LENGTH  # so that all times are finite


def node_words(index: int) -> str:
    """The depot, or a customer, in messages."""
    return "the depot" if index == 0 else f"customer {index}"


def refuse_unknown_choice(value: object, choices: tuple[str, ...], field: str) -> None:
    """Raise unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InstanceError.about(field, f"the {field} {value!r} is unknown.", f"Use {' or '.join(choices)}.")


def _numbers(values: object, field: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.asarray(values)
        if array.dtype == object and all(type(value) in (int, float) for value in array.flat):
            array = array.astype(np.float64)  # integers beyond 64 bits
    except ValueError as error:
        raise InstanceError.about(field, "the rows have different lengths.", "Give a rectangular array.") from error
    except OverflowError as error:
        raise InstanceError.about(field, "a value is too large.", "Use a larger unit.") from error
    if array.dtype.kind not in "iuf":
        raise InstanceError.about(field, "the values are not numbers.", "Give numbers.")
    return array


def read_floats(values: object, field: str) -> NDArray[np.float64]:
    """Read an array of numbers."""
    with np.errstate(over="ignore"):  # overflow gives infinity, which is refused
        return _numbers(values, field).astype(np.float64)


def _whole_numbers(values: object, field: str) -> NDArray[np.int64]:
    array = _numbers(values, field)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    floats = read_floats(array, field)  # unsigned integers too: exact within the allowed range
    refuse_where(~np.isfinite(floats), field, "not finite", "Give whole numbers.")
    refuse_where(floats > LARGEST_INTEGER, field, f"above {LARGEST_INTEGER}", "Use a larger unit.")
    remedy = "Scale all of them to whole numbers (dynaroute.base.decimals.scale_to_integers does it exactly)."
    refuse_where(floats != np.floor(floats), field, "not a whole number", remedy)
    return np.maximum(floats, -(2.0**62)).astype(np.int64)  # stays negative, so the caller refuses it, and fits 64 bits


def refuse_where(bad: NDArray[np.bool_], field: str, fault: str, remedy: str) -> None:
    """Raise for the first bad value."""
    refuse_first(
        bad, field, lambda node: f"the value{'' if bad.ndim == 0 else f' of {node_words(node)}'} is {fault}.", remedy
    )


def refuse_first(bad: NDArray[np.bool_] | np.bool_, field: str, tell: Callable[[int], str], remedy: str) -> None:
    """Raise for the first bad node."""
    if bad.any():
        node = int(np.argmax(bad))
        raise InstanceError.about(field, tell(node), remedy, node or None)


def read_demands(values: object, field: str = "demands") -> NDArray[np.int64]:
    """Read (n + 1,) whole numbers, or (n + 1, k) for several dimensions; the depot's come first and are 0."""
    demands, noun = _whole_numbers(values, field), field.removesuffix("s")
    if demands.ndim not in (1, 2) or (demands.ndim == 2 and demands.shape[1] == 0):
        raise InstanceError.about(
            field, f"{field} have {demands.ndim} dimensions, not one.", f"Give one {noun} per node."
        )
    if demands.ndim == 2 and demands.shape[1] == 1:
        demands = demands[:, 0]
    if len(demands) < 2:
        raise InstanceError.about(field, "there is no customer.", "Give the depot and at least one customer.")
    refuse_first(
        (demands < 0).reshape(len(demands), -1).any(axis=1),
        field,
        lambda node: f"the {noun} of {node_words(node)} is negative ({demands[node]}).",
        f"{field.capitalize()} are 0 or more.",
    )
    if demands[0].any():
        raise InstanceError.about(
            field, f"the depot has a {noun} ({demands[0]}).", f"The depot is the first node; its {noun} must be 0."
        )
    return demands


def read_capacity(value: object) -> int:
    """Read a whole number of 1 or more."""
    array = _whole_numbers(value, "capacity")
    if array.ndim != 0:
        raise InstanceError.about(
            "capacity", "the capacity is not a single number.", "Give one capacity for all vehicles."
        )
    capacity = int(array)
    if capacity <= 0:
        raise InstanceError.about("capacity", f"the capacity is {capacity}.", "It must be above 0.")
    if capacity > LARGEST_INTEGER:
        raise InstanceError.about(
            "capacity",
            f"the capacity is {capacity} in whole units, above the largest possible, {LARGEST_INTEGER}.",
            "Use a larger unit, or fewer decimals.",
        )
    return capacity


def refuse_overlarge_demand(
    demands: NDArray[np.int64],
    capacities: Sequence[int],
    names: tuple[str, ...] | None,
    scale: int,
    is_optional: NDArray[np.bool_],
    field: str = "demands",
) -> None:
    """Raise if a customer who must be served has a demand above every vehicle's capacity, in any dimension."""
    table = demands.reshape(len(demands), -1)
    is_too_large = (table > np.array(capacities)) & ~is_optional[:, None]
    if not is_too_large.any():
        return
    customer, dimension = np.argwhere(is_too_large)[0].tolist()
    called = "" if names is None else f" ({names[customer - 1]})"
    demand, limit = unscale(int(table[customer, dimension]), scale), unscale(capacities[dimension], scale)
    raise InstanceError.about(
        field,
        f"the {field.removesuffix('s')} of customer {customer}{called} is {demand}, above the capacity {limit}.",
        "Split this customer, or use larger vehicles.",
        customer,
    )


def read_coordinates(
    values: object, count: int, metric: Metric, places: Sequence[Place] = ()
) -> tuple[NDArray[np.float64], tuple[Place, ...]]:
    """Read finite numbers for the depot, the customers and the places; for the great-circle metric, degrees.

    Positions of places may be rows of the array, which count, or be known to the places.
    """
    coordinates = read_floats(values, "coordinates")
    if places and coordinates.shape == (count + 1, 2):
        for place in places:
            if place.x is None or place.y is None:
                message = f"the place {place.name!r} has no position."
                raise InstanceError.about("places", message, "Give its x and y.")
        rows = [[place.x, place.y] for place in places]
        coordinates = np.concatenate([coordinates, np.array(rows, dtype=np.float64)])
    coordinates = _check_coordinates(coordinates, count + len(places), metric)
    if not places:
        return coordinates, ()
    rows_of_places = coordinates[count + 1 :].tolist()
    return coordinates, tuple(replace(place, x=x, y=y) for place, (x, y) in zip(places, rows_of_places, strict=True))


def _check_coordinates(coordinates: NDArray[np.float64], count: int, metric: Metric) -> NDArray[np.float64]:
    if coordinates.shape != (count + 1, 2):
        raise InstanceError.about(
            "coordinates",
            f"coordinates have shape {coordinates.shape}, not {(count + 1, 2)}.",
            "Give two numbers for the depot and for each customer.",
        )
    refuse_first(
        (~np.isfinite(coordinates)).any(axis=1),
        "coordinates",
        lambda node: f"the position of {node_words(node)} is not finite.",
        "Give two finite numbers.",
    )
    if metric == "great_circle":
        refuse_first(
            (np.abs(coordinates) > list(LARGEST_DEGREES.values())).any(axis=1),
            "coordinates",
            lambda node: (
                f"latitude and longitude of {node_words(node)} are {coordinates[node].tolist()}, which is no place on "
                "the globe."
            ),
            GLOBE_REMEDY,
        )
    elif np.abs(coordinates).max() > LONGEST_LENGTH:
        node = int(np.argmax(np.abs(coordinates).max(axis=1)))
        message = f"the position of {node_words(node)} is above {LONGEST_LENGTH:g}, too large to compute distances."
        raise InstanceError.about("coordinates", message, "Use a larger unit.", node or None)
    return coordinates


def refuse_vanishing_lengths(coordinates: NDArray[np.float64]) -> None:
    """Raise if all positions are so close together that squared distances underflow to 0."""
    spread = float(np.ptp(coordinates, axis=0).max())
    if 0 < spread < SHORTEST_SPREAD:
        message = f"all positions lie within {spread:g} of each other, too close to compute distances."
        raise InstanceError.about("coordinates", message, "Use a smaller unit, so that the numbers differ more.")


def read_distances(values: object, count: int, rounding: Rounding) -> NDArray[np.float64]:
    """Read an (n + 1, n + 1) matrix of finite numbers of 0 or more, and round it."""
    return round_lengths(_read_matrix(values, count, "distances"), rounding)


def read_durations(values: object, count: int) -> NDArray[np.float64]:
    """Read an (n + 1, n + 1) matrix of finite numbers of seconds, 0 or more."""
    return _read_matrix(values, count, "durations")


def _read_matrix(values: object, count: int, field: str) -> NDArray[np.float64]:
    matrix, noun = read_floats(values, field), field.removesuffix("s")
    if matrix.shape != (count + 1, count + 1):
        raise InstanceError.about(
            field,
            f"the {noun} matrix has shape {matrix.shape}, not {(count + 1, count + 1)}.",
            "It needs a row and a column for the depot and for each customer.",
        )
    reasons = (
        (~np.isfinite(matrix), "not finite"),
        (matrix < 0, "negative"),
        (matrix > LONGEST_LENGTH, f"above {LONGEST_LENGTH:g}"),
    )
    for bad, reason in reasons:
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InstanceError.about(
                field,
                f"the {noun} from node {row} to node {column} is {reason}.",
                f"{field.capitalize()} are 0 or more.",
            )
    np.fill_diagonal(matrix, 0.0)  # never driven; some files hold 9999 there
    return matrix


def read_service(values: object, count: int) -> NDArray[np.float64] | None:
    """Read (n + 1,) seconds of 0 or more, the depot's being 0; None if all are 0."""
    service = read_floats(values, "service")
    if service.shape != (count + 1,):
        raise InstanceError.about(
            "service",
            f"the service times have shape {service.shape}, not {(count + 1,)}.",
            "Give 0 for the depot and one time per customer.",
        )
    refuse_where(~np.isfinite(service), "service", "not finite", "Give a number of seconds.")
    refuse_first(
        service < 0,
        "service",
        lambda node: f"the service time of {node_words(node)} is negative ({service[node]:g}).",
        "Service times are 0 or more.",
    )
    if service[0] != 0:
        raise InstanceError.about(
            "service",
            f"the depot has a service time ({service[0]:g}).",
            "The depot is not served; its service time must be 0.",
        )
    return service if service.any() else None


def read_windows(values: object, count: int, show_time: Callable[[float], str]) -> NDArray[np.float64] | None:
    """Read (n + 1, 2) earliest and latest seconds; infinity means no latest time. None if no node has a window."""
    windows = read_floats(values, "windows")
    if windows.shape != (count + 1, 2):
        raise InstanceError.about(
            "windows",
            f"the time windows have shape {windows.shape}, not {(count + 1, 2)}.",
            "Give the earliest and the latest time for the depot and for each customer.",
        )
    earliest, latest = windows.T
    refuse_where(
        np.isnan(windows).any(axis=1) | np.isinf(earliest), "windows", "not a pair of times", "Give two times."
    )
    refuse_first(
        earliest < 0,
        "windows",
        lambda node: f"the window of {node_words(node)} opens at {earliest[node]:g}, before 0.",
        "Times are 0 or later.",
    )
    refuse_first(
        latest < earliest,
        "windows",
        lambda node: (
            f"the window of {node_words(node)} ends at {show_time(latest[node])}, "
            f"before it begins at {show_time(earliest[node])}."
        ),
        "Give the earliest time first; write 26h for two hours after midnight.",
    )
    return windows if earliest.any() or np.isfinite(latest).any() else None


def read_speed(value: object) -> float:
    """Read a speed above 0, in distance units per second."""
    speed = read_floats(value, "speed")
    if speed.ndim != 0 or not 0 < float(speed) < np.inf:
        raise InstanceError.about(
            "speed", f"the speed {show_number(value)} is not a number above 0.", "Give distance units per second."
        )
    if speed < _SLOWEST_SPEED:
        raise InstanceError.about("speed", f"the speed {speed:g} is too small to compute times.", "Check its unit.")
    return float(speed)


def read_vehicles(values: object) -> tuple[VehicleType, ...] | None:
    """Read one or more vehicle types with different names; None for unlimited vehicles of one plain type."""
    types = tuple(values) if isinstance(values, list | tuple) else ()
    if not types or not all(isinstance(vehicle, VehicleType) for vehicle in types):
        raise InstanceError.about(
            "vehicles", "the vehicles are not a list of VehicleType.", "Give at least one VehicleType."
        )
    refuse_large_fleet([vehicle.name for vehicle in types])
    names = Counter(vehicle.name for vehicle in types if vehicle.name)
    if names and (twice := names.most_common(1)[0])[1] > 1:
        raise InstanceError.about("vehicles", f"two vehicle types are called {twice[0]!r}.", "Names must differ.")
    for vehicle in types:
        for capacity in vehicle.capacities:
            read_capacity(capacity)
        if vehicle.name != read_name(vehicle.name):
            raise InstanceError.about("vehicles", f"the name {vehicle.name!r} has spaces around it.", "Remove them.")
    if len(types) == 1 and types[0].is_plain and not types[0].name and isinstance(types[0].capacity, int):
        return None
    return types


def find_largest_capacities(vehicles: Sequence[VehicleType]) -> tuple[int, ...]:
    """Return the largest capacity of each dimension."""
    return tuple(map(max, zip(*(vehicle.capacities for vehicle in vehicles), strict=True)))


def read_scale(value: object) -> int:
    """Read a power of ten."""
    scale = int(value) if isinstance(value, int | np.integer) else 0
    power = scale
    while power > 1 and power % 10 == 0:
        power //= 10
    if power != 1:
        raise InstanceError.about(
            "demand_scale", f"the scale {show_number(value)} is not a power of ten.", "Use 1, 10, 100, ..."
        )
    return scale


def find_common_power_of_ten(demands: Sequence[int], capacities: Sequence[int], scale: int) -> int:
    """Find the largest power of ten that divides scale, demands and capacities: equal instances are stored alike."""
    factor = 1
    while scale % (factor * 10) == 0 and not any(amount % (factor * 10) for amount in (*capacities, *demands)):
        factor *= 10
    return factor


def read_name(value: object) -> str:
    """Read one line of text, without surrounding white space."""
    name = value.strip() if isinstance(value, str) else "\n"
    if not _is_one_line(name):
        raise InstanceError.about(
            "name", f"the name {value!r} is not one line of plain text.", "Leave it out, or use letters."
        )
    return name


def read_customer_names(values: object, count: int) -> tuple[str, ...] | None:
    """Read one distinct line of text per customer, or None."""
    if values is None:
        return None
    if not isinstance(values, list | tuple):
        raise InstanceError.about(
            "customer_names", f"{values!r} is not a list of names.", "Give one name per customer."
        )
    names = tuple(value.strip() if isinstance(value, str) else "" for value in values)
    if len(names) != count:
        raise InstanceError.about(
            "customer_names", f"there are {len(names)} names for {count} customers.", "Give one name per customer."
        )
    seen: dict[str, int] = {}
    for customer, name in enumerate(names, start=1):
        if not name or not _is_one_line(name):
            raise InstanceError.about(
                "customer_names",
                f"the name of customer {customer} is not one line of text.",
                "Name it without line breaks and control characters.",
                customer,
            )
        if name in seen:
            raise InstanceError.about(
                "customer_names",
                f"customers {seen[name]} and {customer} are both called {name!r}.",
                "Names must differ.",
                customer=customer,
            )
        seen[name] = customer
    return None if names == tuple(map(str, range(1, count + 1))) else names


def _is_one_line(text: str) -> bool:
    # not str.isprintable(), which rejects the joiners that Persian and Hindi names need
    return not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text)


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy."""
    owned = np.array(array, order="C")
    owned.setflags(write=False)
    return owned
