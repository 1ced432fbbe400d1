"""The rules of an instance, read into arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.checks.alternatives import list_alternatives, take_largest
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.profiles import HOURS
from dynaroute.search.core.problem import list_matrix_rows
from dynaroute.search.with_limits.bounds import PER_HOUR, weigh_absence
from dynaroute.search.with_limits.rules import (
    CUSTOMER,
    DELIVERY,
    FOLLOWER,
    FORBIDDEN,
    FROZEN,
    LOCKED,
    PICKUP,
    RELOAD,
    Rules,
)

_Item = TypeVar("_Item", bound=Hashable)

_SLACK = TOLERANCE / 4  # as for limits: `check` may sum in another order
_VISITS_PER_LOAD, _FEWEST_VISITS = 2, 10  # visits to load again: for each full load, and besides
# what types of one class may differ in; overtime only in its price, and skills and beginnings in what they allow
_MAY_DIFFER = frozenset(
    {
        "name",
        "count",
        "min_vehicles",
        "capacity",
        "fixed_cost",
        "distance_cost",
        "time_cost",
        "overtime",
        "skills",
        "beginning",
    }
)
_BALANCED = {"hours": 1.0, "stops": 2.0, "load": 3.0}


def read_rules(instance: Instance, absence_price: float, is_time_up: Callable[[], bool] | None = None) -> Rules:
    """Read what applies to stops and types of vehicles, with N = n + m + 3 nodes.

    These are the depot, the customers, the m places, and the two ends of routes at the depot and anywhere.

    Parameters
    ----------
    instance
        An instance with rules.
    absence_price
        More than any plan costs.
    is_time_up
        Called every few milliseconds; returning true gives up.
    """
    vehicles = [group.merged for group in instance.alike_types]
    sites = list_sites(instance, vehicles)
    size, nodes = instance.size, instance.node_count + len(sites) + 2
    service = np.zeros(nodes)
    if instance.service is not None and instance.has_times:
        service[: size + 1] = instance.service
    profiles, paces = _number((each.profile, each.speed_factor, each.service_factor, each.loading) for each in vehicles)
    distances, durations = np.empty((len(paces), nodes, nodes)), np.empty((len(paces), nodes, nodes))
    services = np.empty((len(paces), nodes))
    visits = slice(size + 1, size + 1 + len(sites))
    hours = [() if (own := instance.speeds_of(name)) is None else own.by_hour for name, *_ in paces]
    measured: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for profile, (name, speed, effort, loading) in enumerate(paces):
        if name not in measured:
            measured[name] = _measure(instance, name, sites, is_time_up)
        distances[profile], seconds = measured[name]
        services[profile] = service * effort
        services[profile, visits] = [
            loading + (instance.places[site - size - 1].loading if site > 0 else 0.0) for site in sites
        ]
        np.divide(seconds, speed * float(np.max(hours[profile], initial=0.0) or 1.0), out=durations[profile])
        durations[profile] += services[profile][:, None]
    delivered, collected = _read_loads(instance, nodes)
    spreads = instance.compactness * distances if instance.compactness > 0 else np.zeros((0, 0, 0))
    roles, partners = np.full(nodes, CUSTOMER, dtype=np.int8), np.zeros(nodes, dtype=np.int32)
    if instance.partners is not None and instance.is_pickup is not None:
        partners[: size + 1] = instance.partners
        roles[: size + 1][instance.partners > 0] = DELIVERY
        roles[: size + 1][instance.is_pickup] = PICKUP
    if instance.backhauls != "mixed" and instance.pickups is not None:
        delivers, collects = delivered.sum(axis=1) > 0, collected.sum(axis=1) > 0
        for each in distances:
            _forbid_deliveries_after_pickups(each, delivers, collects, size)
            if instance.backhauls == "strict":
                each[np.ix_(~collects & ~delivers, collects & ~delivers)] = FORBIDDEN
            np.fill_diagonal(each, 0.0)
    roles[visits] = RELOAD
    allowed = np.ones((nodes, len(vehicles)), dtype=np.bool_)
    for kind, vehicle in enumerate(vehicles):
        allowed[visits, kind] = np.isin(sites, [instance.node_of(name) for name in vehicle.reload])
    if instance.allowed is not None:
        allowed[: size + 1] = instance.allowed[:, [group.members[0] for group in instance.alike_types]]
    groups = _link_groups(instance.same_vehicle, nodes)
    ties, followers, beginnings = _read_ties(instance, vehicles, nodes)
    for kind, stops in enumerate(beginnings):
        allowed[stops[stops > 0]] = np.arange(len(vehicles)) == kind
    roles[ties == LOCKED] = FOLLOWER
    for first, second in instance.locked:
        _join_groups(groups, first, second)
    alternatives, orders = _link_alternatives(instance, nodes)
    prizes = _read_prizes(instance, nodes, absence_price)
    for chain in _list_chains(followers, roles == FOLLOWER):
        prizes[chain[0]] = prizes[chain].sum()
        labels = [instance.not_together[stop] for stop in chain if instance.not_together]
        allowed[chain] &= len({*filter(None, labels)}) == len([*filter(None, labels)])
    rides = np.tile([0.0, np.inf], (nodes, 1))
    if instance.max_ride is not None and instance.is_pickup is not None:
        pickups = np.flatnonzero(instance.is_pickup)
        rides[pickups, 0], rides[pickups, 1] = partners[pickups], instance.max_ride[pickups] + _SLACK
    lifo = np.zeros(nodes, dtype=np.bool_)
    if instance.lifo is not None:
        lifo[: instance.size + 1] = instance.lifo
        lifo[partners[lifo]] = True
    for pickup in np.flatnonzero((roles == PICKUP) & (ties == FROZEN)).tolist():
        delivery = int(partners[pickup])
        partners[[pickup, delivery]], roles[[pickup, delivery]], prizes[delivery] = -1, CUSTOMER, np.inf
        orders[delivery] = delivery  # it must be made now
        _join_groups(groups, pickup, delivery)
    changes = _price_changes(instance, nodes)
    windows = _read_windows(instance, nodes)
    for visit, site in enumerate(sites, start=size + 1):
        opens, shuts = _read_hours(instance, site)
        windows[visit] = opens, shuts + _SLACK
    closes, late = windows[:, -1, 1].copy(), _spread(instance.late_costs, nodes, np.inf)
    is_soft = np.isfinite(late)
    windows[is_soft, -1, 1] = np.inf
    rooms = np.array([each.capacities for each in vehicles], dtype=np.int64)
    initial = np.array([each.initial_loads for each in vehicles], dtype=np.int64)
    overtime = [
        (np.inf, 0.0) if each.overtime is None else (each.overtime.after, each.overtime.cost) for each in vehicles
    ]
    classes = np.array(
        _number(_describe(each, allowed[:, kind], changes[:, kind]) for kind, each in enumerate(vehicles))[0]
    )
    driving = np.array([np.inf if each.max_driving is None else each.max_driving + _SLACK for each in vehicles])
    ends = [read_day(instance, each)[1] for each in vehicles]
    has_latest = bool(np.isfinite(windows[..., 1]).any() or np.isfinite(ends).any())
    return Rules(
        distances=distances,
        durations=durations,
        service=services,
        hours=_read_hours_of_day(hours),
        delivered=delivered,
        collected=collected,
        roles=roles,
        partners=partners,
        allowed=allowed,
        windows=windows,
        closes=closes,
        late=np.where(is_soft, late, 0.0),
        release=_spread(instance.release, nodes, 0.0),
        breaks=_read_breaks(vehicles),
        rests=np.array([_read_rest(each) for each in vehicles]),
        alternatives=alternatives,
        orders=orders,
        apart=np.array(_number(instance.not_together or ())[0] + [0] * nodes, dtype=np.int64)[:nodes],
        next_of_group=groups,
        prizes=prizes,
        rides=rides,
        lifo=lifo,
        ties=ties,
        followers=followers,
        changes=changes,
        beginnings=beginnings,
        balance=_read_balance(instance),
        spreads=spreads,
        profiles=np.array(profiles, dtype=np.int64),
        start_nodes=np.array([_find_node(instance, each.start, len(sites)) for each in vehicles], dtype=np.int64),
        classes=classes,
        rooms=rooms,
        widest=np.array([rooms[classes == own, 0].max() for own in classes]),
        initial=initial,
        fixed=np.array([each.fixed_cost for each in vehicles]),
        per_distance=np.array([each.distance_cost for each in vehicles]),
        per_second=np.array([each.time_cost for each in vehicles]),
        overtime=np.array(overtime),
        driving=driving,
        trips=np.array([each.max_trips or (nodes if each.reload else 1) for each in vehicles], dtype=np.int64),
        least=np.array([each.min_vehicles for each in vehicles], dtype=np.int64),
        sites=np.array(sites, dtype=np.int64),
        customers=size,
        has_mixed_loads=bool(len(sites) > 0 or collected.any() or initial.any() or rooms.shape[1] > 1),
        has_prizes=bool(np.isfinite(prizes).any()),
        has_times=has_latest or bool(np.isfinite(driving).any()) or any(each.time_cost > 0 for each in vehicles),
    )


def read_day(instance: Instance, vehicle: VehicleType) -> tuple[float, float]:
    """Earliest departure and latest end, by its shift and the hours of the places where it starts and ends."""
    earliest, _ = _read_hours(instance, instance.node_of(vehicle.start))
    latest = math.inf if vehicle.end == "open" else _read_hours(instance, instance.node_of(vehicle.end))[1]
    if vehicle.shift is None:
        return earliest, latest
    return max(earliest, vehicle.shift[0]), min(latest, vehicle.shift[1])


def find_end_nodes(instance: Instance, vehicles: Sequence[VehicleType]) -> NDArray[np.int64]:
    """The nodes where routes end: a place, or one of the two last nodes."""
    visits = len(list_sites(instance, vehicles))
    back, anywhere = instance.node_count + visits, instance.node_count + visits + 1
    ends = [anywhere if each.end == "open" else _find_node(instance, each.end, visits) or back for each in vehicles]
    return np.array(ends, dtype=np.int64)


def list_sites(instance: Instance, vehicles: Sequence[VehicleType]) -> list[int]:
    """The nodes of the instance where vehicles may load again, each as often as that may be needed at once."""
    nodes = sorted({instance.node_of(name) for each in vehicles for name in each.reload})
    if not nodes:
        return []
    demands = instance.demands.reshape(instance.size + 1, -1).sum(axis=0)
    smallest = np.min([each.capacities for each in vehicles if each.reload], axis=0)
    wanted = int(np.ceil(demands / smallest).max()) * _VISITS_PER_LOAD + _FEWEST_VISITS
    return [node for node in nodes for _ in range(min(wanted, instance.size))]


def _find_node(instance: Instance, place: str, visits: int) -> int:
    """The node of a place: visits to load again come before places."""
    node = instance.node_of(place)
    return node + visits if node > 0 else 0


def _read_hours_of_day(profiles: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """How far one is at the begin of each hour, at the highest speed of the day, for all profiles."""
    if not any(profiles):
        return np.zeros((0, 0))
    speeds = np.array([by_hour or (1.0,) * HOURS for by_hour in profiles])
    shares = speeds / speeds.max(axis=1, keepdims=True)
    return np.hstack([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)]) * PER_HOUR


def _read_hours(instance: Instance, node: int) -> tuple[float, float]:
    if node > instance.size:
        return instance.places[node - instance.size - 1].bounds
    if instance.windows is None:
        return 0.0, math.inf
    hours = instance.windows[0].ravel()
    return float(hours[0]), float(hours[-1])


def _measure(
    instance: Instance, profile: str, sites: Sequence[int], is_time_up: Callable[[], bool] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measure all legs and their seconds; both ends of routes are the last nodes."""
    nodes = np.r_[0 : instance.size + 1, sites, instance.size + 1 : instance.node_count].astype(np.intp)
    count = len(nodes)
    distances, seconds = np.zeros((count + 2, count + 2)), np.zeros((count + 2, count + 2))
    for rows in list_matrix_rows(count, is_time_up):
        origins = nodes[rows][:, None]
        distances[rows, :count] = instance.leg_lengths(origins, nodes, profile)
        if instance.has_times:
            seconds[rows, :count] = instance.leg_durations(origins, nodes, profile)
    distances[:count, count], seconds[:count, count] = distances[:count, 0], seconds[:count, 0]
    return distances, seconds


def _read_loads(instance: Instance, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    demands = instance.demands.reshape(instance.size + 1, -1)
    delivered, collected = (np.zeros((nodes, demands.shape[1]), dtype=np.int64) for _ in range(2))
    delivered[: len(demands)] = demands
    if instance.pickups is not None:
        collected[: len(demands)] = instance.pickups.reshape(demands.shape)
    return delivered, collected


def _forbid_deliveries_after_pickups(
    distances: NDArray[np.float64], delivers: NDArray[np.bool_], collects: NDArray[np.bool_], size: int
) -> None:
    """Let backhauls come last.

    Legs only know two stops. So who neither gets nor gives anything comes before all pickups, and not directly before
    one if something must be delivered on every trip.
    """
    is_customer = np.zeros(len(distances), dtype=np.bool_)
    is_customer[1 : size + 1] = True
    distances[np.ix_(collects, is_customer & ~(collects & ~delivers))] = FORBIDDEN


def _read_windows(instance: Instance, nodes: int) -> NDArray[np.float64]:
    given = np.array([[0.0, np.inf]]) if instance.windows is None else instance.windows
    given = given.reshape(len(given), -1, 2)
    windows = np.empty((nodes, given.shape[1], 2))
    windows[:] = 0.0, np.inf
    windows[1 : instance.size + 1] = given[1:] if instance.windows is not None else given
    windows[1 : instance.size + 1, :, 1] -= instance.buffer
    windows[:, :, 1] += _SLACK
    return windows


def _read_prizes(instance: Instance, nodes: int, absence_price: float) -> NDArray[np.float64]:
    """The price of leaving a stop out, or a shipment for its pickup; infinite if it must be served."""
    prizes = np.full(nodes, np.inf)
    if instance.optional is not None:
        own = np.zeros(instance.size + 1) if instance.prizes is None else instance.prizes
        own = np.where(np.isinf(own), 0.0, own) + weigh_absence(instance, absence_price)
        prizes[: instance.size + 1] = np.where(instance.optional, own, np.inf)
        prizes[0] = np.inf
    take_largest(prizes, instance.one_of)
    if instance.partners is not None and instance.is_pickup is not None:
        is_single = np.array([not label for label in instance.one_of or [""] * (instance.size + 1)])
        pickups = np.flatnonzero(instance.is_pickup & is_single)
        prizes[pickups] += prizes[instance.partners[pickups]]
    return prizes


def _spread(values: NDArray[np.float64] | None, nodes: int, without: float) -> NDArray[np.float64]:
    """Values of the depot and the customers, for all nodes."""
    spread = np.full(nodes, without)
    if values is not None:
        spread[: len(values)] = values
    return spread


def _read_breaks(vehicles: Sequence[VehicleType]) -> NDArray[np.float64]:
    """The breaks in windows of each type, by their earliest start; a type with fewer has some that are never due."""
    found = [
        sorted((*each.window[::-1], each.duration) for each in vehicle.breaks if each.window is not None)
        for vehicle in vehicles
    ]
    breaks = np.tile([0.0, 0.0, -np.inf], (len(vehicles), max(map(len, found)), 1))
    for kind, own in enumerate(found):
        for number, (latest, earliest, duration) in enumerate(sorted(own, key=lambda rest: rest[1])):
            breaks[kind, number] = duration, earliest, latest + _SLACK
    return breaks


def _read_rest(vehicle: VehicleType) -> tuple[float, float]:
    rests = (each for each in vehicle.breaks if each.after_driving is not None)
    rest = next(rests, None)
    return (0.0, math.inf) if rest is None else (rest.duration, (rest.after_driving or 0.0) + _SLACK)


def _link_groups(labels: Sequence[str] | None, nodes: int) -> NDArray[np.int64]:
    """For each node the next one with the same label, or itself."""
    links, last = np.arange(nodes), dict[str, int]()
    for node, label in enumerate(labels or ()):
        if label and label in last:
            links[node], links[last[label]] = links[last[label]], node
        if label:
            last[label] = node
    return links


def _link_alternatives(instance: Instance, nodes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each node the next alternative of the same order, and the first of them."""
    links, orders = np.arange(nodes, dtype=np.int32), np.arange(nodes, dtype=np.int32)
    for group in list_alternatives(instance.one_of):
        members = [node for node in group if instance.is_pickup is None or _is_first(instance, node)]
        links[members], orders[group] = [*members[1:], members[0]], members[0]
    return links, orders


def _is_first(instance: Instance, node: int) -> bool:
    """Whether a customer is not the delivery of a shipment."""
    is_paired = instance.partners is not None and instance.partners[node] > 0
    return not is_paired or (instance.is_pickup is not None and bool(instance.is_pickup[node]))


def _join_groups(links: NDArray[np.int64], one: int, other: int) -> None:
    """Make one ring of those of two stops."""
    stop = links[one]
    while stop not in (one, other):
        stop = links[stop]
    if stop != other:
        links[one], links[other] = links[other], links[one]


def _read_ties(
    instance: Instance, vehicles: Sequence[VehicleType], nodes: int
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int64]]:
    """Read ties, followers and beginnings; who follows the last stop of a beginning belongs to it."""
    following, begun = dict(instance.locked), [list(each.beginning) for each in vehicles]
    ties, followers = np.zeros(nodes, dtype=np.int8), np.zeros(nodes, dtype=np.int32)
    beginnings = np.zeros((len(vehicles), instance.size), dtype=np.int64)
    for kind, stops in enumerate(begun):
        while stops and stops[-1] in following:
            stops.append(following[stops[-1]])
        ties[stops], beginnings[kind, : len(stops)] = FROZEN, stops
    for first, second in instance.locked:
        if ties[second] != FROZEN:
            ties[second], followers[first] = LOCKED, second
    return ties, followers, beginnings


def _read_balance(instance: Instance) -> NDArray[np.float64]:
    balance = instance.balance
    if balance is None:
        return np.zeros(4)
    unit = {"hours": PER_HOUR, "stops": 1.0, "load": float(instance.demand_scale)}[balance.of]
    return np.array([_BALANCED[balance.of], balance.weight, balance.target, unit])


def _list_chains(followers: NDArray[np.int32], is_follower: NDArray[np.bool_]) -> list[list[int]]:
    """List customers who follow each other directly in all plans."""
    chains = [[int(head)] for head in np.flatnonzero((followers > 0) & ~is_follower)]
    for chain in chains:
        while followers[chain[-1]] > 0:
            chain.append(int(followers[chain[-1]]))
    return chains


def _price_changes(instance: Instance, nodes: int) -> NDArray[np.float64]:
    """Price, for every stop and type of vehicle, that another one served it before."""
    changes = np.zeros((nodes, len(instance.alike_types)))
    if instance.usual_vehicles is not None:
        for kind, group in enumerate(instance.alike_types):
            is_other = (instance.usual_vehicles >= 0) & ~np.isin(instance.usual_vehicles, group.members)
            changes[: instance.size + 1, kind] = instance.change_cost * is_other
    return changes


def _describe(vehicle: VehicleType, allowed: NDArray[np.bool_], changes: NDArray[np.float64]) -> tuple[object, ...]:
    """All that types of one class have in common."""
    alike = tuple(getattr(vehicle, field.name) for field in fields(vehicle) if field.name not in _MAY_DIFFER)
    longest = None if vehicle.overtime is None else (vehicle.overtime.after, vehicle.overtime.at_most)
    return alike, longest, allowed.tobytes(), changes.tobytes()


def _number(items: Iterable[_Item]) -> tuple[list[int], list[_Item]]:
    """Number items by their first appearance; returns the numbers and the different items."""
    numbers: dict[_Item, int] = {}
    places = [numbers.setdefault(item, len(numbers)) for item in items]
    return places, list(numbers)
