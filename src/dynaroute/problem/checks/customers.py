"""Validation of what customers ask for beyond demand, service and one window. None: no customer asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import InstanceError
from dynaroute.problem.checks.fields import node_words, read_floats, refuse_first, refuse_where
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.places import DEPOT, Place
from dynaroute.problem.working_day import read_amount

_MOST_PRIORITY = 100


def _one_each(values: object, count: int, field: str) -> NDArray[np.float64]:
    array = read_floats(values, field)
    if array.shape != (count + 1,):
        message = f"{field} has shape {array.shape}, not {(count + 1,)}."
        raise InstanceError.about(field, message, "Give one value for the depot and one per customer.")
    return array


def read_amounts_or_infinity(values: object, count: int, field: str) -> NDArray[np.float64] | None:
    """Read (n + 1,) numbers of 0 or more; infinity means that there is none, and so does the depot's."""
    array = _one_each(values, count, field)
    array[0] = np.inf
    refuse_where(np.isnan(array) | (array < 0), field, "not a number of 0 or more", "Give one, or infinity for none.")
    return array if np.isfinite(array).any() else None


def read_priorities(values: object, count: int) -> NDArray[np.float64] | None:
    """Read (n + 1,) numbers from 0 to 100; nan means that there is none."""
    array = _one_each(values, count, "priorities")
    array[0] = np.nan
    refuse_where((array < 0) | (array > _MOST_PRIORITY), "priorities", "not from 0 to 100", "Higher is more urgent.")
    return None if np.isnan(array).all() else array


def read_release(values: object, count: int) -> NDArray[np.float64] | None:
    """Read (n + 1,) seconds of 0 or more."""
    array = _one_each(values, count, "release")
    array[0] = 0.0
    refuse_where(~np.isfinite(array) | (array < 0), "release", "not a time of 0 or later", "Give seconds.")
    return array if array.any() else None


def read_several_windows(
    values: object, count: int, show_time: Callable[[float], str], read_one: Callable[..., NDArray[np.float64] | None]
) -> NDArray[np.float64] | None:
    """Read (n + 1, 2) or (n + 1, w, 2) seconds; the windows of a node follow each other, and the last may repeat.

    Returns
    -------
    NDArray[np.float64] | None
        (n + 1, 2) where no node has more than one.
    """
    windows = read_floats(values, "windows")
    if windows.ndim != 3 or windows.shape[1] == 0:
        return read_one(values, count, show_time)
    for column in range(windows.shape[1]):
        read_one(windows[:, column], count, show_time)
    before, after = windows[:, :-1], windows[:, 1:]
    is_repeated = (before == after).all(axis=2)
    refuse_first(
        ((after[..., 0] <= before[..., 1]) & ~is_repeated).any(axis=1),
        "windows",
        lambda node: f"the windows of {node_words(node)} overlap or are not in order.",
        "Give them one after the other.",
    )
    if not is_repeated[0].all():
        raise InstanceError.about("windows", "the depot has several windows.", "Give it one.")
    if is_repeated.all():
        return read_one(windows[:, 0], count, show_time)
    return windows


def read_partners(values: object, count: int) -> NDArray[np.intp] | None:
    """Read (n + 1,) customers: each pair points to each other, and 0 means none."""
    array = _one_each(values, count, "partners")
    refuse_where((array != np.floor(array)) | (array < 0) | (array > count), "partners", "no customer", "Give 1 to n.")
    partners = array.astype(np.intp)
    if not partners.any():
        return None
    nodes = np.arange(count + 1)
    is_alone = (partners > 0) & ((partners[partners] != nodes) | (partners == nodes))
    refuse_first(
        is_alone,
        "partners",
        lambda node: f"{node_words(node)} is paired with customer {partners[node]}, who is not paired with it.",
        "Pair each pickup with one delivery.",
    )
    return partners


def find_pickups(
    partners: NDArray[np.intp], demands: NDArray[np.int64], pickups: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Find which stops of shipments are pickups: they collect what their partners deliver.

    Of two stops without an amount, the one with the lower number is the pickup.
    """
    nodes = np.arange(len(partners))
    delivered = demands.reshape(len(nodes), -1)
    collected = np.zeros_like(delivered) if pickups is None else pickups.reshape(len(nodes), -1)
    is_empty = ~(delivered.any(axis=1) | collected.any(axis=1))
    is_pickup: NDArray[np.bool_] = (partners > 0) & np.where(is_empty, nodes < partners, collected.any(axis=1))
    is_paired = partners > 0
    is_wrong = is_paired & (
        (delivered != collected[partners]).any(axis=1) | (delivered.any(axis=1) & collected.any(axis=1))
    )
    refuse_first(
        is_wrong,
        "partners",
        lambda node: f"the amounts of {node_words(node)} and customer {partners[node]} differ.",
        "A shipment is a pickup and a demand of the same amount.",
    )
    return is_pickup


def read_buffer(value: Any, windows: NDArray[np.float64] | None) -> float:
    """Read seconds before the end of windows, which are not more than a customer's window has."""
    buffer = read_amount(value, "buffer")
    if windows is not None:
        given = windows[1:].reshape(len(windows) - 1, -1, 2)
        refuse_first(
            np.append(False, (given[..., 1] - given[..., 0] < buffer).any(axis=1)),
            "buffer",
            lambda node: f"a window of {node_words(node)} is shorter than the buffer.",
            "Give a shorter buffer, or a longer window.",
        )
    return buffer


def read_lifo(values: object, is_pickup: NDArray[np.bool_] | None, count: int) -> NDArray[np.bool_] | None:
    """Read (n + 1,) truth values of pickups."""
    truths = np.asarray(values)
    array = _one_each(truths.astype(np.float64) if truths.dtype == np.bool_ else truths, count, "lifo") > 0
    known = np.zeros(count + 1, dtype=bool) if is_pickup is None else is_pickup
    refuse_where(array & ~known, "lifo", "not that of a shipment's pickup", "Give it to the pickup.")
    return array if array.any() else None


def read_labels(values: Any, count: int, field: str) -> tuple[str, ...] | None:
    """Read a label for each node, the empty one for none."""
    labels = tuple(values) if isinstance(values, tuple | list) else ()
    if len(labels) != count + 1 or not all(isinstance(label, str) for label in labels):
        message = f"{field} is not a list of {count + 1} texts."
        raise InstanceError.about(field, message, "Give an empty text for the depot and a label per customer.")
    labels = ("", *(label.strip() for label in labels[1:]))
    return labels if any(labels) else None


def read_word_sets(values: Any, count: int, field: str) -> tuple[frozenset[str], ...] | None:
    """Read a set of words for each node."""
    rows = tuple(values) if isinstance(values, tuple | list) else ()
    is_right = len(rows) == count + 1 and all(isinstance(row, set | frozenset | tuple | list) for row in rows)
    if not is_right or not all(isinstance(word, str) and word for row in rows for word in row):
        message = f"{field} is not a list of {count + 1} sets of texts."
        raise InstanceError.about(field, message, "Give an empty set for the depot and one per customer.")
    sets = (frozenset[str](), *(frozenset(row) for row in rows[1:]))
    return sets if any(sets) else None


def refuse_unknown_vehicles(sets: Sequence[frozenset[str]] | None, vehicles: Sequence[VehicleType], field: str) -> None:
    """Raise if a customer names a vehicle type that is not there."""
    known = {kind.name for kind in vehicles if kind.name}
    for customer, names in enumerate(sets or ()):
        if unknown := sorted(names - known):
            message = f"customer {customer} names the vehicle {unknown[0]!r}, but there is none."
            raise InstanceError.about(
                field, message, f"Vehicles are {show_list(sorted(known)) or 'nameless'}.", customer
            )


def refuse_unknown_places(vehicles: Sequence[VehicleType], places: Sequence[Place]) -> None:
    """Raise if a vehicle starts, ends or loads again at a place that is not there."""
    known = {DEPOT, *(place.name for place in places)}
    for kind in vehicles:
        ends = () if kind.end == "open" else (kind.end,)
        for field, names in (("start", (kind.start,)), ("end", ends), ("reload", kind.reload)):
            if unknown := [name for name in names if name not in known]:
                open_end = " or open" if field == "end" else ""
                message = f"the {field} {unknown[0]!r} is unknown."
                raise InstanceError.about(field, message, f"Use {show_list(sorted(known))}{open_end}.")


def refuse_other_dimensions(vehicles: Sequence[VehicleType], dimensions: int) -> None:
    """Raise if a capacity has another number of dimensions than the demands."""
    for kind in vehicles:
        if len(kind.capacities) != dimensions:
            message = f"the capacity has {len(kind.capacities)} dimensions, but demands have {dimensions}."
            raise InstanceError.about("capacity", message, "Give one capacity for each dimension.")
