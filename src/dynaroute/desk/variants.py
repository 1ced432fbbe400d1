"""Problems that differ from a plan's: other numbers of vehicles, windows, skills, limits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.base.errors import OptionError, Where
from dynaroute.desk.visits import find_customer
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_COUNTS = re.compile(r"([0-9]{1,4})(?:\.\.+([0-9]{1,4}))?")
_MOST_COUNTS = 50

VariantKind = Literal["plan", "vehicles", "window", "skill", "vehicle", "time", "capacity", "without"]


@dataclass(frozen=True)
class OtherDay:
    """A problem that differs from a plan's.

    Attributes
    ----------
    name
        What is different, in a planner's words.
    kind
        What it is about.
    instance
        The problem.
    kinds
        For each of the plan's vehicle types its index here; -1 if it is gone. None: the same types.
    """

    name: str
    kind: VariantKind
    instance: Instance
    kinds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Wishes:
    """What a planner wants to know.

    Attributes
    ----------
    vehicles
        Numbers of vehicles to try: "3", "2..5" or, with several types, "Sprinter=2..5".
    without_window
        Ids of customers who might be served at any time.
    window_until
        Ids of customers whose window might end at another time, and that time in seconds.
    promises
        Whether to drop every window, every skill and one vehicle of each type in turn.
    """

    vehicles: tuple[str, ...] = ()
    without_window: tuple[str, ...] = ()
    window_until: tuple[tuple[str, float], ...] = ()
    promises: bool = False


def list_variants(instance: Instance, wishes: Wishes) -> list[OtherDay]:
    """Make the variants that a planner asks for.

    Parameters
    ----------
    instance
        The problem.
    wishes
        What is asked for.

    Raises
    ------
    OptionError
        If nothing is, or it does not fit this problem.
    """
    found = [variant for text in wishes.vehicles for variant in count_vehicles(instance, text)]
    found += [drop_window(instance, name) for name in wishes.without_window]
    found += [close_window(instance, name, until) for name, until in wishes.window_until]
    found += list_promises(instance) if wishes.promises else []
    if not found:
        what = "there is no promise in this plan" if wishes.promises else "there is nothing to try"
        remedy = "Ask for vehicles, a window, or promises: what-if plan.json --vehicles 2..5."
        raise OptionError(f"{what}.", where=Where(field="what-if"), remedy=remedy)
    return found


def count_vehicles(instance: Instance, text: str) -> Iterator[OtherDay]:
    """Make variants with other numbers of vehicles of a type.

    Parameters
    ----------
    instance
        The problem.
    text
        "3", "2..5" or, with several types, "Sprinter=2..5".

    Raises
    ------
    OptionError
        If it is no such text, there is no such type, or there are several and none is named.
    """
    name, _, numbers = text.rpartition("=")
    counts, fleet = _read_counts(numbers.strip()), instance.fleet
    name = name.strip()
    types = [index for index, kind in enumerate(fleet) if kind.name == name] if name else list(range(len(fleet)))
    names = ", ".join(show_text(kind.name, LONGEST_ITEM) for kind in fleet)
    if len(types) != 1:
        what = f"no type of vehicle is called {name!r}" if name else f"there are {len(fleet)} types of vehicles"
        raise OptionError(
            f"{what}.", where=Where(field="vehicles"), remedy=f"Say which: --vehicles TYPE=2..5, of {names}."
        )
    called = fleet[types[0]].name or "vehicle"
    for count in counts:
        fewer = tuple(_limit(kind, count) if index in types else kind for index, kind in enumerate(fleet))
        yield OtherDay(f"{count} x {called}", "vehicles", replace(instance, vehicles=fewer))


def _read_counts(text: str) -> range:
    """Read 3 or 2..5."""
    found = _COUNTS.fullmatch(text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last or last - first >= _MOST_COUNTS:
        message = f"{show_text(text, LONGEST_ITEM)!r} is no number of vehicles."
        raise OptionError(message, where=Where(field="vehicles"), remedy="Write 3, or 2..5 for several numbers.")
    return range(first, last + 1)


def drop_window(instance: Instance, name: str) -> OtherDay:
    """Make the variant in which a customer may be served at any time.

    Parameters
    ----------
    instance
        The problem.
    name
        The customer's id.
    """
    customer = _find_with_window(instance, name)
    return OtherDay(
        f"{instance.customer_name(customer)} at any time", "window", set_windows(instance, [customer], None)
    )


def close_window(instance: Instance, name: str, until: float) -> OtherDay:
    """Make the variant in which a customer's (last) window ends at another time.

    Parameters
    ----------
    instance
        The problem.
    name
        The customer's id.
    until
        Seconds since midnight.
    """
    customer = _find_with_window(instance, name)
    opens = instance.windows_of(customer)[-1][0]
    if until < opens:
        raise OptionError(
            f"{instance.customer_name(customer)} only opens at {instance.shown_time(opens)}.",
            where=Where(field="window_until"),
            remedy="Give a later time.",
        )
    words = f"{instance.customer_name(customer)} until {instance.shown_time(until)}"
    return OtherDay(words, "window", set_windows(instance, [customer], until))


def list_promises(instance: Instance) -> Iterator[OtherDay]:
    """Drop every promise in turn: each window, each skill or choice of vehicles, and one vehicle of each type."""
    for customer in range(1, instance.size + 1):
        if _promises_window(instance, customer):
            yield drop_window(instance, instance.customer_name(customer))
    for customer in range(1, instance.size + 1):
        name = instance.customer_name(customer)
        if instance.skills is not None and instance.skills[customer]:
            skills = ", ".join(sorted(instance.skills[customer]))
            yield OtherDay(f"{name} without {skills}", "skill", _clear_sets(instance, customer, ("skills",)))
        named = ("vehicles_allowed", "vehicles_forbidden")
        if any(rows is not None and rows[customer] for rows in (getattr(instance, field) for field in named)):
            yield OtherDay(f"{name} by any vehicle", "skill", _clear_sets(instance, customer, named))
    for index, kind in enumerate(instance.fleet):
        if kind.count is not None and sum(each.count or 2 for each in instance.fleet) > 1:
            yield _remove_vehicle(instance, index)


def _promises_window(instance: Instance, customer: int) -> bool:
    opening = instance.windows_of(0)
    return any(window not in opening for window in instance.windows_of(customer))


def _find_with_window(instance: Instance, name: str) -> int:
    customer = find_customer(instance, name, "window")
    if not instance.windows_of(customer):
        raise OptionError(
            f"{instance.customer_name(customer)} has no window.", where=Where(field="window"), remedy="Leave it out."
        )
    return customer


def set_windows(instance: Instance, customers: Sequence[int], until: float | None) -> Instance:
    """Open the windows of customers all day, or end their last ones at another time.

    Parameters
    ----------
    instance
        A problem with windows.
    customers
        Their numbers.
    until
        Seconds since midnight; None for all day.
    """
    assert instance.windows is not None
    windows = np.array(instance.windows)
    for customer in customers:
        if until is None:
            windows[customer] = (0.0, math.inf)
            continue
        rows = windows[customer].reshape(-1, 2)
        rows[rows[:, 0] == rows[-1, 0], 1] = until
        windows[customer] = rows.reshape(windows[customer].shape)
    return replace(instance, windows=windows)


def _clear_sets(instance: Instance, customer: int, fields: Sequence[str]) -> Instance:
    changed: dict[str, Any] = {}
    for field in fields:
        rows = getattr(instance, field)
        if rows is not None:
            changed[field] = tuple(frozenset[str]() if node == customer else row for node, row in enumerate(rows))
    return replace(instance, **changed)


def _limit(kind: VehicleType, count: int) -> VehicleType:
    """The type with so many vehicles, of which no more than these must be used."""
    return replace(kind, count=count, min_vehicles=min(kind.min_vehicles, count))


def _remove_vehicle(instance: Instance, index: int) -> OtherDay:
    kind = instance.fleet[index]
    name = f"without one {kind.name or 'vehicle'}"
    if kind.count is not None and kind.count > 1:
        fewer = tuple(
            _limit(each, kind.count - 1) if place == index else each for place, each in enumerate(instance.fleet)
        )
        return OtherDay(name, "vehicle", replace(instance, vehicles=fewer))
    rest = tuple(each for place, each in enumerate(instance.fleet) if place != index)
    kinds = tuple(-1 if place == index else place - (place > index) for place in range(len(instance.fleet)))
    return OtherDay(name, "vehicle", replace(instance, vehicles=rest, **_forget_names(instance, rest)), kinds)


def _forget_names(instance: Instance, fleet: Sequence[VehicleType]) -> dict[str, Any]:
    """Take the names of vehicles that are gone from customers; who wants only those gets a skill that nobody has."""
    known = {kind.name for kind in fleet}
    allowed, forbidden = instance.vehicles_allowed, instance.vehicles_forbidden
    fields: dict[str, Any] = {}
    if forbidden is not None:
        fields["vehicles_forbidden"] = tuple(frozenset(row & known) for row in forbidden)
    if allowed is not None:
        fields["vehicles_allowed"] = tuple(frozenset(row & known) for row in allowed)
        skills = instance.skills or (frozenset[str](),) * len(allowed)
        fields["skills"] = tuple(
            skill | row if row and not row & known else skill for skill, row in zip(skills, allowed, strict=True)
        )
    return fields
