"""Customers that no vehicle can serve, and fleets that are too small: found and explained before a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.display import show_list, show_text
from dynaroute.errors import InstanceError
from dynaroute.fleet import TOLERANCE, VehicleType
from dynaroute.instance import Instance
from dynaroute.schedule import can_drive, earliest_departure, latest_end

__all__ = ["explain_alone", "refuse_impossible"]

_MOST_TYPES = 3  # vehicle types whose reasons are listed


def refuse_impossible(instance: Instance) -> None:
    """Raise if certainly no plan serves all customers within all limits.

    Compares total demand, stops and service time with what the fleet allows, and checks each customer alone. Passing
    these checks does not mean that a feasible plan exists.

    Parameters
    ----------
    instance
        Any instance; a plain one always has a feasible plan.

    Raises
    ------
    InstanceError
        It names the customer or the fleet's limit, and the reason.
    """
    if instance.is_plain:
        return
    if instance.has_times:
        instance.require_times()
    _refuse_small_fleet(instance)
    _refuse_unreachable_customers(instance)


def explain_alone(instance: Instance, customers: Sequence[int]) -> dict[int, str]:
    """Explain why no vehicle can serve a customer, even on a route of its own.

    Parameters
    ----------
    instance
        Any instance; travel times must be known if times are limited.
    customers
        The customers to explain; those that a vehicle can serve are left out of the answer.
    """
    types = range(len(instance.fleet))
    lost = [customer for customer in customers if not any(can_drive(instance, (customer,), kind) for kind in types)]
    trips = _measure_direct_trips(instance) if lost else None
    return {} if trips is None else {customer: _join(list(_explain(instance, customer, trips))) for customer in lost}


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
    for held in sorted({0, *(kind.capacity for kind in instance.fleet)}):
        larger = [kind for kind in instance.fleet if kind.capacity > held]
        if any(kind.count is None for kind in larger):
            continue
        wanted = int(instance.demands[instance.demands > held].sum())
        carried = sum(kind.capacity * (kind.count or 0) for kind in larger)
        if wanted <= carried:
            continue
        who = "all customers" if held == 0 else f"customers above {instance.shown_demand(held)}"
        types = show_list([f"{kind.count} x {instance.shown_demand(kind.capacity)}" for kind in larger])
        raise InstanceError.about(
            "vehicles",
            f"{who} demand {instance.shown_demand(wanted)}, but the vehicles that can serve them carry "
            f"{instance.shown_demand(carried)} ({types}): {instance.shown_demand(wanted - carried)} too little.",
            "Give more or larger vehicles, or split the day.",
        )


def _sum_over_fleet(instance: Instance, amount: Callable[[VehicleType], float]) -> float:
    if any(kind.count is None for kind in instance.fleet):
        return math.inf
    return math.fsum((kind.count or 0) * amount(kind) for kind in instance.fleet)


def _longest_day(instance: Instance, kind: VehicleType) -> float:
    hours = latest_end(instance, kind) - earliest_departure(instance, kind)
    return max(0.0, min(hours, math.inf if kind.max_duration is None else kind.max_duration))


# Each customer by itself


@dataclass(frozen=True)
class _Trips:
    """Distances and durations from the depot to each node and back."""

    distance_to: NDArray[np.float64]
    distance_back: NDArray[np.float64]
    duration_to: NDArray[np.float64]
    duration_back: NDArray[np.float64]


def _refuse_unreachable_customers(instance: Instance) -> None:
    types = range(len(instance.fleet))
    doubtful = [
        customer
        for customer in range(1, instance.size + 1)
        if not any(can_drive(instance, (customer,), kind) for kind in types)
    ]
    if not doubtful:
        return
    # a detour may be shorter than the direct leg, in a matrix or because of rounding
    trips = _find_shortest_trips(instance)
    reasons = {customer: list(_explain(instance, customer, trips)) for customer in doubtful}
    lost = [customer for customer, found in reasons.items() if all(reason is not None for reason in found)]
    if not lost:
        return
    customer = lost[0]
    others = f" The same is true of {show_list(list(map(instance.customer_name, lost[1:])), 5)}." if lost[1:] else ""
    raise InstanceError.about(
        "customers",
        f"no vehicle can serve {instance.called(customer)}: {_join(reasons[customer])}.{others}",
        "Change the window, the limits or the vehicles, or leave the customer out.",
        customer,
    )


def _explain(instance: Instance, customer: int, trips: _Trips) -> Iterator[str | None]:
    """Explain for each vehicle type why it cannot serve a customer, even alone; None for a type that perhaps can."""
    for kind in instance.fleet:
        reason = _find_reason(instance, customer, kind, trips)
        yield None if reason is None else f"{show_text(kind.name, 40)}: {reason}" if kind.name else reason


def _find_reason(instance: Instance, customer: int, kind: VehicleType, trips: _Trips) -> str | None:
    demand = int(instance.demands[customer])
    if demand > kind.capacity:
        return (
            f"its demand is {instance.shown_demand(demand)}, above the capacity {instance.shown_demand(kind.capacity)}"
        )
    is_open = kind.end == "open"
    distance = trips.distance_to[customer] + (0.0 if is_open else trips.distance_back[customer])
    if kind.max_distance is not None and distance > kind.max_distance + TOLERANCE:
        trip = "the trip there" if is_open else "the trip there and back"
        return f"{trip} is {distance:.10g}, above the longest distance {kind.max_distance:.10g}"
    return _find_reason_in_time(instance, customer, kind, trips) if instance.has_times else None


def _find_reason_in_time(instance: Instance, customer: int, kind: VehicleType, trips: _Trips) -> str | None:
    service = 0.0 if instance.service is None else float(instance.service[customer])
    opens, closes = (0.0, math.inf) if instance.windows is None else instance.windows[customer].tolist()
    back = 0.0 if kind.end == "open" else float(trips.duration_back[customer])
    duration = float(trips.duration_to[customer]) + service + back
    if kind.max_duration is not None and duration > kind.max_duration + TOLERANCE:
        limit = instance.shown_duration(kind.max_duration)
        return f"the trip and the service take {instance.shown_duration(duration)}, above the longest duration {limit}"
    arrival = earliest_departure(instance, kind) + float(trips.duration_to[customer])
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


def _join(reasons: Sequence[str | None]) -> str:
    """Join the reasons of the first few vehicle types."""
    return "; ".join(dict.fromkeys(reason for reason in reasons[:_MOST_TYPES] if reason is not None))


def _measure_direct_trips(instance: Instance) -> _Trips:
    nodes = np.arange(instance.size + 1)
    measures = (instance.leg_lengths, instance.leg_durations if instance.knows_times else instance.leg_lengths)
    return _Trips(*(legs for measure in measures for legs in (measure(0, nodes), measure(nodes, 0))))


def _find_shortest_trips(instance: Instance) -> _Trips:
    distances = instance.distance_matrix
    nodes = np.arange(instance.size + 1)
    durations = instance.leg_durations(nodes[:, None], nodes[None, :]) if instance.knows_times else distances
    return _Trips(
        _shortest_from_depot(distances),
        _shortest_from_depot(distances.T),
        _shortest_from_depot(durations),
        _shortest_from_depot(durations.T),
    )


def _shortest_from_depot(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the shortest path lengths from node 0 to all others (Dijkstra)."""
    best: NDArray[np.float64] = matrix[0].copy()
    best[0] = 0.0
    is_left = np.ones(len(matrix), dtype=bool)
    for _ in range(len(matrix)):
        node = int(np.argmin(np.where(is_left, best, np.inf)))
        is_left[node] = False
        np.minimum(best, best[node] + matrix[node], out=best)
    return best
