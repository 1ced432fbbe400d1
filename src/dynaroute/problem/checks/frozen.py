"""Validation of what a plan before fixes: beginnings of routes, legs, and the vehicles that customers are used to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError
from dynaroute.problem.checks.fields import node_words, read_floats, refuse_first, refuse_where
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.places import DEPOT, Place
from dynaroute.problem.working_day import Balance, read_amount


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
