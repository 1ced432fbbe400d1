"""Customers that a plan does not serve, and what vehicles lack to serve them, in the words of every file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import LONGEST_ITEM, count_of, show_text
from dynaroute.problem.checks.alternatives import list_alternatives
from dynaroute.problem.fleet import TOLERANCE, name_vehicles
from dynaroute.problem.impossible import explain_alone
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.groups import judge_groups
from dynaroute.problem.judging.route import Violation, judge_route
from dynaroute.problem.solution import Solution
from dynaroute.problem.timetable import earliest_departure, latest_end, measure_excess, measure_route

_LEGS_AT_ONCE = 1_000_000  # bounds the memory

_Seconds = float | NDArray[np.float64]


class Lack(IntEnum):
    """What a vehicle lacks to serve one more customer."""

    NOTHING = 0
    ROOM = 1
    STOPS = 2
    DISTANCE = 3
    TIME = 4


@dataclass(frozen=True)
class Candidate:
    """A vehicle that one more customer may be added to.

    Attributes
    ----------
    kind
        Index of its type.
    stops
        The customers that it serves; none for an unused vehicle.
    route
        The number of its route, from 1; None for an unused vehicle.
    count
        How many vehicles this stands for: 1, or all unused ones of a type, of which there may be any number (1, then).
    """

    kind: int
    stops: tuple[int, ...] = ()
    route: int | None = None
    count: int = 1

    def free(self, instance: Instance) -> int:
        """Its free capacity, in the instance's stored units; below 0 if it is overloaded."""
        return instance.fleet[self.kind].capacities[0] - int(instance.demands[list(self.stops)].sum())


def list_candidates(instance: Instance, solution: Solution) -> Iterator[Candidate]:
    """List the vehicles of all routes, then the types with unused vehicles."""
    kinds = solution.vehicle_types(instance)
    for number, (stops, kind) in enumerate(zip(solution.routes, kinds, strict=True), start=1):
        yield Candidate(kind, stops, number)
    used = Counter(kinds)
    for index, vehicle in enumerate(instance.fleet):
        unused = 1 if vehicle.count is None else vehicle.count - used[index]
        if unused > 0:
            yield Candidate(index, count=unused)


def find_lacks(instance: Instance, candidate: Candidate, customers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find what a vehicle lacks to serve each customer, alone among its present stops, at the best place for it.

    Parameters
    ----------
    instance
        The problem; travel times must be known if times are limited.
    candidate
        The vehicle, with the stops that it keeps in their order.
    customers
        The customers to try, each by itself.

    Returns
    -------
    NDArray[np.int64]
        A `Lack` for each customer.
    """
    kind = instance.fleet[candidate.kind]
    lacks = np.full(len(customers), int(Lack.NOTHING))
    lacks[instance.demands[customers] > candidate.free(instance)] = Lack.ROOM
    if kind.max_stops is not None and len(candidate.stops) >= kind.max_stops:
        lacks[lacks == Lack.NOTHING] = Lack.STOPS
    if kind.max_distance is None and not instance.has_times:
        return lacks
    left = np.flatnonzero(lacks == Lack.NOTHING)
    step = max(1, _LEGS_AT_ONCE // (len(candidate.stops) + 1))
    for begin in range(0, len(left), step):
        part = left[begin : begin + step]
        lacks[part] = _try_places(instance, candidate, customers[part])
    return lacks


def _try_places(instance: Instance, candidate: Candidate, customers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find whether distance or time is lacking at every place of a route."""
    kind = instance.fleet[candidate.kind]
    before, after = np.array([0, *candidate.stops]), np.array([*candidate.stops, 0])
    is_left = np.ones(len(before), dtype=bool)  # which leg out of the new customer is driven
    is_left[-1] = kind.end != "open"
    new = customers[:, None]  # (customers, places)
    is_near = np.ones((len(customers), len(before)), dtype=bool)
    if kind.max_distance is not None:
        extra = instance.leg_lengths(before, new) + is_left * (
            instance.leg_lengths(new, after) - instance.leg_lengths(before, after)
        )
        limit = (
            kind.max_distance - measure_route(instance, candidate.stops, kind) if candidate.stops else kind.max_distance
        )
        is_near = extra <= limit + TOLERANCE
    is_possible = is_near
    if instance.has_times:
        is_possible = is_near & _are_in_time(instance, candidate, new, before, after, is_left)
    lacks = np.where(is_near.any(axis=1), int(Lack.TIME), int(Lack.DISTANCE))
    lacks[is_possible.any(axis=1)] = Lack.NOTHING
    return lacks


def _are_in_time(
    instance: Instance,
    candidate: Candidate,
    new: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    is_left: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Whether a route with one more customer at each place keeps to all times."""
    kind = instance.fleet[candidate.kind]
    stops = [_Times.of_customers(instance, stop) for stop in candidate.stops]
    legs = instance.leg_durations(before, after) * is_left
    heads = [_Times(0.0, 0.0, earliest_departure(instance, kind), np.inf)]  # from the depot to each place
    for stop, leg in zip(stops, legs, strict=False):
        heads.append(heads[-1].then(leg, stop))
    tails = [_Times(0.0, 0.0, 0.0, latest_end(instance, kind))]  # from behind each place to the end
    for stop, leg in zip(reversed(stops), reversed(legs), strict=False):
        tails.append(stop.then(leg, tails[-1]))
    first, last = _Times.of_places(heads), _Times.of_places(tails[::-1])
    whole = first.then(instance.leg_durations(before, new), _Times.of_customers(instance, new))
    whole = whole.then(instance.leg_durations(new, after) * is_left, last)
    longest = np.inf if kind.max_duration is None else kind.max_duration
    return np.asarray((whole.lateness <= TOLERANCE) & (whole.duration <= longest + TOLERANCE))


class _Times(NamedTuple):
    """Times of consecutive stops, in seconds, which two parts of a route can be joined by (Vidal et al., 2013).

    Attributes
    ----------
    duration
        The shortest from the first arrival to the last departure.
    lateness
        The least of all stops together.
    earliest, latest
        When to arrive at the first stop for both.
    """

    duration: _Seconds
    lateness: _Seconds
    earliest: _Seconds
    latest: _Seconds

    @classmethod
    def of_customers(cls, instance: Instance, customers: int | NDArray[np.int64]) -> _Times:
        opens, closes = (0.0, np.inf) if instance.windows is None else np.moveaxis(instance.windows[customers], -1, 0)
        return cls(0.0 if instance.service is None else instance.service[customers], 0.0, opens, closes)

    @classmethod
    def of_places(cls, parts: Sequence[_Times]) -> _Times:
        return cls(*np.array(parts, dtype=np.float64).T)

    def then(self, leg: _Seconds, other: _Times) -> _Times:
        """Join with later stops, after a leg of so many seconds."""
        shift = self.duration - self.lateness + leg
        waiting = np.maximum(other.earliest - shift - self.latest, 0.0)
        lateness = np.maximum(self.earliest + shift - other.latest, 0.0)
        return _Times(
            self.duration + other.duration + leg + waiting,
            self.lateness + other.lateness + lateness,
            np.maximum(other.earliest - shift, self.earliest) - waiting,
            np.minimum(other.latest - shift, self.latest) + lateness,
        )


_MOST_NAMED = 3  # vehicles whose reasons are told, where there are rules
_MOST_LISTED = 100  # customers whose reasons are listed for each vehicle
_MOST_TRIALS, _FEWEST_TRIALS = 10_000, 20  # routes that are judged for all reasons, and for each of them


@dataclass(frozen=True)
class Unserved:
    """A customer on no route.

    Attributes
    ----------
    customer
        Its number.
    reason
        Why no route serves it: part of a sentence, without a capital letter and a full stop.
    """

    customer: int
    reason: str


def count_unserved(number: int) -> str:
    """Write how many customers are not served."""
    return f"{count_of(number, 'customer')} {'is' if number == 1 else 'are'} not served"


def explain_unserved(instance: Instance, solution: Solution, most: int | None = None) -> tuple[Unserved, ...]:
    """Explain why customers are on no route: because of the limits of vehicles, or although there is a place for them.

    Parameters
    ----------
    instance
        The problem.
    solution
        Routes over its customers.
    most
        How many customers to explain, in order; all if None.
    """
    customers = solution.unserved(instance)[:most]
    if not customers:
        return ()
    if instance.rules and (instance.knows_times or not instance.has_times):
        trials = max(_FEWEST_TRIALS, _MOST_TRIALS // len(customers))
        return tuple(
            Unserved(each, "; ".join(_try_alternatives(instance, solution, each, trials)[:_MOST_NAMED]))
            for each in customers
        )
    if instance.has_times and not instance.knows_times:
        return tuple(Unserved(customer, "no route visits it") for customer in customers)
    candidates = list(list_candidates(instance, solution))
    found = [find_lacks(instance, candidate, np.array(customers)).tolist() for candidate in candidates]
    lacks = {
        customer: list(map(Lack, column)) for customer, column in zip(customers, zip(*found, strict=True), strict=True)
    }
    alone = explain_alone(instance, [customer for customer in customers if Lack.NOTHING not in lacks[customer]])
    return tuple(
        Unserved(
            customer,
            f"no vehicle can serve it, even alone: {alone[customer]}"
            if customer in alone
            else _explain(instance, customer, candidates, lacks[customer]),
        )
        for customer in customers
    )


def list_reasons(instance: Instance, solution: Solution) -> dict[int, tuple[str, ...]]:
    """List for each customer on no route what keeps it off each vehicle, in numbers, nearest vehicles first.

    Many vehicles, or many customers, are told together as by `explain_unserved`.

    Parameters
    ----------
    instance
        The problem.
    solution
        Routes over its customers.
    """
    customers = solution.unserved(instance)
    if len(customers) > _MOST_LISTED or (instance.has_times and not instance.knows_times):
        return {each.customer: (each.reason,) for each in explain_unserved(instance, solution)}
    trials = max(_FEWEST_TRIALS, _MOST_TRIALS // max(1, len(customers)))
    return {customer: _try_everywhere(instance, solution, customer, trials) for customer in customers}


def _explain(instance: Instance, customer: int, candidates: Sequence[Candidate], lacks: Sequence[Lack]) -> str:
    """Explain by what each vehicle lacks."""
    counts: Counter[Lack] = Counter()
    free = 0
    for candidate, lack in zip(candidates, lacks, strict=True):
        if lack == Lack.NOTHING:
            return f"the plan leaves it out, although {_call(instance, candidate)} could serve it"
        counts[lack] += candidate.count
        if lack == Lack.ROOM:
            free = max(free, candidate.free(instance))
    demand = instance.shown_demand(int(instance.demands[customer]))
    words = {
        Lack.ROOM: f"too little room (its demand is {demand}, at most {instance.shown_demand(free)} is free)",
        Lack.STOPS: "no stop left",
        Lack.DISTANCE: "too little distance left",
        Lack.TIME: "too little time",
    }
    total = counts.total()
    if len(counts) == 1:
        everyone = {1: "the only vehicle has", 2: "both vehicles have"}.get(total, f"all {total} vehicles have")
        return f"{everyone} {words[next(iter(counts))]}"
    parts = [f"{number} {'has' if number == 1 else 'have'} {words[lack]}" for lack, number in sorted(counts.items())]
    return f"of {total} vehicles, {', '.join(parts[:-1])} and {parts[-1]}"


def _try_alternatives(instance: Instance, solution: Solution, customer: int, trials: int) -> tuple[str, ...]:
    """Explain for each vehicle why it does not serve a customer, or any of several alternatives of an order."""
    groups = list_alternatives(instance.one_of)
    members = next((group for group in groups if customer in group), [customer])
    if instance.is_pickup is not None and instance.partners is not None and len(members) > 1:
        members = [node for node in members if instance.partners[node] == 0 or instance.is_pickup[node]]
    if len(members) == 1:
        return _try_everywhere(instance, solution, customer, trials)
    return tuple(
        f"{instance.called(member)}: {reason}"
        for member in members
        for reason in _try_everywhere(instance, solution, member, max(1, trials // len(members)))
    )


def _try_everywhere(instance: Instance, solution: Solution, customer: int, trials: int) -> tuple[str, ...]:
    """Explain for each vehicle by what goes wrong where the customer does least harm, nearest vehicles first."""
    reasons: list[str] = []
    together = _list_together(instance, customer, set(solution.unserved(instance)))
    judge_with = partial(_judge_others, instance, solution)
    wrong = len(list(judge_groups(instance, solution.routes)))
    named = list(_name_candidates(instance, solution))
    for candidate, name in sorted(named, key=lambda each: _measure_detour(instance, each[0], customer)):
        kind = instance.fleet[candidate.kind]
        before = len(list(judge_route(instance, 0, candidate.stops, kind))) if candidate.stops else 0
        least, fault = (math.inf, math.inf), ""
        for place in range(len(candidate.stops) + 1):
            trials -= 1
            stops = (*candidate.stops[:place], *together, *candidate.stops[place:])
            found, of_others = list(judge_route(instance, 0, stops, kind)), judge_with(candidate, stops)
            if len(found) <= before and len(of_others) <= wrong:
                if instance.optional is not None and instance.optional[customer]:
                    return ("serving it would cost more than leaving it out",)
                return (f"the plan leaves it out, although {_call(instance, candidate)} could serve it",)
            found += of_others
            harm = len(found), measure_excess(instance, stops, candidate.kind)
            if harm < least:
                least, fault = harm, found[-1].message
        said = fault.removeprefix("Route 0 ").removeprefix(f"Route {candidate.route} ").removesuffix(".")
        reasons.append(f"{name}: {said}")
        if trials <= 0:
            break
    return tuple(dict.fromkeys(reasons)) or ("no route visits it",)


def _name_candidates(instance: Instance, solution: Solution) -> Iterator[tuple[Candidate, str]]:
    """Name the vehicles as in the timetable; one that is not used comes after the others of its type."""
    candidates = list(list_candidates(instance, solution))
    names = name_vehicles(instance.fleet, [candidate.kind for candidate in candidates])
    return ((candidate, show_text(name, LONGEST_ITEM)) for candidate, name in zip(candidates, names, strict=True))


def _list_together(instance: Instance, customer: int, missing: set[int]) -> tuple[int, ...]:
    """List the missing stops that are inserted with a customer: both of a shipment, or all of locked legs."""
    partner = 0 if instance.partners is None else int(instance.partners[customer])
    if partner in missing and instance.is_pickup is not None:
        return (customer, partner) if instance.is_pickup[customer] else (partner, customer)
    followers, leaders = dict(instance.locked), {second: first for first, second in instance.locked}
    together = [customer]
    while together[0] in leaders and leaders[together[0]] in missing:
        together.insert(0, leaders[together[0]])
    while together[-1] in followers and followers[together[-1]] in missing:
        together.append(followers[together[-1]])
    return tuple(together)


def _judge_others(
    instance: Instance, solution: Solution, candidate: Candidate, stops: tuple[int, ...]
) -> list[Violation]:
    """Judge what concerns several routes if a vehicle makes these stops."""
    routes = list(solution.routes)
    if candidate.route is None:
        routes.append(stops)
    else:
        routes[candidate.route - 1] = stops
    return list(judge_groups(instance, routes))


def _measure_detour(instance: Instance, candidate: Candidate, customer: int) -> float:
    """Measure how far a customer is from the nearest stop of a vehicle."""
    nodes = [instance.start_nodes[candidate.kind], *candidate.stops]
    return float(instance.leg_lengths(nodes, customer, instance.fleet[candidate.kind].profile).min())


def _call(instance: Instance, candidate: Candidate) -> str:
    if candidate.route is not None:
        return f"route {candidate.route}"
    name = instance.fleet[candidate.kind].name
    return f"another vehicle ({show_text(name, LONGEST_ITEM)})" if name else "another vehicle"
