"""Why a customer is where it is: what leaving it out saves, and its best place on every other route."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dynaroute.base.decimals import plain_number
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.desk.visits import find_customer, list_vehicles
from dynaroute.plans.plan import Plan
from dynaroute.problem.fleet import TOLERANCE
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.groups import judge_groups
from dynaroute.problem.judging.route import Violation, judge_route
from dynaroute.problem.timetable import measure_excess, measure_route, price_routes, schedule_route
from dynaroute.problem.unserved import Candidate, list_candidates

_SAME_ANYWHERE = frozenset({"skill", "too_many_stops"})  # violations that no other place on the route avoids


@dataclass(frozen=True)
class Extra:
    """What a change adds to a plan: cost and length in its units, and seconds of work (None if times are unknown)."""

    cost: float
    length: float
    seconds: float | None

    def minus(self, other: Extra) -> Extra:
        """What remains when the other is taken away."""
        seconds = None if self.seconds is None or other.seconds is None else self.seconds - other.seconds
        return Extra(self.cost - other.cost, self.length - other.length, seconds)

    def to_json(self) -> dict[str, object]:
        """Return it as in JSON."""
        return {name: None if value is None else plain_number(value) for name, value in asdict(self).items()}


NOTHING_EXTRA = Extra(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class OtherPlace:
    """The best place for a customer on another route, or why there is none.

    Attributes
    ----------
    vehicle
        The vehicle, named as in the timetable; for an unused one, of its type.
    route, stop
        The route and the stop that the customer would be on it, from 1; no route for an unused vehicle.
    extra
        What the whole plan would gain by moving the customer there; None if it cannot be there.
    reason
        Why it cannot be there: part of a sentence with numbers, for the place where least is wrong.
    """

    vehicle: str
    route: int | None
    stop: int | None
    extra: Extra | None
    reason: str = ""

    @property
    def rank(self) -> tuple[float, float, int]:
        """Order by cost; impossible places come last."""
        return (math.inf if self.extra is None else round(self.extra.cost, 9)), 0.0, self.route or 10**9


@dataclass(frozen=True)
class CustomerExplanation:
    """Where a customer is, and where else it could be.

    Attributes
    ----------
    id
        The customer.
    vehicle, route, stop
        Who serves it, as which stop; None if nobody does.
    together_with
        The other stop of its shipment, which moves with it; empty without one.
    saved
        What leaving it out would save.
    places
        Its best place on every other route, the cheapest first.
    """

    id: str
    vehicle: str | None
    route: int | None
    stop: int | None
    together_with: str
    saved: Extra
    places: tuple[OtherPlace, ...]

    @property
    def best(self) -> OtherPlace | None:
        """The cheapest possible other place."""
        return next((place for place in self.places if place.extra is not None), None)


def explanation_to_json(explanation: CustomerExplanation) -> dict[str, object]:
    """Return an explanation as in ``dynaroute explain --json`` and ``/v1/explain``."""
    return {
        **{key: getattr(explanation, key) for key in ("id", "vehicle", "route", "stop", "together_with")},
        "saved": explanation.saved.to_json(),
        "places": [
            {**asdict(place), "extra": None if place.extra is None else place.extra.to_json()}
            for place in explanation.places
        ],
    }


def explain_customer(plan: Plan, name: str) -> CustomerExplanation:
    """Explain one customer.

    Parameters
    ----------
    plan
        The plan; it may be wrong elsewhere.
    name
        The customer's id.

    Raises
    ------
    OptionError
        If there is no such customer.
    """
    customer = find_customer(plan.instance, name)
    search = _PlaceSearch(plan)
    moving = search.list_moving(customer)
    saved = search.save_by_removing(moving)
    places = [search.find_place(candidate, moving, saved) for candidate in search.list_others(moving)]
    return search.describe(customer, moving, saved, sorted(places, key=lambda place: place.rank))


def explain(plan: Plan, customer: str | None = None) -> tuple[CustomerExplanation, ...]:
    """Explain one customer with its best place on every other route, or all with the cheapest other place of each.

    Parameters
    ----------
    plan
        The plan; it may be wrong elsewhere.
    customer
        The customer's id; None for all.
    """
    return explain_all(plan) if customer is None else (explain_customer(plan, customer),)


def explain_all(plan: Plan, is_time_up: Callable[[], bool] = lambda: False) -> tuple[CustomerExplanation, ...]:
    """Explain every customer, each with its cheapest other place only, or without any if there is none.

    Parameters
    ----------
    plan
        The plan; it may be wrong.
    is_time_up
        Asked before every customer.

    Raises
    ------
    OutOfTimeError
        If the time is up before the last customer.
    """
    search = _PlaceSearch(plan)
    found = []
    for customer in range(1, plan.instance.size + 1):
        if is_time_up():
            raise OutOfTimeError
        moving = search.list_moving(customer)
        saved = search.save_by_removing(moving)
        best = search.find_cheapest(moving, saved)
        found.append(search.describe(customer, moving, saved, [] if best is None else [best]))
    return tuple(found)


class _Spot(NamedTuple):
    """A route with a customer in it: a lower bound of its extra price, the stop, and the route."""

    bound: float
    stop: int
    stops: tuple[int, ...]


@dataclass
class _PlaceSearch:
    """Tries a customer on other routes of a plan."""

    plan: Plan
    _known: dict[tuple[int, ...], tuple[Extra, float, int]] = field(default_factory=dict)

    @property
    def instance(self) -> Instance:
        return self.plan.instance

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The vehicles of all routes, and one of each type that is not all used."""
        found = list(list_candidates(self.instance, self.plan.solution))
        first = {member: alike.members[0] for alike in self.instance.alike_types for member in alike.members}
        unused: dict[int, Candidate] = {}
        for candidate in found:
            if candidate.route is None:
                unused.setdefault(first[candidate.kind], candidate)
        return (*(candidate for candidate in found if candidate.route is not None), *unused.values())

    @cached_property
    def names(self) -> list[str]:
        return list_vehicles(self.plan)

    @cached_property
    def group_faults(self) -> int:
        return len(list(judge_groups(self.instance, self.plan.solution.routes)))

    def list_moving(self, customer: int) -> tuple[int, ...]:
        """List the customer, or both stops of its shipment, the pickup first."""
        instance = self.instance
        if instance.partners is None or instance.is_pickup is None or not instance.partners[customer]:
            return (customer,)
        partner = int(instance.partners[customer])
        return (customer, partner) if instance.is_pickup[customer] else (partner, customer)

    def find_own(self, moving: Sequence[int]) -> Candidate | None:
        """Find the route that a customer is on."""
        return next((each for each in self.candidates if not set(each.stops).isdisjoint(moving)), None)

    def list_others(self, moving: Sequence[int]) -> list[Candidate]:
        """List all routes but the customer's own, and unused vehicles."""
        own = self.find_own(moving)
        return [candidate for candidate in self.candidates if candidate is not own]

    def measure(self, stops: tuple[int, ...], kind: int) -> Extra:
        """Measure a whole route; nothing for none."""
        if not any(0 < node <= self.instance.size for node in stops):
            return NOTHING_EXTRA if self.instance.knows_times else replace(NOTHING_EXTRA, seconds=None)
        seconds = schedule_route(self.instance, stops, kind).duration if self.instance.knows_times else None
        length = measure_route(self.instance, stops, self.instance.fleet[kind])
        return Extra(price_routes(self.instance, [stops], [kind])[0], length, seconds)

    def save_by_removing(self, moving: Sequence[int]) -> Extra:
        """Find what the customer's own route saves without it."""
        own = self.find_own(moving)
        if own is None:
            return self.measure((), 0)
        rest = tuple(node for node in own.stops if node not in moving)
        return self.measure(own.stops, own.kind).minus(self.measure(rest, own.kind))

    def find_place(self, candidate: Candidate, moving: Sequence[int], saved: Extra) -> OtherPlace:
        """Find the best place on a route, or where least is wrong."""
        fixed = self.find_fixed(moving)
        place = None if fixed else self._try_spots(candidate, moving, saved, math.inf)
        reason = fixed or ("" if place else self._say_why(candidate, moving))
        return place or OtherPlace(self._call(candidate), candidate.route, None, None, reason)

    def find_cheapest(self, moving: Sequence[int], saved: Extra) -> OtherPlace | None:
        """Find the cheapest place on any other route, without looking where it cannot be."""
        others = [] if self.find_fixed(moving) else self.list_others(moving)
        bounds = {id(each): min(spot.bound for spot in self._list_spots(each, moving)) for each in others}
        best: OtherPlace | None = None
        for candidate in sorted(others, key=lambda each: bounds[id(each)]):
            most = math.inf if best is None or best.extra is None else best.extra.cost + saved.cost
            if bounds[id(candidate)] >= most:
                break
            best = self._try_spots(candidate, moving, saved, most) or best
        return best

    def find_fixed(self, moving: Sequence[int]) -> str:
        """Say why a customer must stay: its route has begun with it, or would be wrong without it; empty if not."""
        own = self.find_own(moving)
        if own is None or own.route is None:
            return ""
        kind, name = self.instance.fleet[own.kind], self.names[own.route - 1]
        if not set(kind.beginning).isdisjoint(moving):
            return f"{name} has begun its route with it"
        rest = tuple(node for node in own.stops if node not in moving)
        faults = list(judge_route(self.instance, own.route, rest, kind)) if rest else []
        before = len(list(judge_route(self.instance, own.route, own.stops, kind))) if faults else 0
        fault = faults[-1].message.removeprefix(f"Route {own.route} ").removesuffix(".") if faults else ""
        return f"without it {name} {fault}" if len(faults) > before else ""

    def describe(
        self, customer: int, moving: Sequence[int], saved: Extra, places: Sequence[OtherPlace]
    ) -> CustomerExplanation:
        """Put an explanation together."""
        own = self.find_own(moving)
        others = [self.instance.customer_name(node) for node in moving if node != customer]
        is_there = own is not None and customer in own.stops
        return CustomerExplanation(
            self.instance.customer_name(customer),
            None if own is None or own.route is None else self.names[own.route - 1],
            None if own is None else own.route,
            own.stops.index(customer) + 1 if own is not None and is_there else None,
            "".join(others),
            saved,
            tuple(places),
        )

    def _try_spots(self, candidate: Candidate, moving: Sequence[int], saved: Extra, most: float) -> OtherPlace | None:
        """Find the cheapest possible place on a route that costs less than `most`; None if there is none."""
        before, excess, faults = self._judge_before(candidate)
        best: OtherPlace | None = None
        for spot in sorted(self._list_spots(candidate, moving)):
            if spot.bound >= most:
                break
            if measure_excess(self.instance, spot.stops, candidate.kind) > excess + TOLERANCE:
                continue
            found = list(self._judge(candidate, spot.stops))
            if len(found) > faults:
                if any(each.kind in _SAME_ANYWHERE for each in found):
                    break
                continue
            extra = self.measure(spot.stops, candidate.kind).minus(before)
            if extra.cost < most:
                most = extra.cost
                best = OtherPlace(self._call(candidate), candidate.route, spot.stop, extra.minus(saved))
        return best

    def _say_why(self, candidate: Candidate, moving: Sequence[int]) -> str:
        """Say what is wrong at the place where least is."""
        _, _, faults = self._judge_before(candidate)
        least: tuple[int, float, float] | None = None
        words: Sequence[Violation] = ()
        for spot in sorted(self._list_spots(candidate, moving)):
            found = list(self._judge(candidate, spot.stops))
            harm = len(found), measure_excess(self.instance, spot.stops, candidate.kind), spot.bound
            if least is None or harm < least:
                least, words = harm, found
            if any(each.kind in _SAME_ANYWHERE for each in found):
                break
        before = {each.message for each in self._judge(candidate, candidate.stops)} if faults else set()
        new = [each for each in words if each.message not in before] or words
        number = f"Route {candidate.route or 0} "
        return "; ".join(each.message.removeprefix(number).removesuffix(".") for each in new[:2])

    def _judge_before(self, candidate: Candidate) -> tuple[Extra, float, int]:
        """Measure and judge a route as it is."""
        key = (candidate.kind, *candidate.stops)
        if key not in self._known:
            is_driven = bool(candidate.stops)
            self._known[key] = (
                self.measure(candidate.stops, candidate.kind),
                measure_excess(self.instance, candidate.stops, candidate.kind) if is_driven else 0.0,
                len(list(self._judge(candidate, candidate.stops))) if is_driven else 0,
            )
        return self._known[key]

    def _judge(self, candidate: Candidate, stops: Sequence[int]) -> Iterator[Violation]:
        """Judge a route, and the groups that it changes, by the independent checker."""
        yield from judge_route(self.instance, candidate.route or 0, stops, self.instance.fleet[candidate.kind])
        instance = self.instance
        if instance.rules.isdisjoint(("same_vehicle", "not_together", "one_of", "locked")):
            return
        moved = set(stops)
        routes = [
            stops if number == candidate.route else [node for node in route if node not in moved]
            for number, route in enumerate(self.plan.solution.routes, start=1)
        ]
        found = list(judge_groups(self.instance, [*routes, *([stops] if candidate.route is None else [])]))
        yield from found if len(found) > self.group_faults else ()

    def _list_spots(self, candidate: Candidate, moving: Sequence[int]) -> list[_Spot]:
        """List all places on a route with a lower bound of their price."""
        stops, vehicle = candidate.stops, self.instance.fleet[candidate.kind]
        if len(moving) == 1:
            (customer,) = moving
            longer = [(*stops[:place], customer, *stops[place:]) for place in range(len(stops) + 1)]
            lengths = self._measure_detours(candidate, customer)
        else:
            longer = [_insert_pair(stops, moving, *places) for places in _list_pairs_of_places(len(stops))]
            before = measure_route(self.instance, stops, vehicle) if stops else 0.0
            lengths = [measure_route(self.instance, each, vehicle) - before for each in longer]
        price = vehicle.distance_cost if self.instance.is_priced else 1.0
        fixed = vehicle.fixed_cost if not stops else 0.0
        # where detours may be quicker, or times have choices, one more stop might shorten the work
        is_timed = vehicle.time_cost > 0 or vehicle.overtime is not None or self.instance.late_costs is not None
        has_choices = "windows" in self.instance.rules or bool(vehicle.breaks)
        has_bound = not is_timed or (self.instance.durations is None and not has_choices)
        has_bound &= self.instance.compactness == 0  # another stop may be a better centre
        has_bound &= not is_timed or "speed_by_hour" not in self.instance.rules
        return [
            _Spot(fixed + price * length if has_bound else -math.inf, each.index(moving[0]) + 1, each)
            for each, length in zip(longer, lengths, strict=True)
        ]

    def _measure_detours(self, candidate: Candidate, customer: int) -> list[float]:
        instance, kind = self.instance, candidate.kind
        end = instance.end_nodes[kind]
        before = np.array([instance.start_nodes[kind], *candidate.stops])
        after = np.array([*candidate.stops, max(end, 0)])
        profile = instance.fleet[kind].profile
        detours = instance.leg_lengths(before, customer, profile)
        is_driven = np.ones(len(before), dtype=bool)
        is_driven[-1] = end >= 0
        known = instance.leg_lengths(before, after, profile) if candidate.stops else 0.0
        back = instance.leg_lengths(customer, after, profile) - known
        return [float(length) for length in detours + np.where(is_driven, back, 0.0)]

    def _call(self, candidate: Candidate) -> str:
        if candidate.route is not None:
            return self.names[candidate.route - 1]
        name = self.instance.fleet[candidate.kind].name
        return f"another {name}" if name else "another vehicle"


def _list_pairs_of_places(count: int) -> Iterator[tuple[int, int]]:
    return ((first, second) for first in range(count + 1) for second in range(first, count + 1))


def _insert_pair(stops: Sequence[int], pair: Sequence[int], first: int, second: int) -> tuple[int, ...]:
    return (*stops[:first], pair[0], *stops[first:second], pair[1], *stops[second:])
