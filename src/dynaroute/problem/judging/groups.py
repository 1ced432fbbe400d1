"""What routes break together, for `check`: who is missing, and customers that belong together or apart."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import Violation


def judge_missing(instance: Instance, visited: Mapping[int, int]) -> Iterator[Violation]:
    """Find customers who must be served but are on no route.

    Parameters
    ----------
    instance
        The problem.
    visited
        For each customer on a route, a number of it.
    """
    for customer in range(1, instance.size + 1):
        if customer in visited or _may_be_left_out(instance, customer):
            continue
        if instance.one_of is not None and instance.one_of[customer]:
            continue  # judged with its group
        called = instance.called(customer)
        yield Violation("missing", f"{called[0].upper()}{called[1:]} is not visited.", None, customer)


def judge_groups(instance: Instance, routes: Sequence[Sequence[int]]) -> Iterator[Violation]:
    """Find groups of customers that are on the wrong routes, and shipments of which one stop is missing."""
    route_of = {node: number for number, route in enumerate(routes, start=1) for node in route}
    for label, members in _list_groups(instance.same_vehicle):
        used = sorted({route_of[member] for member in members if member in route_of})
        if len(used) > 1:
            message = f"Group {label} is on routes {used[0]} and {used[1]}, but needs the same vehicle."
            yield Violation("group", message, used[1])
    for label, members in _list_groups(instance.not_together):
        before: dict[int, int] = {}
        for member in members:
            number = route_of.get(member)
            if number in before and number is not None:
                first, second = instance.called(before[number]), instance.called(member)
                message = f"Route {number} serves {first} and {second} of group {label}, who may not be together."
                yield Violation("group", message, number, member)
            elif number is not None:
                before[number] = member
    for label, members in _list_groups(instance.one_of):
        served = [member for member in members if member in route_of and not _is_delivery(instance, member)]
        is_optional = all(_may_be_left_out(instance, member) for member in members)
        if len(served) > 1:
            message = f"Of the alternatives {label}, {len(served)} are served instead of one."
            yield Violation("group", message, route_of[served[1]], served[1])
        if not served and not is_optional:
            yield Violation("group", f"Of the alternatives {label}, none is served.", None, members[0])
    yield from _judge_locked(instance, routes, route_of)
    if instance.partners is None:
        return
    for node, partner in enumerate(instance.partners.tolist()):
        if partner and node not in route_of and partner in route_of and _may_be_left_out(instance, node):
            message = f"{instance.called(partner)} is served, but {instance.called(node)} of the same shipment is not."
            yield Violation("pair", message[0].upper() + message[1:], route_of[partner], partner)


def _judge_locked(
    instance: Instance, routes: Sequence[Sequence[int]], route_of: Mapping[int, int]
) -> Iterator[Violation]:
    """Find legs that were fixed, but are not driven."""
    legs = {leg for route in routes for leg in pairwise(route)}
    for first, second in instance.locked:
        if (first, second) not in legs and (first in route_of or second in route_of):
            message = f"{instance.called(second)} does not follow directly after {instance.called(first)}."
            number = route_of.get(second, route_of.get(first))
            yield Violation("frozen", message[0].upper() + message[1:], number, second)


def price_left_out(instance: Instance, routes: Sequence[Sequence[int]]) -> float:
    """Add up the prizes of customers on no route; of alternatives, the largest counts if none is served."""
    if instance.prizes is None:
        return 0.0
    served = {node for route in routes for node in route}
    lost: dict[object, float] = {}
    for customer, prize in enumerate(instance.prizes.tolist()):
        if customer in served or not math.isfinite(prize):
            continue
        label = instance.one_of[customer] if instance.one_of is not None else ""
        if label and any(member in served for member in _members(instance.one_of, label)):
            continue
        key: object = label or customer
        lost[key] = max(lost.get(key, 0.0), prize)
    return math.fsum(lost.values())


def _may_be_left_out(instance: Instance, customer: int) -> bool:
    has_prize = instance.prizes is not None and math.isfinite(instance.prizes[customer])
    return has_prize or (instance.priorities is not None and not math.isnan(instance.priorities[customer]))


def _is_delivery(instance: Instance, node: int) -> bool:
    """Whether a node is the second stop of a shipment, which counts once."""
    is_paired = instance.partners is not None and instance.partners[node] > 0
    return is_paired and instance.is_pickup is not None and not instance.is_pickup[node]


def _list_groups(labels: Sequence[str] | None) -> list[tuple[str, list[int]]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for node, label in enumerate(labels or ()):
        if label:
            groups[label].append(node)
    return list(groups.items())


def _members(labels: Sequence[str] | None, label: str) -> list[int]:
    return [node for node, other in enumerate(labels or ()) if other == label]
