"""Instances without any feasible plan, found and explained before a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list, show_text
from dynaroute.base.errors import InstanceError
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.assigning import DepotLegs, can_serve_alone, measure_depot_legs
from dynaroute.problem.checks.alternatives import find_unserved, take_largest
from dynaroute.problem.fleet import TOLERANCE, AlikeTypes, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import earliest_departure, latest_end

_MOST_TYPES = 3  # vehicle types whose reasons are listed


def refuse_impossible(instance: Instance, is_time_up: Callable[[], bool] = lambda: False) -> None:
    """Raise if certainly no plan serves all customers within all limits.

    Compares total demand, stops and service time with what the fleet allows, and checks each customer alone. Passing
    these checks does not mean that a feasible plan exists.

    Parameters
    ----------
    instance
        Any instance; a plain one always has a feasible plan.
    is_time_up
        Called every few milliseconds of longer work; returning true ends the checks early.

    Raises
    ------
    InstanceError
        It names the customer or the fleet's limit, and the reason.
    """
    if instance.is_plain:
        return
    if instance.rules:  # with more rules, only a search can tell the rest
        _refuse_forbidden_customers(instance)
        _refuse_many_vehicles(instance)
        return
    if instance.has_times:
        instance.require_times()
    _refuse_small_fleet(instance)
    with suppress(OutOfTimeError):
        _refuse_unreachable_customers(instance, is_time_up)


def explain_alone(instance: Instance, customers: Sequence[int]) -> dict[int, str]:
    """Explain why no vehicle can serve a customer, even on a route of its own.

    Parameters
    ----------
    instance
        Any instance; travel times must be known if times are limited.
    customers
        The customers to explain; those that a vehicle can serve are left out of the answer.
    """
    legs = measure_depot_legs(instance)
    unserved = set(_list_unserved(instance, [group.merged for group in instance.alike_types], legs))
    return {customer: _explain(instance, customer, legs) for customer in customers if customer in unserved}


def _refuse_forbidden_customers(instance: Instance) -> None:
    """Raise if no vehicle may serve a customer who must be served."""
    if instance.allowed is None:
        return
    is_needed = np.ones(instance.size + 1, dtype=bool) if instance.optional is None else ~instance.optional
    is_able = take_largest(instance.allowed.any(axis=1), instance.one_of)
    lost = ~is_able & take_largest(is_needed, instance.one_of)
    if not lost.any():
        return
    customer = int(np.argmax(lost))
    needed = sorted(instance.skills[customer]) if instance.skills is not None else []
    why = f": it needs {show_list(needed)}" if needed else ""
    raise InstanceError.about(
        "customers",
        f"no vehicle may serve {instance.called(customer)}{why}.",
        "Give a vehicle what it needs, or leave the customer out.",
        customer,
    )


def _refuse_many_vehicles(instance: Instance) -> None:
    """Raise if more vehicles must be used than there is work for."""
    least = sum(kind.min_vehicles for kind in instance.fleet)
    orders = len(find_unserved(instance.size, instance.one_of, ()))
    if instance.is_pickup is not None:
        orders = min(orders, instance.size - int(instance.is_pickup.sum()))
    if least > orders:
        raise InstanceError.about(
            "min_vehicles",
            f"at least {least} vehicles must be used, but there is work for {orders} at most.",
            "Ask for fewer vehicles.",
        )


# The fleet as a whole


def _refuse_small_fleet(instance: Instance) -> None:
    _refuse_small_capacity(instance)
    stops = _sum_over_fleet(instance, lambda kind: kind.max_stops or math.inf)
    if instance.size > stops:
        raise InstanceError.about(
            "vehicles",
            f"there are {instance.size} customers, but all vehicles together may make only {stops:.0f} stops.",
            "Allow more stops, or give more vehicles.",
        )
    if instance.service is None or not instance.has_times:
        return
    service, time = float(instance.service.sum()), _sum_over_fleet(instance, lambda kind: _longest_day(instance, kind))
    if service > time + TOLERANCE:
        raise InstanceError.about(
            "vehicles",
            f"serving all customers takes {instance.shown_duration(service)}, but all vehicles together may work only "
            f"{instance.shown_duration(time)}.",
            "Give more vehicles, or longer shifts.",
        )


def _refuse_small_capacity(instance: Instance) -> None:
    """Compare total demand with total capacity, also for customers that only larger vehicles can hold."""
    for held, carried in _list_capacities(instance.alike_types):
        wanted = int(instance.demands[instance.demands > held].sum())
        if carried is None or wanted <= carried:
            continue
        larger = [kind for kind in instance.fleet if kind.capacities[0] > held]
        who = "all customers" if held == 0 else f"customers above {instance.shown_demand(held)}"
        types = show_list([f"{kind.count} x {instance.shown_demand(kind.capacities[0])}" for kind in larger])
        raise InstanceError.about(
            "vehicles",
            f"{who} demand {instance.shown_demand(wanted)}, but the vehicles that can serve them carry "
            f"{instance.shown_demand(carried)} ({types}): {instance.shown_demand(wanted - carried)} too little.",
            "Give more or larger vehicles, or split the day.",
        )


def _list_capacities(fleet: Sequence[AlikeTypes]) -> list[tuple[int, int | None]]:
    """For 0 and each capacity, in order, what all larger vehicles carry together; None if there is no limit."""
    found: list[tuple[int, int | None]] = []
    carried: int | None = 0
    largest_first = sorted(fleet, key=lambda group: -group.merged.capacities[0])
    for capacity, groups in groupby(largest_first, key=lambda group: group.merged.capacities[0]):
        found.append((capacity, carried))
        for group in groups:
            count = group.merged.count
            carried = None if carried is None or count is None else carried + capacity * count
    return [(0, carried), *reversed(found)]


def _sum_over_fleet(instance: Instance, amount: Callable[[VehicleType], float]) -> float:
    if any(kind.count is None for kind in instance.fleet):
        return math.inf
    return math.fsum((kind.count or 0) * amount(kind) for kind in instance.fleet)


def _longest_day(instance: Instance, kind: VehicleType) -> float:
    hours = latest_end(instance, kind) - earliest_departure(instance, kind)
    return max(0.0, min(hours, math.inf if kind.max_duration is None else kind.max_duration))


# Each customer by itself


def _refuse_unreachable_customers(instance: Instance, is_time_up: Callable[[], bool]) -> None:
    kinds = [group.merged for group in instance.alike_types]
    legs = measure_depot_legs(instance)
    doubtful = _list_unserved(instance, kinds, legs)
    if not doubtful:
        return
    # a detour may be shorter than the direct leg, in a matrix or because of rounding
    paths = _find_shortest_paths(instance, legs, is_time_up)
    lost = sorted(set(doubtful).intersection(_list_unserved(instance, kinds, paths)))
    if not lost:
        return
    customer = lost[0]
    others = f" The same is true of {show_list(list(map(instance.customer_name, lost[1:])), 5)}." if lost[1:] else ""
    raise InstanceError.about(
        "customers",
        f"no vehicle can serve {instance.called(customer)}: {_explain(instance, customer, paths)}.{others}",
        "Change the window, the limits or the vehicles, or leave the customer out.",
        customer,
    )


def _list_unserved(instance: Instance, kinds: Sequence[VehicleType], legs: DepotLegs) -> list[int]:
    """List the customers that no vehicle can serve, even alone."""
    is_served = np.zeros(instance.size + 1, dtype=bool)
    for kind in kinds:
        is_served |= can_serve_alone(instance, kind, legs)
        if is_served[1:].all():
            break
    return (np.flatnonzero(~is_served[1:]) + 1).tolist()


def _explain(instance: Instance, customer: int, paths: DepotLegs) -> str:
    """Explain for the first few vehicle types why they cannot serve a customer, even alone."""
    reasons = [(kind.name, _find_reason(instance, customer, kind, paths)) for kind in instance.fleet[:_MOST_TYPES]]
    told = [f"{show_text(name, 40)}: {reason}" if name else reason for name, reason in reasons if reason is not None]
    return "; ".join(dict.fromkeys(told))


def _find_reason(instance: Instance, customer: int, kind: VehicleType, paths: DepotLegs) -> str | None:
    demand = int(instance.demands[customer])
    if demand > (capacity := kind.capacities[0]):
        return f"its demand is {instance.shown_demand(demand)}, above the capacity {instance.shown_demand(capacity)}"
    is_open = kind.end == "open"
    distance = paths.distance_to[customer] + (0.0 if is_open else paths.distance_back[customer])
    if kind.max_distance is not None and distance > kind.max_distance + TOLERANCE:
        trip = "the trip there" if is_open else "the trip there and back"
        return f"{trip} is {distance:.10g}, above the longest distance {kind.max_distance:.10g}"
    return _find_reason_in_time(instance, customer, kind, paths) if instance.has_times else None


def _find_reason_in_time(instance: Instance, customer: int, kind: VehicleType, paths: DepotLegs) -> str | None:
    service = 0.0 if instance.service is None else float(instance.service[customer])
    opens, closes = (0.0, math.inf) if instance.windows is None else instance.windows[customer].tolist()
    back = 0.0 if kind.end == "open" else float(paths.duration_back[customer])
    duration = float(paths.duration_to[customer]) + service + back
    if kind.max_duration is not None and duration > kind.max_duration + TOLERANCE:
        limit = instance.shown_duration(kind.max_duration)
        return f"the trip and the service take {instance.shown_duration(duration)}, above the longest duration {limit}"
    arrival = earliest_departure(instance, kind) + float(paths.duration_to[customer])
    if arrival > closes + TOLERANCE:
        return (
            f"it is reached at {instance.shown_time(arrival)} at the earliest, "
            f"{instance.shown_duration(arrival - closes)} after its window ends"
        )
    end, limit_of_day = max(arrival, opens) + service + back, latest_end(instance, kind)
    if end > limit_of_day + TOLERANCE:
        where = "the route ends" if kind.end == "open" else "the vehicle is back"
        return (
            f"{where} at {instance.shown_time(end)} at the earliest, "
            f"{instance.shown_duration(end - limit_of_day)} after the day ends"
        )
    return None


def _find_shortest_paths(instance: Instance, legs: DepotLegs, is_time_up: Callable[[], bool]) -> DepotLegs:
    """Find the shortest paths between the depot and all nodes, also via other nodes.

    Raises
    ------
    OutOfTimeError
        If the time was up before.
    """
    nodes = np.arange(instance.size + 1)
    lengths, durations = instance.leg_lengths, instance.leg_durations
    distance_to, distance_back = legs.distance_to, legs.distance_back
    if instance.distances is not None:
        distance_to = _shortest_from_depot(lambda node: lengths(node, nodes), nodes, is_time_up)
        distance_back = _shortest_from_depot(lambda node: lengths(nodes, node), nodes, is_time_up)
    elif instance.rounding == "nearest":  # of the metrics, only this rounding makes detours shorter
        distance_to = distance_back = _shortest_from_depot(lambda node: lengths(node, nodes), nodes, is_time_up)
    if instance.durations is None:
        speed = instance.speed or 1.0
        return DepotLegs(distance_to, distance_back, distance_to / speed, distance_back / speed)
    return DepotLegs(
        distance_to,
        distance_back,
        _shortest_from_depot(lambda node: durations(node, nodes), nodes, is_time_up),
        _shortest_from_depot(lambda node: durations(nodes, node), nodes, is_time_up),
    )


def _shortest_from_depot(
    measure_legs: Callable[[int], NDArray[np.float64]], nodes: NDArray[np.intp], is_time_up: Callable[[], bool]
) -> NDArray[np.float64]:
    """Find the shortest path lengths from node 0 to all others (Dijkstra)."""
    best: NDArray[np.float64] = measure_legs(0).copy()
    best[0] = 0.0
    is_left = np.ones(len(nodes), dtype=bool)
    for _ in nodes:
        if is_time_up():
            raise OutOfTimeError
        node = int(np.argmin(np.where(is_left, best, np.inf)))
        is_left[node] = False
        np.minimum(best, best[node] + measure_legs(node), out=best)
    return best
