"""Sets of instances as arrays, in the layouts of this and other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import count_decimals
from dynaroute.base.errors import FormatError, Where, placed, warn_of_input
from dynaroute.base.limits import refuse_large_set
from dynaroute.formats.numbers import ROUNDED_DECIMALS, find_common_denominator, instance_from_arrays
from dynaroute.problem.instance import Instance

KEYS = ("depot", "locs", "demand", "capacity")
SHAPES = "depot (N, 2), locs (N, n, 2), demand (N, n), capacity (N,)"

_COLUMN = np.ones((1, 1))  # stands in for a missing capacity
_FEW = 3  # with fewer distinct demands, a match may be chance
_FLOATS = 4e-7  # relative error of a demand that was divided in 32 bits and multiplied again


def refuse_faulty_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check the shapes of arrays against each other, before allocating memory.

    Parameters
    ----------
    shapes
        Shapes by key. `depot` may be absent if it is the first of `locs`, `capacity` if it is 1.

    Raises
    ------
    FormatError
        It names the array that is missing or has the wrong shape.
    """
    for key in ("locs", "demand"):
        if key not in shapes:
            raise _missing(key)
    count = (shapes.get("depot") or shapes["demand"] or (0,))[0]
    locs = shapes["locs"]
    if len(locs) != 3 or locs[::2] != (count, 2):
        # the number of instances is that of `depot`, unless its shape is wrong
        key = "locs" if len(shapes.get("depot", (0, 2))) in (2, 3) else "depot"
        raise _wrong_shape(key, shapes[key])
    places = locs[1]
    expected: dict[str, list[tuple[int, ...]]] = {
        "depot": [(count, 2), (count, 1, 2)],
        "demand": [(count, places), (count, places - 1), *([(count, places + 1)] if "depot" in shapes else [])],
        "capacity": [(count,), (), (count, 1)],
    }
    if "depot" in shapes and shapes["depot"] not in expected["depot"]:
        raise _wrong_shape("depot", shapes["depot"])
    for key in ("demand", "capacity"):
        if key in shapes and shapes[key] not in expected[key]:
            raise _wrong_shape(key, shapes[key])
    refuse_large_set(count, count * places, "locs")


def make_instances(arrays: Mapping[str, NDArray[Any]], stem: str) -> list[Instance]:
    """Make the instances of a set."""
    count = len(arrays["locs"])
    depot, locs, demand = _part_depot(arrays)
    is_apart = arrays.get("capacity", _COLUMN).ndim == 2  # some libraries divide demands but keep the capacity
    demand, capacity = undivide(demand, _read_capacity(arrays, count), is_certain=is_apart)
    coordinates = np.concatenate([depot[:, None], locs], axis=1).astype(np.float64)  # (N, n + 1, 2)
    instances = []
    for index in range(count):
        with placed(partial(_place, index)):
            numbers = (demand[index], capacity[index : index + 1].reshape(()))
            instances.append(instance_from_arrays(coordinates[index], *numbers, f"{stem}-{index + 1}"))
    return instances


def _part_depot(arrays: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Separate depots (N, 2), customers (N, n, 2) and their demands (N, n)."""
    locs, demand = arrays["locs"], arrays["demand"]
    given = arrays["depot"].reshape(len(locs), 2) if "depot" in arrays else None
    if demand.shape[1] == locs.shape[1] - 1:  # the depot is the first location and has no demand
        if given is not None and not np.array_equal(given, locs[:, 0]):
            raise _wrong_shape("demand", demand.shape)
        return locs[:, 0], locs[:, 1:], demand
    if given is None:
        if not demand.shape[1] or (demand[:, 0] != 0).any():
            raise _missing("depot")
        return locs[:, 0], locs[:, 1:], demand[:, 1:]
    if demand.shape[1] == locs.shape[1] + 1:
        if (demand[:, 0] != 0).any():
            raise _wrong_shape("demand", demand.shape)
        return given, locs, demand[:, 1:]
    return given, locs, demand


def _read_capacity(arrays: Mapping[str, NDArray[Any]], count: int) -> NDArray[Any]:
    """Read (N,) capacities; 1 if absent and demands are fractions of it."""
    if "capacity" in arrays:
        return np.broadcast_to(arrays["capacity"].reshape(-1), (count,))
    demand = arrays["demand"]
    if demand.dtype.kind != "f" or (demand == np.floor(demand)).all() or (demand > 1).any():
        raise FormatError.about(
            "capacity",
            "the array capacity is missing.",
            f"Without it, demands must be fractions of it, up to 1; these are not. The arrays are {SHAPES}.",
        )
    return np.ones(count)


def undivide(demand: NDArray[Any], capacity: NDArray[Any], *, is_certain: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Undo a division of demands by capacities, so that both are whole numbers; else return them unchanged.

    Parameters
    ----------
    demand
        (N, n) numbers.
    capacity
        (N,) numbers.
    is_certain
        Whether demands below 1 are known to be fractions of the capacity.
    """
    is_part = demand.dtype.kind == "f" and bool(((demand >= 0) & (demand <= 1)).all() and (demand % 1 != 0).any())
    if not is_part or not (capacity % 1 == 0).all():
        return demand, capacity
    shares = [Decimal(str(share)) for share in np.unique(demand) if share]
    is_rounded = max(map(count_decimals, shares)) >= ROUNDED_DECIMALS
    if (capacity == 1).all():
        # over all instances: the demands of a single one may share a divisor
        is_likely = is_certain or is_rounded or len(shares) >= _FEW
        denominator = find_common_denominator(shares) if is_likely else None
        if denominator is None:
            return demand, capacity  # each instance is scaled separately
        warn_of_input(
            "", f"the demands are multiples of 1/{denominator} of the capacity, and were read as whole numbers."
        )
        return np.rint(demand.astype(np.float64) * denominator).astype(np.int64), np.full(len(demand), denominator)
    wholes = demand.astype(np.float64) * capacity[:, None]
    if (is_certain or is_rounded) and (np.abs(wholes - np.rint(wholes)) <= _FLOATS * np.maximum(wholes, 1)).all():
        warn_of_input("", "the demands are fractions of the capacity, and were multiplied by it.")
        return np.rint(wholes).astype(np.int64), capacity
    return demand, capacity


def _place(index: int, where: Where) -> Where:
    keys = {"demands": "demand", "capacity": "capacity", "coordinates": "depot" if where.customer is None else "locs"}
    key = keys.get(where.field or "")
    return where if key is None else replace(where, field=f"{key}[{index}]")


def _missing(key: str) -> FormatError:
    return FormatError.about(key, f"the array {key} is missing.", f"The arrays are {SHAPES}.")


def _wrong_shape(key: str, shape: tuple[int, ...]) -> FormatError:
    return FormatError.about(key, f"the array {key} has shape {shape}.", f"The shapes are {SHAPES}.")
