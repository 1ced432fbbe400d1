"""What a plan can cost at most, and what each customer who is left out counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.checks.alternatives import take_largest
from dynaroute.problem.instance import Instance

PER_HOUR = 3600.0  # seconds
_HIGHEST_WEIGHT = 1e6  # of a customer who must be served, in prices of the lowest priority


def bound_price(instance: Instance) -> float:
    """More than any plan costs: twice as much as if every customer had the dearest vehicle, all day."""
    fleet, customers = instance.fleet, np.arange(1, instance.size + 1)
    places = np.array([*instance.start_nodes, *(node for node in instance.end_nodes if node >= 0)])
    profiles = sorted({each.profile for each in fleet})
    outward = np.max([instance.leg_lengths(places[:, None], customers, each) for each in profiles], axis=(0, 1))
    back = np.max([instance.leg_lengths(customers, places[:, None], each) for each in profiles], axis=(0, 1))
    bound = max(each.distance_cost for each in fleet) * float((outward + back).sum())
    per_second = max(each.time_cost + (0.0 if each.overtime is None else each.overtime.cost) for each in fleet)
    if instance.late_costs is not None:
        per_second += float(instance.late_costs[np.isfinite(instance.late_costs)].max(initial=0.0))
    balance, most = instance.balance, 0.0
    if balance is not None:
        amounts = instance.demands.sum() + (0 if instance.pickups is None else instance.pickups.sum())
        most = float(instance.size if balance.of == "stops" else amounts / instance.demand_scale)
    if per_second > 0 or (balance is not None and balance.of == "hours"):
        hours = np.array([0.0]) if instance.windows is None else instance.windows[np.isfinite(instance.windows)]
        day = float(hours.max(initial=0.0)) + max(
            (each.shift[1] for each in fleet if each.shift is not None), default=0.0
        )
        work = 0.0 if instance.service is None else float(instance.service.sum())
        legs = sum(
            instance.leg_durations(places[:, None], customers, each).max()
            + instance.leg_durations(customers, 0, each).max()
            for each in profiles
        )
        by_hour = {each.name: min(each.speed_by_hour, default=1.0) for each in instance.profiles}
        slowest = min(each.speed_factor * by_hour.get(each.profile, 1.0) for each in fleet)
        seconds = instance.size * (day + work * max(each.service_factor for each in fleet) + float(legs) / slowest)
        bound += per_second * seconds
        most = seconds / PER_HOUR if balance is not None and balance.of == "hours" else most
    bound += 0.0 if balance is None else balance.price(most)
    if instance.compactness > 0:
        farthest = [[instance.leg_lengths(customers, each, kind).max() for each in customers] for kind in profiles]
        bound += instance.compactness * float(np.max(farthest, axis=0).sum())
    prizes = 0.0 if instance.prizes is None else float(instance.prizes[np.isfinite(instance.prizes)].sum())
    each_customer = max(each.fixed_cost for each in fleet) + instance.change_cost
    return 2 * (bound + prizes + instance.size * each_customer) + 1.0


def raise_for_priorities(instance: Instance, absence_price: float) -> float:
    """The price of a customer who must be served, who counts more than all priorities together."""
    steps, _ = _rank_priorities(instance)
    return absence_price * _step_between_priorities(instance, steps) ** steps


def weigh_absence(instance: Instance, absence_price: float) -> NDArray[np.float64]:
    """What each missing customer counts beyond its prize, which the cost of a plan has already, (n + 1,).

    A priority counts more than all lower ones together, as far as numbers reach, and who must be served
    `absence_price`, more than all priorities. Each of several alternatives counts as much as the one that counts most,
    since only one is missing.
    """
    weights = np.full(instance.size + 1, absence_price)
    if instance.optional is not None:
        weights[instance.optional] = 0.0
    if instance.priorities is not None:
        steps, places = _rank_priorities(instance)
        below = steps - places
        weights[~np.isnan(instance.priorities)] = absence_price / _step_between_priorities(instance, steps) ** below
    take_largest(weights, instance.one_of)
    return weights


def _rank_priorities(instance: Instance) -> tuple[int, NDArray[np.intp]]:
    """How many different priorities there are, and how many are lower than that of each customer who has one."""
    if instance.priorities is None:
        return 0, np.zeros(0, dtype=np.intp)
    ranks, places = np.unique(instance.priorities[~np.isnan(instance.priorities)], return_inverse=True)
    return len(ranks), places


def _step_between_priorities(instance: Instance, steps: int) -> float:
    """How many times more a priority counts than the next lower one."""
    return min(instance.size + 1.0, float(_HIGHEST_WEIGHT ** (1 / max(1, steps))))
