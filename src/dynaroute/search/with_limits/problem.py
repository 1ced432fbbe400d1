"""An instance with time windows, limits or several types of vehicles, as plain arrays for compiled code.

How many types of vehicles, windows and rules there are is read here; the record itself is `SearchProblem`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.limits import memory_for_limits, require_memory
from dynaroute.problem.fleet import TOLERANCE
from dynaroute.problem.instance import Instance
from dynaroute.search.core.problem import SearchProblem, list_matrix_rows, list_nearest
from dynaroute.search.rules import count_matrices, name_rules_code
from dynaroute.search.with_limits.bounds import bound_price, raise_for_priorities
from dynaroute.search.with_limits.reading import find_end_nodes, list_sites, read_day, read_rules
from dynaroute.search.with_limits.rules import FORBIDDEN, OFF, ON, PICKUP, Kinds

__all__ = [
    "TypedRoutes",
    "begin_routes",
    "count_fewest_routes",
    "find_site",
    "list_required",
    "list_served_alone",
    "number_visits",
    "price_absence",
    "price_routes",
    "read_problem",
]

_TOLERANCE = TOLERANCE / 4  # `check` may sum in another order, and its tolerance must not be exceeded
_WAITING_WEIGHT = 0.2  # weight of waiting between two customers, relative to driving

Lengths = NDArray[np.float64]
Longs = NDArray[np.int64]
Nodes = NDArray[np.int32]

# each route: the number of its type of vehicle among `Instance.alike_types`, then its customers
TypedRoutes = tuple[tuple[int, ...], ...]


def read_problem(
    instance: Instance,
    vehicles_first: bool = False,
    neighbours: int = 100,
    beside: int = 40,
    is_time_up: Callable[[], bool] | None = None,
) -> SearchProblem:
    """Measure all legs of an instance with limits, and list near customers.

    Parameters
    ----------
    instance
        Any problem.
    vehicles_first
        Whether fewer routes are better, whatever their length.
    neighbours, beside
        How many near customers to list for each node, and how many predecessors and successors.
    is_time_up
        Called every few milliseconds; returning true gives up.

    Raises
    ------
    OutOfTimeError
        If the time was up before the problem was ready.
    """
    require_memory(memory_for_limits(instance.size, count_matrices(instance)))
    absence_price, vehicle_price = price_absence(instance, vehicles_first)
    if instance.rules:
        problem = _read_with_rules(instance, absence_price, neighbours, beside, is_time_up)
    else:
        problem = _read_without_rules(instance, neighbours, beside, is_time_up)
    return problem._replace(absence_price=absence_price, vehicle_price=vehicle_price, limited=ON)


def _read_without_rules(
    instance: Instance, neighbours: int, beside: int, is_time_up: Callable[[], bool] | None
) -> SearchProblem:
    """Read a problem with windows and limits only."""
    size = instance.size
    distances, durations = np.zeros((size + 3, size + 3)), np.zeros((size + 3, size + 3))
    for rows in list_matrix_rows(size + 1, is_time_up):
        origins, nodes = np.arange(rows.start, rows.stop)[:, None], np.arange(size + 1)
        distances[rows, : size + 1] = instance.leg_lengths(origins, nodes)
        if instance.has_times:
            durations[rows, : size + 1] = instance.leg_durations(origins, nodes)
    distances[:, size + 1], durations[:, size + 1] = distances[:, 0], durations[:, 0]
    pace = _find_pace(distances, durations)
    if instance.service is not None and instance.has_times:
        durations[: size + 1] += instance.service[:, None]
    earliest, latest = np.zeros(size + 3), np.full(size + 3, np.inf)
    if instance.windows is not None:
        earliest[1 : size + 1], latest[1 : size + 1] = instance.windows[1:].T
    latest += _TOLERANCE
    demands = np.append(instance.demands, (0, 0)).astype(np.int64)
    kinds = _list_kinds(instance)
    near, before, after, is_before = _list_near(
        distances, durations, earliest, latest, pace, min(neighbours, size - 1), min(beside, size - 1), is_time_up
    )
    return SearchProblem(
        distances=distances,
        demands=demands,
        capacity=int(kinds.capacities.max()),
        neighbours=near,
        durations=durations,
        earliest=earliest,
        latest=latest,
        kinds=kinds,
        alone=_price_alone(distances, durations, demands, earliest, latest, kinds),
        before=before,
        after=after,
        is_before=is_before,
        has_durations=bool(np.isfinite(kinds.durations).any()),
    )


def _read_with_rules(
    instance: Instance,
    absence_price: float,
    neighbours: int,
    beside: int,
    is_time_up: Callable[[], bool] | None,
) -> SearchProblem:
    """Read a problem with rules; what a route to one customer costs is still missing."""
    code = name_rules_code(instance)
    size, rules = instance.size, read_rules(instance, absence_price, is_time_up)
    distances, durations = rules.distances[0], rules.durations[0]
    earliest, latest = rules.windows[:, 0, 0].copy(), rules.windows[:, -1, 1].copy()
    demands = np.zeros(size + len(rules.sites) + 3, dtype=np.int64)
    demands[: size + 1] = instance.demands.reshape(size + 1, -1)[:, 0]
    kinds = _list_kinds(instance)
    customers = np.r_[0 : size + 1, len(distances) - 2 : len(distances)]
    among = np.ix_(customers, customers)
    pace = _find_pace(np.minimum(distances[among], FORBIDDEN / size**2), durations[among])
    near, before, after, is_before = _list_near(
        distances[among],
        durations[among],
        earliest[customers],
        latest[customers],
        pace,
        min(neighbours, size - 1),
        min(beside, size - 1),
        is_time_up,
    )
    is_before_any = np.zeros(distances.shape, dtype=np.bool_)
    is_before_any[: size + 1, : size + 1] = is_before[: size + 1, : size + 1]
    has_durations = np.isfinite(kinds.durations).any() or rules.per_second.any() or rules.overtime[:, 1].any()
    return SearchProblem(
        distances=distances,
        demands=demands,
        capacity=int(kinds.capacities.max()),
        neighbours=near,
        durations=durations,
        earliest=earliest,
        latest=latest,
        kinds=kinds,
        alone=np.full((len(distances), len(kinds.counts)), np.inf),
        before=before,
        after=after,
        is_before=is_before_any,
        has_durations=bool(has_durations),
        rules=rules,
        paired=ON if "shipments" in code else OFF,
        optional=ON if "prizes" in code or "driving" in code or "reloads" in code else OFF,
        driven=ON if "driving" in code or "reloads" in code else OFF,
        reloading=ON if "reloads" in code else OFF,
    )


def list_served_alone(problem: SearchProblem) -> list[int]:
    """The customers, and of shipments the pickups."""
    return [customer for customer in range(1, problem.size + 1) if problem.rules.roles[customer] <= PICKUP]


def list_required(problem: SearchProblem) -> list[int]:
    """The customers who must be served, of shipments the pickups, and of alternatives the first."""
    if not problem.rules:
        return list(range(1, problem.size + 1))
    rules = problem.rules
    orders = [customer for customer in list_served_alone(problem) if rules.orders[customer] == customer]
    return [customer for customer in orders if np.isinf(rules.prizes[customer])]


def begin_routes(problem: SearchProblem, routes: TypedRoutes) -> TypedRoutes:
    """Add the beginnings of routes that vehicles have begun, and take their stops off all other routes."""
    if not problem.driven or not problem.rules.beginnings.any():
        return routes
    begun = {kind: tuple(stops[stops > 0].tolist()) for kind, stops in enumerate(problem.rules.beginnings)}
    begun = {kind: stops for kind, stops in begun.items() if stops}
    fixed = {stop for stops in begun.values() for stop in stops}
    others = []
    for kind, *stops in routes:
        left = tuple(stop for stop in stops if stop not in fixed)
        if kind in begun:
            others.append((kind, *begun.pop(kind), *left))
        elif left:
            others.append((kind, *left))
    return (*others, *((kind, *stops) for kind, stops in begun.items()))


def number_visits(problem: SearchProblem, routes: TypedRoutes) -> TypedRoutes:
    """Number the visits to load again in order, each place's apart; a route for which none is left is dropped."""
    if not problem.reloading:
        return routes
    free: dict[int, list[int]] = {}
    first_visit = problem.rules.customers + 1
    for visit, site in reversed(list(enumerate(problem.rules.sites.tolist(), start=first_visit))):
        free.setdefault(site, []).append(visit)
    numbered = []
    for kind, *stops in routes:
        sites = [find_site(problem, stop) for stop in stops]
        if any(sites.count(site) > len(free.get(site, ())) for site in sites if site >= 0):
            continue
        named = (stop if site < 0 else free[site].pop() for stop, site in zip(stops, sites, strict=True))
        numbered.append((kind, *named))
    return tuple(numbered)


def find_site(problem: SearchProblem, stop: int) -> int:
    """The node of the instance where a vehicle loads again at a stop; -1 if it serves a customer there."""
    visit = stop - problem.rules.customers - 1
    return int(problem.rules.sites[visit]) if 0 <= visit < len(problem.rules.sites) else -1


def count_fewest_routes(problem: SearchProblem) -> int:
    """A lower bound on the number of routes, by capacities and longest numbers of stops."""
    if problem.rules:
        return max(1, int(problem.rules.least.sum()))
    return max(
        _count_vehicles(int(problem.demands.sum()), problem.kinds.capacities, problem.kinds.counts),
        _count_vehicles(problem.size, problem.kinds.stops, problem.kinds.counts),
    )


def price_routes(problem: SearchProblem, routes: TypedRoutes) -> float:
    """The total length of routes plus the prices of missing customers and of vehicles."""
    absent = problem.size - sum(len(route) - 1 for route in routes)
    return problem.cost(routes) + problem.absence_price * absent + problem.vehicle_price * len(routes)


def _find_pace(distances: Lengths, durations: Lengths) -> float:
    """How far vehicles drive in a second on average; 0 if times are unknown."""
    seconds = durations.sum()
    return float(distances.sum() / seconds) if seconds > 0 else 0.0


def _count_vehicles(amount: int, limits: Longs, counts: Longs) -> int:
    """How many vehicles an amount needs, using the largest first."""
    needed = 0
    for limit, count in sorted(zip(limits.tolist(), counts.tolist(), strict=True), reverse=True):
        used = min(count, -(-amount // limit))
        needed, amount = needed + used, amount - used * limit
        if amount <= 0:
            break
    return needed


def price_absence(instance: Instance, vehicles_first: bool) -> tuple[float, float]:
    """The prices of a customer that is not served, and of a vehicle.

    If vehicles come first, a vehicle costs more than any difference in length, and a customer more than all vehicles.
    The customer is one who must be served.
    """
    customers = np.arange(1, instance.size + 1)
    if instance.rules:
        bound = bound_price(instance)
    else:
        bound = 2 * float((instance.leg_lengths(0, customers) + instance.leg_lengths(customers, 0)).sum()) + 1.0
    vehicle = bound if vehicles_first else 0.0
    return raise_for_priorities(instance, bound + instance.size * vehicle), vehicle


def _list_kinds(instance: Instance) -> Kinds:
    vehicles = [group.merged for group in instance.alike_types]
    size = instance.size + len(list_sites(instance, vehicles))
    days = [read_day(instance, each) for each in vehicles]
    longest = [
        min(
            math.inf if each.max_duration is None else each.max_duration,
            math.inf if each.overtime is None else each.overtime.after + each.overtime.at_most,
        )
        for each in vehicles
    ]
    usual = FORBIDDEN / 2 if instance.rules else None  # routes with forbidden legs are too long
    return Kinds(
        capacities=np.array([each.capacities[0] for each in vehicles], dtype=np.int64),
        counts=np.array([min(size, each.count or size) for each in vehicles], dtype=np.int64),
        stops=np.array([min(size, each.max_stops or size) for each in vehicles], dtype=np.int64),
        distances=_read_limits(usual if each.max_distance is None else each.max_distance for each in vehicles),
        durations=_read_limits(longest),
        starts=np.array([earliest for earliest, _ in days]),
        ends=np.array([latest for _, latest in days]) + _TOLERANCE,
        end_nodes=find_end_nodes(instance, vehicles),
    )


def _read_limits(values: Iterable[float | None]) -> Lengths:
    return np.array([np.inf if value is None else value + _TOLERANCE for value in values])


def _price_alone(
    distances: Lengths, durations: Lengths, demands: Longs, earliest: Lengths, latest: Lengths, kinds: Kinds
) -> Lengths:
    prices = np.empty((len(demands), len(kinds.counts)))
    for kind, end_node in enumerate(kinds.end_nodes.tolist()):  # one by one, because there may be a thousand
        lengths, outward, onward = distances[0] + distances[:, end_node], durations[0], durations[:, end_node]
        begins = np.maximum(kinds.starts[kind] + outward, earliest)
        fits = demands <= kinds.capacities[kind]
        fits &= (begins <= latest) & (begins + onward <= kinds.ends[kind])
        fits &= lengths <= kinds.distances[kind]
        fits &= outward + onward <= kinds.durations[kind]  # leaving late avoids waiting
        prices[:, kind] = np.where(fits, lengths, np.inf)
    return prices


def _list_near(
    distances: Lengths,
    durations: Lengths,
    earliest: Lengths,
    latest: Lengths,
    pace: float,
    neighbours: int,
    beside: int,
    is_time_up: Callable[[], bool] | None,
) -> tuple[Nodes, Nodes, Nodes, NDArray[np.bool_]]:
    """List the neighbours, predecessors and successors of each node; and the predecessors as a matrix.

    After T. Vidal et al. (2013): waiting between two customers counts as distance.
    """
    nodes, among = len(distances), len(distances) - 2
    near = np.zeros((nodes, neighbours), dtype=np.int32)
    before, after = np.full((nodes, beside), -1, dtype=np.int32), np.full((nodes, beside), -1, dtype=np.int32)
    is_before = np.zeros((nodes, nodes), dtype=np.bool_)
    everyone = slice(0, among)
    for rows in list_matrix_rows(among, is_time_up):
        onward = _weigh(rows, everyone, distances, durations, earliest, latest, pace)
        back = np.ascontiguousarray(_weigh(everyone, rows, distances, durations, earliest, latest, pace).T)
        list_nearest(np.minimum(onward, back), rows.start, near[rows])
        for listed, weights in ((after, onward), (before, back)):
            list_nearest(weights, rows.start, listed[rows])
            listed[rows][np.isinf(np.take_along_axis(weights, listed[rows], axis=1))] = -1
        for place in range(beside):
            chosen = before[rows, place]
            is_before[chosen[chosen > 0], np.arange(rows.start, rows.stop)[chosen > 0]] = True
    return near, before, after, is_before


def _weigh(
    origins: slice,
    destinations: slice,
    distances: Lengths,
    durations: Lengths,
    earliest: Lengths,
    latest: Lengths,
    pace: float,
) -> Lengths:
    """The distance between consecutive customers, including waiting; infinite if they cannot be consecutive."""
    taken = durations[origins, destinations]
    waiting = earliest[destinations] - (latest[origins, None] + taken)
    weights = distances[origins, destinations] + _WAITING_WEIGHT * pace * np.maximum(waiting, 0.0)
    weights[earliest[origins, None] + taken > latest[destinations]] = np.inf
    return weights
