"""Sets in the arrays of RouteFinder: open routes, limited lengths, time windows, backhauls and several depots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, Where, placed
from dynaroute.base.limits import refuse_large_set
from dynaroute.base.vocabulary import Backhauls
from dynaroute.formats.numbers import find_common_denominator
from dynaroute.formats.sets.arrays import undivide
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT, Place
from dynaroute.problem.rules import RULES

VARIANT_KEYS = (
    "locs",
    "demand_linehaul",
    "demand_backhaul",
    "backhaul_class",
    "vehicle_capacity",
    "speed",
    "time_windows",
    "service_time",
    "distance_limit",
    "open_route",
    "num_depots",
)
VARIANT_SHAPES = (
    "locs (N, D + n, 2) with D depots first, demand_linehaul (N, n), vehicle_capacity (N, 1), and if there are any "
    "demand_backhaul (N, n), backhaul_class, speed, distance_limit and open_route (N, 1), time_windows (N, D + n, 2), "
    "service_time (N, D + n)"
)
_RULES = frozenset({"pickups", "backhauls_last", "places"})
_CLASSES: dict[float, Backhauls] = {1: "last", 2: "mixed"}
_ANY_TIME = (0.0, np.inf)
_FIELDS = {  # of an instance, by the arrays that they are read from
    "coordinates": "locs",
    "demands": "demand_linehaul",
    "pickups": "demand_backhaul",
    "places": "time_windows",
    "capacity": "vehicle_capacity",
    "windows": "time_windows",
    "service": "service_time",
    "max_distance": "distance_limit",
}


def refuse_faulty_variant_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check the shapes of arrays against each other, before allocating memory.

    Parameters
    ----------
    shapes
        Shapes by key.

    Raises
    ------
    FormatError
        It names the array that is missing or has the wrong shape.
    """
    for key in ("locs", "demand_linehaul", "vehicle_capacity"):
        if key not in shapes:
            raise FormatError.about(key, f"the array {key} is missing.", f"The arrays are {VARIANT_SHAPES}.")
    count, customers = (*shapes["demand_linehaul"], 0, 0)[:2]
    places = max((*shapes["locs"], 0, 0)[1], customers + 1)
    expected: dict[str, list[tuple[int, ...]]] = {
        "demand_linehaul": [(count, customers)],
        "locs": [(count, places, 2)],
        "demand_backhaul": [(count, customers)],
        "time_windows": [(count, places, 2)],
        "service_time": [(count, places), (count, customers)],
    }
    for key in sorted(shapes, key=("demand_linehaul", *VARIANT_KEYS).index):  # the others are compared with this one
        shape = shapes[key]
        if shape not in expected.get(key, [(count,), (count, 1)]):
            message = f"the array {key} has shape {shape}."
            raise FormatError.about(key, message, f"The shapes are {VARIANT_SHAPES}.")
    refuse_large_set(count, count * places, "locs")


def make_variants(arrays: Mapping[str, NDArray[Any]], stem: str) -> list[Instance]:
    """Make the instances of a set.

    Parameters
    ----------
    arrays
        Arrays by key, whose shapes have passed `refuse_faulty_variant_shapes`.
    stem
        Begins the instances' names.

    Raises
    ------
    DynarouteError
        If demands are not whole fractions of the capacity, or an instance is invalid.
    """
    rows = _Rows(arrays)
    instances = []
    for index in range(len(arrays["locs"])):
        with placed(partial(_place, index)):
            instances.append(rows.make_instance(index, f"{stem}-{index + 1}"))
    return instances


class _Rows:
    """The arrays as instances need them: whole demands, 64 bits, and in full where they are missing."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        count, places, _ = arrays["locs"].shape
        self.size = arrays["demand_linehaul"].shape[1]
        self.depots = places - self.size
        self.demands, self.pickups, self.capacities = _read_loads(arrays)
        self.coordinates = arrays["locs"].astype(np.float64)
        self.windows = arrays.get("time_windows", np.full((count, places, 2), _ANY_TIME)).astype(np.float64)
        self.service = arrays.get("service_time", np.zeros((count, places))).astype(np.float64)
        if self.service.shape[1] < places:  # without those of the depots
            self.service = np.pad(self.service, ((0, 0), (self.depots, 0)))
        _refuse_where(self.service[:, : self.depots] != 0, "service_time", "a depot has a service time.")
        self.limits = _read_column(arrays, "distance_limit", np.inf).tolist()
        self.speeds = _read_column(arrays, "speed", np.nan).tolist()
        is_open, classes, depots = (_read_column(arrays, *each) for each in _usual_columns(self.depots))
        _refuse_where((is_open != 0) & (is_open != 1), "open_route", "a value is neither 0 nor 1.")
        is_unknown = ~np.isin(classes, list(_CLASSES)) & self.pickups.any(axis=1)
        _refuse_where(is_unknown, "backhaul_class", "the class of backhauls is missing, or neither 1 nor 2.")
        _refuse_where(depots != self.depots, "num_depots", f"locs has {self.depots} more places than customers.")
        self.is_open, self.classes = is_open.tolist(), classes.tolist()

    def make_instance(self, index: int, name: str) -> Instance:
        order = [0, *range(self.depots, self.depots + self.size)]  # the first depot, and the customers
        windows, service, speed = self.windows[index], self.service[index], self.speeds[index]
        has_windows = bool((windows != _ANY_TIME).any())
        has_times = has_windows or bool(service.any())
        capacity = int(self.capacities[index])
        places = [
            Place(f"depot {number + 1}", x, y, tuple(windows[number]) if has_windows else None)
            for number, (x, y) in enumerate(self.coordinates[index, : self.depots].tolist())
        ][1:]
        kind = VehicleType(
            capacity,
            max_distance=None if self.limits[index] == np.inf else self.limits[index],
            end="open" if self.is_open[index] else "",
        )
        kinds = (replace(kind, name="depot 1"), *(_move(kind, place.name) for place in places)) if places else (kind,)
        return Instance(
            self.coordinates[index, order],
            np.r_[0, self.demands[index]],
            capacity,
            name,
            vehicles=None if kind.is_plain and not places else kinds,
            windows=windows[order] if has_windows else None,
            service=service[order] if service.any() else None,
            speed=None if math.isnan(speed) or (speed == 1 and not has_times) else speed,
            pickups=np.r_[0, self.pickups[index]],
            backhauls=_CLASSES[self.classes[index]] if self.pickups[index].any() else "mixed",
            places=tuple(places),
        )


def _move(kind: VehicleType, start: str) -> VehicleType:
    """Let a vehicle start from another depot, and return there."""
    return replace(kind, name=start, start=start, end="open" if kind.end == "open" else start)


def _usual_columns(depots: int) -> list[tuple[str, float]]:
    return [("open_route", 0), ("backhaul_class", 0), ("num_depots", depots)]


def _read_loads(arrays: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Read whole demands (N, n), pickups (N, n) and capacities (N,)."""
    linehaul = arrays["demand_linehaul"]
    backhaul = arrays.get("demand_backhaul", np.zeros_like(linehaul))
    loads, capacities = undivide(
        np.concatenate([linehaul, backhaul], axis=1), arrays["vehicle_capacity"].reshape(-1), is_certain=True
    )
    what = "the demands are not whole numbers, and not whole fractions of the capacity up to rounding."
    _refuse_where(loads % 1 != 0, "demand_linehaul", what)
    _refuse_where(capacities % 1 != 0, "vehicle_capacity", "a capacity is not a whole number.")
    size = linehaul.shape[1]
    return loads[:, :size], loads[:, size:], capacities


def _read_column(arrays: Mapping[str, NDArray[Any]], key: str, usual: float) -> NDArray[np.float64]:
    count = len(arrays["locs"])
    return arrays.get(key, np.full(count, usual)).reshape(count).astype(np.float64)


def _refuse_where(is_wrong: NDArray[np.bool_], key: str, message: str) -> None:
    if is_wrong.any():
        where = Where(field=f"{key}[{int(np.argwhere(is_wrong)[0][0])}]")
        raise FormatError(message, where=where, remedy=f"The arrays are {VARIANT_SHAPES}.")


def _place(index: int, where: Where) -> Where:
    key = _FIELDS.get(where.field or "", where.field)
    return where if key is None else replace(where, field=f"{key}[{index}]")


def list_obstacles(instance: Instance) -> dict[str, tuple[str, bool]]:
    """List what the arrays cannot hold, by field: its name in words, and whether an instance has it.

    Parameters
    ----------
    instance
        An instance to write.
    """
    first = replace(instance.fleet[0], name="")
    starts = [DEPOT, *(place.name for place in instance.places)]
    is_one_of_each = (
        first.start == DEPOT
        and first.end in (DEPOT, "open")
        and [replace(kind, name="") for kind in instance.fleet]
        == [replace(_move(first, start), name="") for start in starts]
    )
    is_usual = replace(first, max_distance=None, end=DEPOT).is_plain
    needs_speed = instance.windows is not None or instance.service is not None
    return {
        "vehicles": ("vehicles other than any number of one type at each depot", not (is_one_of_each and is_usual)),
        "places": ("depots with loading times", any(place.loading for place in instance.places)),
        "durations": ("travel times", instance.durations is not None),
        "speed": ("times without a speed", needs_speed and instance.speed is None),
        "demand_scale": ("decimal demands", instance.demand_scale != 1),
        **{rule: (RULES[rule], True) for rule in sorted(instance.rules - _RULES)},
    }


def make_variant_arrays(instances: Sequence[Instance]) -> dict[str, NDArray[Any]]:
    """Make the arrays of instances of one size that have no obstacle of `list_obstacles`.

    Demands are fractions of the capacity if they can be read back exactly. Numbers are stored in 32 bits if that is
    exact. Rules that no instance has are left out.

    Parameters
    ----------
    instances
        At least one.
    """
    kinds = [instance.fleet[0] for instance in instances]
    size, depots = instances[0].size, 1 + len(instances[0].places)
    order = [0, *range(size + 1, size + depots), *range(1, size + 1)]  # the depots, and the customers
    demands = np.array([instance.demands[1:] for instance in instances])
    pickups = _stack([instance.pickups for instance in instances], np.zeros(size + 1, dtype=np.int64))[:, 1:]
    capacity = np.array([[instance.capacity] for instance in instances])
    shares = [(loads / capacity).astype(np.float32) for loads in (demands, pickups)]
    whole = find_common_denominator([Decimal(str(share)) for share in np.unique(shares) if share])
    is_exact = bool((capacity == whole).all())
    arrays: dict[str, NDArray[Any]] = {
        "locs": _stack([instance.coordinates for instance in instances], np.zeros(0))[:, order],
        "demand_linehaul": shares[0] if is_exact else demands,
        "demand_backhaul": shares[1] if is_exact else pickups,
        "backhaul_class": np.array([[2.0 if instance.backhauls == "mixed" else 1.0] for instance in instances]),
        "vehicle_capacity": np.ones_like(capacity, dtype=np.float32) if is_exact else capacity,
        "speed": np.array([[1.0 if instance.speed is None else instance.speed] for instance in instances]),
        "distance_limit": np.array([[np.inf if kind.max_distance is None else kind.max_distance] for kind in kinds]),
        "open_route": np.array([[kind.end == "open"] for kind in kinds]),
        "time_windows": np.array([_list_windows(instance) for instance in instances])[:, order],
        "service_time": np.pad(
            _stack([instance.service for instance in instances], np.zeros(size + 1)), ((0, 0), (depots - 1, 0))
        ),
    }
    if not pickups.any():
        del arrays["demand_backhaul"], arrays["backhaul_class"]
    says_nothing = {"distance_limit": np.inf, "open_route": False, "time_windows": _ANY_TIME, "service_time": 0.0}
    for key, nothing in says_nothing.items():
        if (arrays[key] == nothing).all():
            del arrays[key]
    return {key: _narrow(values) if values.dtype == np.float64 else values for key, values in arrays.items()}


def _list_windows(instance: Instance) -> NDArray[np.float64]:
    """List the windows of the depot, the customers and the further depots."""
    of_nodes = np.full((instance.size + 1, 2), _ANY_TIME) if instance.windows is None else instance.windows
    return np.concatenate([of_nodes, np.array([place.bounds for place in instance.places]).reshape(-1, 2)])


def _stack(parts: Sequence[NDArray[Any] | None], usual: NDArray[Any]) -> NDArray[Any]:
    return np.array([usual if part is None else part for part in parts])


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Store numbers in 32 bits, if that is exact."""
    narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values
