"""A day that changes: the rest of a plan is searched again, and what has happened stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynaroute.base.display import count_of, show_list
from dynaroute.base.errors import OptionError, Where
from dynaroute.desk.changed_day import ChangedDay, change_day
from dynaroute.desk.comparing import PlanComparison, StopChange, compare_by_name, comparison_to_json
from dynaroute.desk.progress import VehicleProgress, follow_vehicles
from dynaroute.desk.visits import find_customer, list_orders
from dynaroute.plans.changes.additions import Customers, extend_instance
from dynaroute.plans.files.json import plan_to_json
from dynaroute.plans.plan import Plan
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.statements import Statements
from dynaroute.problem.unserved import explain_unserved
from dynaroute.solving.solve import solve

CALL_AFTER = 15 * 60.0  # seconds by which a customer's arrival changes so much that somebody has to call
USUAL_TIME_LIMIT = 5.0
_CHANGE_SHARE = 0.5  # of what a customer costs on average: the usual price of a change


@dataclass(frozen=True)
class Replanned:
    """A plan of the whole day, with what has happened and what comes now.

    Attributes
    ----------
    plan
        The plan. It holds every vehicle by its name.
    comparison
        The plan before and this one, stop by stop.
    now
        From when on it is new.
    cancelled, added
        Ids of customers.
    faults
        What is wrong with it, if the day cannot be done as wanted.
    reasons
        For every customer on no route why.
    messages
        What else a planner has to know.
    seconds
        How long the search took.
    before
        The plan before.
    """

    plan: Plan
    comparison: PlanComparison
    now: float
    cancelled: tuple[str, ...]
    added: tuple[str, ...]
    faults: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...]
    messages: tuple[str, ...]
    seconds: float
    before: Plan

    @property
    def changes(self) -> tuple[StopChange, ...]:
        """Customers who are served by another vehicle or at another minute, or come or go."""
        return tuple(change for change in self.comparison.changes if change.is_different)

    @property
    def customers_to_call(self) -> tuple[str, ...]:
        """Customers whose arrival changes by a quarter of an hour or more, who are new, or whom nobody serves now."""
        return tuple(
            change.id
            for change in self.comparison.changes
            if (change.before is None and change.after is not None and change.id in self.added)
            or (change.before is not None and change.after is None and change.id not in self.cancelled)
            or abs(change.seconds or 0.0) >= CALL_AFTER
        )

    @property
    def drivers_to_call(self) -> tuple[str, ...]:
        """Vehicles whose remaining stops, or their order, are not what they were."""
        before, after = list_orders(self.before), list_orders(self.plan)
        return tuple(name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name))


def replan(
    plan: Plan,
    *,
    now: float,
    cancel: Sequence[str] = (),
    add: Customers = (),
    broken: Sequence[str] = (),
    change_cost: float | None = None,
    time_limit: float = USUAL_TIME_LIMIT,
    seed: int = 0,
    is_cancelled: Callable[[], bool] | None = None,
) -> Replanned:
    """Plan the rest of a day again.

    Stops that were reached, and the one that a vehicle drives to, do not change. Goods on board stay with their
    vehicle; those of a broken one are fetched where it stands. Vehicles that have left take no other goods from the
    depot unless they may load again.

    Parameters
    ----------
    plan
        The plan of the day, with travel times; everybody keeps to its timetable.
    now
        Seconds since midnight.
    cancel
        Ids of customers who want nothing any more.
    add
        New customers, as in JSON: {"id"?, "x", "y", "demand", ...}.
    broken
        Names of vehicles that go no further, as the timetable prints them: "Sprinter 2".
    change_cost
        Price of every customer whom another vehicle serves than planned, in the unit of the cost; by default half of
        what a customer costs on average.
    time_limit, seed
        Of the search.
    is_cancelled
        Asked repeatedly; True ends the search with its best plan.

    Raises
    ------
    DynarouteError
        If a customer or a vehicle is unknown, or a customer cannot be cancelled any more.
    """
    began = time.perf_counter()
    plan.instance.require_times()
    price = _choose_price(plan) if change_cost is None else change_cost
    whole = extend_instance(plan.instance, add) if add else plan.instance
    vehicles = _renumber(follow_vehicles(plan, now), plan.instance, whole)
    _refuse_unknown_vehicles(broken, vehicles)
    cancelled = _find_cancelled(plan.instance, cancel, vehicles, broken)
    day = change_day(whole, vehicles, now, cancelled, broken)
    found = _search(day, price, time_limit, seed, is_cancelled)
    after = Plan(day.instance, found)
    violations = check(day.instance, found)
    instance, known = day.instance, plan.instance.size
    return Replanned(
        plan=after,
        comparison=compare_by_name(plan, after),
        now=now,
        cancelled=tuple(whole.customer_name(node) for node in sorted(cancelled)),
        added=tuple(whole.customer_name(node) for node in range(known + 1, whole.size + 1)),
        faults=tuple(violation.message for violation in violations),
        reasons=tuple(
            (instance.customer_name(each.customer), each.reason) for each in explain_unserved(instance, found)
        ),
        messages=tuple(_describe_broken(vehicle, day, plan.instance) for vehicle in vehicles if vehicle.name in broken),
        seconds=time.perf_counter() - began,
        before=plan,
    )


def replanned_to_json(replanned: Replanned) -> dict[str, object]:
    """Return the keys of ``dynaroute replan --json`` and ``/v1/replan``."""
    return {
        "plan": plan_to_json(replanned.plan),
        "ok": not replanned.faults,
        **comparison_to_json(replanned.comparison),
        "cancelled": list(replanned.cancelled),
        "added": list(replanned.added),
        "customers_to_call": list(replanned.customers_to_call),
        "drivers_to_call": list(replanned.drivers_to_call),
        "violations": list(replanned.faults),
        "left_out": [{"id": name, "reason": reason} for name, reason in replanned.reasons],
        "messages": list(replanned.messages),
        "seconds": replanned.seconds,
    }


def _choose_price(plan: Plan) -> float:
    served = sum(0 < node <= plan.instance.size for route in plan.solution.routes for node in route)
    return _CHANGE_SHARE * plan.cost / max(1, served)


def _renumber(vehicles: Sequence[VehicleProgress], before: Instance, after: Instance) -> tuple[VehicleProgress, ...]:
    """Number places after the new customers, which places follow."""
    shift = after.size - before.size

    def number(node: int) -> int:
        return node + shift if node > before.size else node

    return tuple(
        replace(
            vehicle,
            stops=tuple(map(number, vehicle.stops)),
            times=replace(
                vehicle.times,
                stops=tuple(replace(stop, customer=number(stop.customer)) for stop in vehicle.times.stops),
            ),
        )
        for vehicle in vehicles
    )


def _refuse_unknown_vehicles(broken: Sequence[str], vehicles: Sequence[VehicleProgress]) -> None:
    names = [vehicle.name for vehicle in vehicles]
    for name in broken:
        if name not in names:
            raise OptionError(
                f"no vehicle of this plan is called {name!r}.",
                where=Where(field="broken"),
                remedy=f"Its vehicles are {show_list(names)}.",
            )


def _find_cancelled(
    instance: Instance, ids: Sequence[str], vehicles: Sequence[VehicleProgress], broken: Sequence[str]
) -> frozenset[int]:
    """Find the customers to cancel, with the other stops of their shipments and all alternatives of their orders."""
    cancelled = set()
    for name in ids:
        customer = find_customer(instance, name, "cancel")
        cancelled.add(customer)
        if instance.partners is not None and instance.partners[customer]:
            cancelled.add(int(instance.partners[customer]))
        if instance.one_of is not None and (label := instance.one_of[customer]):
            cancelled.update(node for node, other in enumerate(instance.one_of) if other == label)
    for vehicle in vehicles:
        last = vehicle.made if vehicle.name in broken else vehicle.frozen
        for position, node in enumerate(vehicle.stops[:last]):
            if node in cancelled:
                arrival = instance.shown_time(vehicle.times.stops[position].arrival)
                happens = "was there at" if position < vehicle.made else "is on its way and arrives at"
                raise OptionError(
                    f"{instance.customer_name(node)} cannot be cancelled any more: {vehicle.name} {happens} {arrival}.",
                    where=Where(field="cancel"),
                    remedy="Leave it out, and call the driver.",
                )
    return frozenset(cancelled)


def _search(
    day: ChangedDay, price: float, time_limit: float, seed: int, is_cancelled: Callable[[], bool] | None
) -> Solution:
    """Search the rest of the day; whoever moves to another vehicle costs extra."""
    instance, start = day.instance, day.start
    usual = np.full(instance.size + 1, -1)
    for route, kind in zip(start.routes, start.vehicles or (), strict=True):
        for node in route:
            if 0 < node <= instance.size:
                usual[node] = kind
    priced = replace(instance, usual_vehicles=usual, change_cost=price) if price > 0 else instance
    waiting = tuple(start.unserved(priced))
    known = replace(start, statements=Statements(waiting=waiting))
    is_right = all(found.is_absence for found in check(priced, start))
    result = solve(
        priced,
        start=known if is_right and start.routes else None,
        time_limit=time_limit,
        seed=seed,
        threads=1,
        is_cancelled=is_cancelled,
    )
    kinds = result.solution.vehicle_types(priced)
    return Solution(result.solution.routes, vehicles=kinds)


def _describe_broken(vehicle: VehicleProgress, day: ChangedDay, instance: Instance) -> str:
    """Say what becomes of a broken vehicle's goods."""
    if not vehicle.has_left:
        return f"{vehicle.name} has not left; its customers go to other vehicles."
    made = vehicle.made
    last = instance.customer_name(vehicle.stops[made - 1]) if made else "the depot"
    at = f"at {last}" if not vehicle.is_driving else f"after {last}"
    fetched = day.fetched[vehicle.name]
    if not fetched:
        return f"{vehicle.name} stands {at} with nothing to deliver."
    return f"{vehicle.name} stands {at}; goods of {count_of(len(fetched), 'customer')} are fetched there: " + (
        f"{show_list(fetched)}."
    )
