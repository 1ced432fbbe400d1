"""Sets in the arrays of RouteFinder, whose routes may be open, limited in length, and bound to time windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError, Where, placed
from dynaroute.base.limits import refuse_large_set
from dynaroute.formats.numbers import find_common_denominator
from dynaroute.formats.sets.arrays import undivide
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT
from dynaroute.problem.rules import RULES

__all__ = [
    "VARIANT_KEYS",
    "VARIANT_SHAPES",
    "list_obstacles",
    "make_variant_arrays",
    "make_variants",
    "refuse_faulty_variant_shapes",
]

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
)
VARIANT_SHAPES = (
    "locs (N, n + 1, 2), demand_linehaul (N, n), vehicle_capacity (N, 1), and if there are any demand_backhaul (N, n), "
    "backhaul_class, speed, distance_limit and open_route (N, 1), time_windows (N, n + 1, 2), service_time (N, n + 1)"
)
_ANY_TIME = (0.0, np.inf)
_FIELDS = {  # of an instance, by the arrays that they are read from
    "coordinates": "locs",
    "demands": "demand_linehaul",
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
            raise FormatError(
                f"the array {key} is missing.", where=Where(field=key), remedy=f"The arrays are {VARIANT_SHAPES}."
            )
    count, customers = (*shapes["demand_linehaul"], 0, 0)[:2]
    places = (*shapes["locs"], 0, 0)[1]
    expected: dict[str, list[tuple[int, ...]]] = {
        "demand_linehaul": [(count, customers)],
        "locs": [(count, customers + 1, 2)],
        "demand_backhaul": [(count, customers)],
        "time_windows": [(count, places, 2)],
        "service_time": [(count, places), (count, customers)],
    }
    for key in sorted(shapes, key=("demand_linehaul", *VARIANT_KEYS).index):  # the others are compared with this one
        shape = shapes[key]
        if shape not in expected.get(key, [(count,), (count, 1)]):
            message = f"the array {key} has shape {shape}."
            raise FormatError(message, where=Where(field=key), remedy=f"The shapes are {VARIANT_SHAPES}.")
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
    if (arrays.get("demand_backhaul", np.zeros(1)) != 0).any():
        raise UnsupportedError(
            "sets with backhauls are not read yet.",
            where=Where(field="demand_backhaul"),
            remedy="Leave out the array demand_backhaul if these customers need not be served.",
        )
    count = len(arrays["locs"])
    given = arrays["vehicle_capacity"].reshape(count)
    demands, capacity = undivide(arrays["demand_linehaul"], given, is_certain=True)
    for key, values in (("demand_linehaul", demands), ("vehicle_capacity", capacity)):
        if not (values % 1 == 0).all():
            message = "the demands are not whole numbers, and not whole fractions of the capacity up to rounding."
            remedy = "Give whole numbers as demands, and the capacity in the same unit."
            raise FormatError(message, where=Where(field=key), remedy=remedy)
    rows = _Rows(arrays)
    instances = []
    for index in range(count):
        with placed(partial(_place, index)):
            instances.append(rows.make_instance(index, demands[index], int(capacity[index]), f"{stem}-{index + 1}"))
    return instances


class _Rows:
    """The arrays beside demands as instances need them, 64 bits wide, and in full if they are missing."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        count, places, _ = arrays["locs"].shape
        self.coordinates = arrays["locs"].astype(np.float64)
        self.windows = arrays.get("time_windows", np.full((count, places, 2), _ANY_TIME)).astype(np.float64)
        self.service = arrays.get("service_time", np.zeros((count, places))).astype(np.float64)
        if self.service.shape[1] < places:  # without the depot's
            self.service = np.pad(self.service, ((0, 0), (1, 0)))
        self.limits = _read_column(arrays, "distance_limit", np.inf, count)
        self.is_open = _read_column(arrays, "open_route", 0, count)
        self.speeds = _read_column(arrays, "speed", np.nan, count)

    def make_instance(self, index: int, demands: NDArray[Any], capacity: int, name: str) -> Instance:
        windows, service, speed = self.windows[index], self.service[index], self.speeds[index]
        has_windows = bool((windows != _ANY_TIME).any())
        has_times = has_windows or bool(service.any())
        limit = self.limits[index]
        kind = VehicleType(
            capacity,
            max_distance=None if limit == np.inf else limit,
            end="open" if self.is_open[index] else "depot",
        )
        return Instance(
            self.coordinates[index],
            np.r_[0, demands],
            capacity,
            name,
            vehicles=None if kind.is_plain else (kind,),
            windows=windows if has_windows else None,
            service=service if service.any() else None,
            speed=None if math.isnan(speed) or (speed == 1 and not has_times) else speed,
        )


def _read_column(arrays: Mapping[str, NDArray[Any]], key: str, usual: float, count: int) -> list[float]:
    values: list[float] = arrays.get(key, np.full(count, usual)).reshape(count).astype(np.float64).tolist()
    return values


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
    kind = replace(instance.fleet[0], name="", max_distance=None, end=DEPOT)
    needs_speed = instance.windows is not None or instance.service is not None
    return {
        "vehicles": ("several types, or a limited number, of vehicles", len(instance.fleet) > 1 or not kind.is_plain),
        "durations": ("travel times", instance.durations is not None),
        "speed": ("times without a speed", needs_speed and instance.speed is None),
        "demand_scale": ("decimal demands", instance.demand_scale != 1),
        **{rule: (RULES[rule], True) for rule in sorted(instance.rules)},
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
    demands = np.array([instance.demands[1:] for instance in instances])
    capacity = np.array([[instance.capacity] for instance in instances])
    shares = (demands / capacity).astype(np.float32)
    whole = find_common_denominator([Decimal(str(share)) for share in np.unique(shares) if share])
    is_exact = bool((capacity == whole).all())
    columns = {
        "speed": [1.0 if instance.speed is None else instance.speed for instance in instances],
        "distance_limit": [np.inf if kind.max_distance is None else kind.max_distance for kind in kinds],
    }
    nodes = instances[0].size + 1
    arrays: dict[str, NDArray[Any]] = {
        "locs": _narrow(np.array([instance.coordinates for instance in instances])),
        "demand_linehaul": shares if is_exact else demands,
        "vehicle_capacity": np.ones_like(capacity, dtype=np.float32) if is_exact else capacity,
        **{key: _narrow(np.array(values)[:, None]) for key, values in columns.items()},
        "open_route": np.array([[kind.end == "open"] for kind in kinds]),
        "time_windows": _narrow(_stack([instance.windows for instance in instances], np.full((nodes, 2), _ANY_TIME))),
        "service_time": _narrow(_stack([instance.service for instance in instances], np.zeros(nodes))),
    }
    says_nothing = {"distance_limit": np.inf, "open_route": False, "time_windows": _ANY_TIME, "service_time": 0.0}
    for key, nothing in says_nothing.items():
        if (arrays[key] == nothing).all():
            del arrays[key]
    return arrays


def _stack(parts: Sequence[NDArray[np.float64] | None], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([usual if part is None else part for part in parts])


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Store numbers in 32 bits, if that is exact."""
    narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values
