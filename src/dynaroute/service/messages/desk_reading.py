"""Reading requests about plans: comparing, explaining, other days, and a day that changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dynaroute.base.errors import FormatError, gather_notes
from dynaroute.desk.relaxing import list_relaxations
from dynaroute.desk.replanning import USUAL_TIME_LIMIT
from dynaroute.desk.trying import USUAL_SECONDS
from dynaroute.desk.variants import OtherDay, Wishes, list_variants
from dynaroute.formats.json.document import read_number, require, require_list, require_object
from dynaroute.formats.json.times import read_seconds
from dynaroute.plans.plan import Plan
from dynaroute.problem.instance import Instance
from dynaroute.search.rules import refuse_unsearched_rules
from dynaroute.service.messages.desk_schemas import MOST_VARIANTS
from dynaroute.service.messages.reading import read_instance_of, read_plan_of, read_request
from dynaroute.service.messages.refusals import make_large_error
from dynaroute.service.messages.request_schemas import MOST_NEW_CUSTOMERS
from dynaroute.service.messages.sizes import ReadingLimits


@dataclass(frozen=True)
class ExplanationWanted:
    """A plan to explain, and the customer it is about; None for all."""

    plan: Plan
    customer: str | None


@dataclass(frozen=True)
class DayToExplain:
    """A day without a plan, and the seconds of each search for it."""

    instance: Instance
    seconds: float
    searches: int


@dataclass(frozen=True)
class WhatIfWanted:
    """A plan, what might be different, and the seconds of each search."""

    plan: Plan
    variants: tuple[OtherDay, ...]
    seconds: float


@dataclass(frozen=True)
class DayChangeWanted:
    """A plan, what happens during the day, and the seconds of the search."""

    plan: Plan
    now: float
    cancel: tuple[str, ...]
    add: tuple[object, ...]
    broken: tuple[str, ...]
    change_cost: float | None
    seconds: float
    notes: tuple[str, ...]


def read_two_plans(body: bytes, content_type: str, limits: ReadingLimits) -> tuple[Plan, Plan]:
    """Read the two plans of a body."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("before", "after"))
    with gather_notes():  # they are about faults that the plans state themselves
        return read_plan_of(document, "before", limits), read_plan_of(document, "after", limits)


def read_explanation(
    body: bytes, content_type: str, limits: ReadingLimits, longest: float
) -> ExplanationWanted | DayToExplain:
    """Read a plan and perhaps the id of a customer, or a day, whose searches together may take `longest` seconds."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("plan", "id", "day", "time_limit"))
    if document.get("day") is not None:
        return _read_day(document, limits, longest)
    if document.get("time_limit") is not None:
        raise FormatError.about("time_limit", "a plan is explained without a search.", "Leave it out, or give a day.")
    customer = document.get("id")
    if customer is not None and not isinstance(customer, str):
        raise FormatError.about("id", "this is not an id.", "Write the customer's id as a text, or leave it out.")
    with gather_notes():
        return ExplanationWanted(read_plan_of(document, "plan", limits), customer)


def _read_day(document: Mapping[str, object], limits: ReadingLimits, longest: float) -> DayToExplain:
    for key in ("plan", "id"):
        if document.get(key) is not None:
            raise FormatError.about(key, "this does not go with a day.", "Give a plan, or a day without one.")
    with gather_notes():
        instance = read_instance_of(document, "day", limits)
    refuse_unsearched_rules(instance)
    searches = 1 + len(list_relaxations(instance))
    if searches > MOST_VARIANTS:
        raise make_large_error(f"{searches} searches are more than the limit of {MOST_VARIANTS}.")
    return DayToExplain(instance, _read_time_limit(document, longest / searches), searches)


def read_what_if(body: bytes, content_type: str, limits: ReadingLimits, longest: float) -> WhatIfWanted:
    """Read a plan and what might be different; all searches together may take `longest` seconds."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("plan", "vehicles", "without_window", "window_until", "promises", "time_limit"))
    promises = document.get("promises")
    if not (promises is None or isinstance(promises, bool)):
        raise FormatError.about("promises", "the promises are asked for by true.", "Write true, or leave it out.")
    until = require_object(document.get("window_until") or {}, "window_until")
    wishes = Wishes(
        _read_texts(document, "vehicles"),
        _read_texts(document, "without_window"),
        tuple((name, read_seconds(time, f"window_until.{name}", math.inf)) for name, time in until.items()),
        bool(promises),
    )
    with gather_notes():
        plan = read_plan_of(document, "plan", limits)
    variants = list_variants(plan.instance, wishes)
    if len(variants) > MOST_VARIANTS:
        raise make_large_error(f"there are {len(variants)} variants, more than the limit of {MOST_VARIANTS}.")
    seconds = _read_time_limit(document, longest / (len(variants) + 1))
    return WhatIfWanted(plan, tuple(variants), seconds)


def read_day_change(body: bytes, content_type: str, limits: ReadingLimits, longest: float) -> DayChangeWanted:
    """Read a plan and what happens during the day; the search may take `longest` seconds."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("plan", "now", "cancel", "add", "broken", "change_cost", "time_limit"))
    now = read_seconds(require(document, "now", ""), "now", math.nan)
    if not math.isfinite(now):
        raise FormatError.about("now", "the time is missing.", "Write it such as 10:00.")
    customers = _read_list(document, "add")
    if len(customers) > MOST_NEW_CUSTOMERS:
        raise make_large_error(f"there are {len(customers)} new customers, more than {MOST_NEW_CUSTOMERS}.", "add")
    limits.refuse_large_document({"customers": customers})
    price = document.get("change_cost")
    cost = None if price is None else float(read_number(price, "change_cost"))
    if cost is not None and not 0 <= cost < math.inf:
        raise FormatError.about("change_cost", "the price is below 0 or too large.", "Give 0 or more.")
    with gather_notes() as notes:
        plan = read_plan_of(document, "plan", limits, len(customers))
    return DayChangeWanted(
        plan,
        now,
        _read_texts(document, "cancel"),
        tuple(customers),
        _read_texts(document, "broken"),
        cost,
        _read_time_limit(document, longest, USUAL_TIME_LIMIT),
        tuple(notes),
    )


def _read_time_limit(document: Mapping[str, object], longest: float, usual: float = USUAL_SECONDS) -> float:
    """Read the seconds of each search."""
    if document.get("time_limit") is None:
        return min(usual, longest)
    seconds = float(read_number(document["time_limit"], "time_limit"))
    if not 0 < seconds <= longest:
        message = f"the time limit {seconds:g} s is not above 0 and at most {longest:.3g} s, for all searches together."
        raise FormatError.about("time_limit", message, "Give less time, or ask for fewer variants.")
    return seconds


def _read_texts(document: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = _read_list(document, key)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise FormatError.about(f"{key}[{index}]", "this is not a text.", "Write it in quotation marks.")
    return tuple(str(value) for value in values)


def _read_list(document: Mapping[str, object], key: str) -> list[object]:
    """Read a list that may be left out or null."""
    value = document.get(key)
    return [] if value is None else require_list(value, key)


def _refuse_other_keys(document: Collection[str], known: Collection[str]) -> None:
    for key in document:
        if key not in known:
            raise FormatError.about(key, "there is no such key.", f"Give {', '.join(known)}.")
