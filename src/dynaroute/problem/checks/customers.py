"""Validation of what customers ask for beyond demand, service and one window, and of what a plan before fixes.

None: no customer asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import InstanceError
from dynaroute.problem.checks.fields import node_words, read_floats, refuse_first, refuse_where
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.places import DEPOT, Place
from dynaroute.problem.working_day import Balance, read_amount

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


def find_optional(prizes: object, priorities: object, count: int) -> NDArray[np.bool_]:
    """Find who may be left out, (n + 1,); values that cannot be read are refused elsewhere."""
    is_optional = np.zeros(count + 1, dtype=np.bool_)
    for values, is_given in ((prizes, np.isfinite), (priorities, lambda array: ~np.isnan(array))):
        with suppress(TypeError, ValueError):
            array = np.asarray(values, dtype=np.float64)
            if array.shape == is_optional.shape:
                is_optional |= is_given(array)
    return is_optional


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


def read_locked(values: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Read pairs of customers; none has two followers or two before it, and none comes after itself."""
    listed = values if isinstance(values, tuple | list) else [()]
    pairs = [tuple(pair) if isinstance(pair, tuple | list) else () for pair in listed]
    if not all(len(pair) == 2 and all(_is_customer(node, count) for node in pair) for pair in pairs):
        message = f"{values!r} is not a list of pairs of customers."
        raise InstanceError.about("locked", message, f"Give pairs of numbers from 1 to {count}.")
    followers = {int(first): int(second) for first, second in pairs}
    for number, place in ((0, "followed by"), (1, "preceded by")):
        node, times = next(iter(Counter(pair[number] for pair in pairs).most_common(1)), (0, 0))
        if times > 1:
            message = f"{node_words(node)} is {place} two customers."
            raise InstanceError.about("locked", message, "Lock one leg to and one from each customer.", int(node))
    for first in followers:
        node, passed = followers[first], {first}
        while node in followers and node not in passed:
            passed.add(node)
            node = followers[node]
        if node in passed:
            message = f"locked legs lead from {node_words(node)} back to it."
            raise InstanceError.about("locked", message, "Leave one of them out.", node)
    return tuple(followers.items())


def refuse_beginnings(
    fleet: Sequence[VehicleType], count: int, places: Sequence[Place], locked: Sequence[tuple[int, int]]
) -> None:
    """Raise if a route begins with a stop that is not there, is on two routes, or contradicts a locked leg."""
    names = [DEPOT, *("",) * count, *(place.name for place in places)]
    followers, leaders = dict(locked), {second: first for first, second in locked}
    known: set[int] = set()
    for kind in fleet:
        for node in kind.beginning:
            is_reload = node < len(names) and names[node] in kind.reload
            if not _is_customer(node, count) and not is_reload:
                message = f"a route begins with the stop {node}, which is no customer, and no place to load again."
                raise InstanceError.about("beginning", message, f"Customers are 1 to {count}.")
            if node in known and not is_reload:
                message = f"routes begin with {node_words(node)} twice."
                raise InstanceError.about("beginning", message, "A customer is on one route.", node)
            known.add(node)
        for before, after in pairwise((0, *kind.beginning)):
            if followers.get(before, after) != after or leaders.get(after, before) != before:
                message = f"a route begins with {node_words(after)} after {node_words(before)}, against a locked leg."
                raise InstanceError.about("beginning", message, "Leave the locked leg out.", after)


def read_usual_vehicles(values: object, count: int, fleet: Sequence[VehicleType]) -> NDArray[np.intp] | None:
    """Read (n + 1,) indices of vehicle types; -1 means none, and so does the depot's."""
    array = read_floats(values, "usual_vehicles")
    if array.shape != (count + 1,):
        message = f"usual_vehicles has shape {array.shape}, not {(count + 1,)}."
        raise InstanceError.about("usual_vehicles", message, "Give one value for the depot and one per customer.")
    array[0] = -1
    is_wrong = (array != np.floor(array)) | (array < -1) | (array >= len(fleet))
    refuse_where(is_wrong, "usual_vehicles", "no vehicle type", f"Give 0 to {len(fleet) - 1}, or -1 for none.")
    usual = array.astype(np.intp)
    is_twin = np.array([*(fleet.count(kind) > 1 for kind in fleet), False])  # the last is for -1
    refuse_first(
        is_twin[usual],
        "usual_vehicles",
        lambda node: f"the usual vehicle of {node_words(node)} is like another one.",
        "Give vehicle types names of their own.",
    )
    return None if (usual < 0).all() else usual


def read_change_cost(value: Any) -> float:
    """Read the price of a customer who is served by another vehicle than before."""
    return read_amount(value, "change_cost")


def read_balance(value: Any) -> Balance | None:
    """Read a balance of work; None if it has no weight."""
    if value is not None and not isinstance(value, Balance):
        raise InstanceError.about("balance", f"{value!r} is no Balance.", "Give a Balance, or leave it out.")
    return value if value is not None and value.weight > 0 else None


def _is_customer(node: object, count: int) -> bool:
    is_whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
    return is_whole and 1 <= int(node) <= count  # type: ignore[call-overload]
