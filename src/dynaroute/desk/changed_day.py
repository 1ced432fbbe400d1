"""The problem of a day that has begun: what has happened is fixed, and goods on board stay where they are.

Every vehicle becomes a type of its own, so that the plan holds its name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers_from
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.desk.progress import VehicleProgress
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

_MOST_SPARE = 20  # unused vehicles of a type that get a name each
_LONGEST_SHIFT = 31 * 86400.0  # seconds, where a shift has no end
_ARRAYS = ("demands", "pickups", "service", "windows", "max_ride", "prizes", "priorities", "late_costs", "release")
_SETS = ("skills", "vehicles_allowed", "vehicles_forbidden")
_LABELS = ("same_vehicle", "one_of", "not_together")


@dataclass(frozen=True)
class ChangedDay:
    """The problem from now on, and the plan as far as it still holds.

    Attributes
    ----------
    instance
        The problem. Its vehicles are called as before.
    start
        The routes without cancelled customers and without what broken vehicles did not deliver.
    fetched
        Ids of customers whose goods are fetched from each broken vehicle, by its name.
    """

    instance: Instance
    start: Solution
    fetched: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Fetched:
    """Goods that another vehicle fetches from a broken one, for a customer."""

    customer: int
    vehicle: VehicleProgress


def change_day(
    instance: Instance,
    vehicles: Sequence[VehicleProgress],
    now: float,
    cancelled: Collection[int],
    broken: Collection[str],
) -> ChangedDay:
    """Make the problem of the rest of the day.

    Parameters
    ----------
    instance
        The problem of the whole day, with new customers.
    vehicles
        Where the vehicle of each route is; their stops in the numbers of this instance.
    now
        Seconds since midnight.
    cancelled
        Customers who want nothing any more, whom no vehicle has reached or drives to.
    broken
        Names of vehicles that go no further.
    """
    stranded = [vehicle for vehicle in vehicles if vehicle.name in broken]
    fetched = [
        _Fetched(customer, vehicle)
        for vehicle in stranded
        for customer in (*vehicle.list_loaded(instance), *vehicle.list_collected(instance))
        if customer not in cancelled
    ]
    nodes = _Numbers(instance, cancelled, len(fetched))
    fleet, kinds, names_of_type = _split_fleet(instance, vehicles, now, cancelled, broken, nodes)
    fields = nodes.take_fields(fetched, names_of_type)
    _pin_what_happened(instance, fields, nodes, vehicles, broken)
    _keep_goods_on_board(instance, fields, nodes, vehicles, broken, now)
    _fetch_goods(instance, fields, nodes, fetched, now)
    if not any(fields["vehicles_forbidden"]):
        del fields["vehicles_forbidden"]
    changed = replace(instance, **fields, vehicles=fleet, locked=(), usual_vehicles=None, change_cost=0.0)
    routes = [nodes.number(_remaining(vehicle, broken)) for vehicle in vehicles]
    driven = [(route, kind) for route, kind in zip(routes, kinds, strict=True) if route and kind is not None]
    start = Solution(tuple(route for route, _ in driven), vehicles=tuple(kind for _, kind in driven))
    told = {
        vehicle.name: tuple(instance.customer_name(each.customer) for each in fetched if each.vehicle is vehicle)
        for vehicle in stranded
    }
    return ChangedDay(changed, start, told)


def _remaining(vehicle: VehicleProgress, broken: Collection[str]) -> tuple[int, ...]:
    return vehicle.stops[: vehicle.made] if vehicle.name in broken else vehicle.stops


class _Numbers:
    """The numbers of customers after some are gone and others, at broken vehicles, have joined."""

    def __init__(self, instance: Instance, cancelled: Collection[int], joining: int) -> None:
        self._instance = instance
        self.kept = [node for node in range(1, instance.size + 1) if node not in cancelled]
        self.size = len(self.kept) + joining
        self._new = {node: number for number, node in enumerate(self.kept, start=1)} | {0: 0}
        self._new |= {instance.size + place: self.size + place for place in range(1, len(instance.places) + 1)}

    def of(self, node: int) -> int:
        """The new number of a node that is still there."""
        return self._new[node]

    def number(self, stops: Sequence[int]) -> tuple[int, ...]:
        """Number the stops that are still there."""
        return tuple(self._new[node] for node in stops if node in self._new)

    def take_fields(self, fetched: Sequence[_Fetched], names_of_type: Mapping[str, frozenset[str]]) -> dict[str, Any]:
        """Take what the instance knows of these nodes; goods to fetch begin as copies of their customers."""
        instance = self._instance
        nodes = [0, *self.kept, *(each.customer for each in fetched)]
        fields: dict[str, Any] = {}
        for name in _ARRAYS:
            values = getattr(instance, name)
            fields[name] = None if values is None else np.array(values[nodes])
        for name in (*_SETS, *_LABELS):
            values = getattr(instance, name)
            fields[name] = None if values is None else [values[node] for node in nodes]
        for name in ("vehicles_allowed", "vehicles_forbidden"):
            rows = fields[name] or [frozenset[str]()] * len(nodes)
            fields[name] = [frozenset[str]().union(*(names_of_type.get(word, {word}) for word in row)) for row in rows]
        partners = np.zeros(len(nodes), dtype=np.intp)
        if instance.partners is not None:
            partners[1 : len(self.kept) + 1] = [self._new.get(int(instance.partners[node]), 0) for node in self.kept]
        fields["partners"] = partners
        return {**fields, **self._take_places(fetched), **self._take_words(fetched)}

    def _take_places(self, fetched: Sequence[_Fetched]) -> dict[str, Any]:
        """Take coordinates and matrices; goods to fetch are where their vehicle stands."""
        instance = self._instance
        places = list(range(instance.size + 1, instance.node_count))
        stands = [_find_nearest_node(instance, each.vehicle) for each in fetched]
        rows = [0, *self.kept, *stands, *places]
        square = np.ix_(rows, rows)
        fields: dict[str, Any] = {
            name: None if getattr(instance, name) is None else np.array(getattr(instance, name)[square])
            for name in ("distances", "durations")
        }
        fields["profiles"] = tuple(
            replace(
                each,
                distances=None if each.distances is None else each.distances[square],
                durations=None if each.durations is None else each.durations[square],
            )
            for each in instance.profiles
        )
        if instance.coordinates is not None:
            coordinates = np.array(instance.coordinates[rows])
            for number, each in enumerate(fetched, start=len(self.kept) + 1):
                coordinates[number] = _locate(instance, each.vehicle)
            fields["coordinates"] = coordinates
        return fields

    def _take_words(self, fetched: Sequence[_Fetched]) -> dict[str, Any]:
        instance = self._instance
        names = [instance.customer_name(node) for node in self.kept]
        for each in fetched:
            wanted = f"{instance.customer_name(each.customer)} from {each.vehicle.name}"
            names.append(next(name for name in _vary(wanted) if name not in names))
        details = instance.details
        rows = () if details is None else tuple(details.rows[node] for node in (0, *self.kept))
        blank = ("",) * (0 if details is None else len(details.columns))
        has_names = instance.customer_names is not None or len(self.kept) < instance.size or bool(fetched)
        return {
            "customer_names": tuple(names) if has_names else None,
            "details": None if details is None else Details(details.columns, (*rows, *(blank for _ in fetched))),
        }


def _vary(name: str) -> Any:
    yield name
    yield from (f"{name} ({number})" for number in numbers_from(2))


def _find_nearest_node(instance: Instance, vehicle: VehicleProgress) -> int:
    """The last node that a vehicle was at, for matrices, which know no place between two nodes."""
    return vehicle.stops[vehicle.made - 1] if vehicle.made else instance.start_nodes[vehicle.kind]


def _locate(instance: Instance, vehicle: VehicleProgress) -> NDArray[np.float64]:
    """Find the position of a vehicle: on the straight line to its next stop."""
    assert instance.coordinates is not None
    here = instance.coordinates[_find_nearest_node(instance, vehicle)]
    has_matrix = instance.distances is not None or instance.durations is not None or bool(instance.profiles)
    if vehicle.made == len(vehicle.stops) or has_matrix:
        return np.array(here)
    return np.array(here + vehicle.share_of_leg * (instance.coordinates[vehicle.stops[vehicle.made]] - here))


# Vehicles


def _split_fleet(
    instance: Instance,
    vehicles: Sequence[VehicleProgress],
    now: float,
    cancelled: Collection[int],
    broken: Collection[str],
    nodes: _Numbers,
) -> tuple[tuple[VehicleType, ...], list[int | None], dict[str, frozenset[str]]]:
    """Make a type for every vehicle: all types, that of each route, and the names of each former type's vehicles."""
    fleet: list[VehicleType] = []
    kinds: list[int | None] = []
    names_of_type: dict[str, frozenset[str]] = {kind.name: frozenset() for kind in instance.fleet if kind.name}

    def add(kind: int, vehicle: VehicleType) -> None:
        fleet.append(vehicle)
        if name := instance.fleet[kind].name:
            names_of_type[name] |= {vehicle.name}

    for vehicle in vehicles:
        own = _make_type(instance, vehicle, now, cancelled, broken, nodes)
        kinds.append(None if own is None else len(fleet))
        if own is not None:
            add(vehicle.kind, own)
    used = Counter(vehicle.kind for vehicle in vehicles)
    taken = {vehicle.name for vehicle in vehicles} | {kind.name for kind in instance.fleet}
    for index, kind in enumerate(instance.fleet):
        left = None if kind.count is None else kind.count - used[index]
        spare = _MOST_SPARE if left is None else min(left, _MOST_SPARE)
        for number in range(spare):
            is_last = number == spare - 1
            rest = (None if left is None else left - number) if is_last else 1
            name = kind.name if kind.name and not used[index] and number == 0 else _name_next(kind.name, taken)
            taken.add(name)
            add(index, replace(kind, name=name, count=rest, min_vehicles=0, shift=_begin_shift(kind, now)))
    return tuple(fleet), kinds, names_of_type


def _name_next(name: str, taken: Collection[str]) -> str:
    return next(
        called
        for called in (f"{name or 'Vehicle'} {number}" for number in numbers_from(2 if name else 1))
        if called not in taken
    )


def _make_type(
    instance: Instance,
    vehicle: VehicleProgress,
    now: float,
    cancelled: Collection[int],
    broken: Collection[str],
    nodes: _Numbers,
) -> VehicleType | None:
    """Make the type of one vehicle: what it has done, what it may still do; None if it drives no more at all."""
    kind = replace(instance.fleet[vehicle.kind], name=vehicle.name, count=1, min_vehicles=0)
    if vehicle.name in broken:
        made = nodes.number(vehicle.stops[: vehicle.made])
        return replace(kind, beginning=made, end="open", max_stops=_count(nodes, made)) if _count(nodes, made) else None
    if not vehicle.has_left:
        return replace(kind, shift=_begin_shift(kind, now))
    loaded = np.array(kind.initial_loads) + sum(
        (instance.demands[node].reshape(-1) for node in vehicle.list_loaded(instance) if node in cancelled),
        np.zeros(len(kind.capacities), dtype=np.int64),
    )
    begun = nodes.number(vehicle.stops[: vehicle.frozen])
    has_ended = vehicle.is_heading_home and not kind.reload
    return replace(
        kind,
        beginning=begun,
        initial_load=tuple(map(int, loaded)),
        max_stops=_count(nodes, begun) if has_ended else kind.max_stops,
    )


def _count(nodes: _Numbers, stops: Sequence[int]) -> int:
    return sum(0 < stop <= nodes.size for stop in stops)


def _begin_shift(kind: VehicleType, now: float) -> tuple[float, float]:
    earliest, latest = kind.shift or (0.0, now + _LONGEST_SHIFT)
    return max(earliest, now), max(latest, now)


# Customers


def _pin_what_happened(
    instance: Instance,
    fields: dict[str, Any],
    nodes: _Numbers,
    vehicles: Sequence[VehicleProgress],
    broken: Collection[str],
) -> None:
    """Fix the start of service at all stops that were reached or are driven to, so that no choice can move them."""
    if fields["windows"] is None:
        fields["windows"] = np.tile([0.0, math.inf], (nodes.size + 1, 1))
    for vehicle in vehicles:
        done = vehicle.made if vehicle.name in broken else vehicle.frozen
        for stop in vehicle.times.stops[:done]:
            if 0 < stop.customer <= instance.size and _is_in_time(instance, stop.customer, stop.start):
                fields["windows"][nodes.of(stop.customer)] = stop.start


def _is_in_time(instance: Instance, customer: int, start: float) -> bool:
    """Whether a start lies in a window; one that does not is late whatever happens, and stays so."""
    windows = instance.windows_of(customer) or [(0.0, math.inf)]
    return any(opens - TOLERANCE <= start <= closes + TOLERANCE for opens, closes in windows)


def _keep_goods_on_board(
    instance: Instance,
    fields: dict[str, Any],
    nodes: _Numbers,
    vehicles: Sequence[VehicleProgress],
    broken: Collection[str],
    now: float,
) -> None:
    """Keep deliveries with the vehicle that has their goods, and all others away from vehicles that have left."""
    left = [vehicle for vehicle in vehicles if vehicle.has_left and vehicle.name not in broken]
    holder = {node: vehicle.name for vehicle in left for node in vehicle.list_loaded(instance)}
    fixed = {node for vehicle in vehicles for node in vehicle.stops[: vehicle.made]}
    fixed |= {node for vehicle in left for node in vehicle.stops[: vehicle.frozen]}
    may_return = {vehicle.name for vehicle in left if instance.fleet[vehicle.kind].reload}
    home = {vehicle.name for vehicle in left if vehicle.is_heading_home}
    gone = {vehicle.name for vehicle in left} - may_return
    release = np.zeros(nodes.size + 1) if fields["release"] is None else fields["release"]
    for node in nodes.kept:
        number = nodes.of(node)
        if node in fixed:
            continue
        if node in holder:
            fields["vehicles_allowed"][number] = frozenset({holder[node]})
        elif not instance.demands[node].any() or (instance.partners is not None and instance.partners[node]):
            fields["vehicles_forbidden"][number] |= home
        else:  # its goods are at the depot
            fields["vehicles_forbidden"][number] |= gone
            release[number] = max(release[number], now if may_return else 0.0)
    if release.any():
        fields["release"] = release
    if not any(fields["vehicles_allowed"]):
        fields["vehicles_allowed"] = None


def _fetch_goods(
    instance: Instance, fields: dict[str, Any], nodes: _Numbers, fetched: Sequence[_Fetched], now: float
) -> None:
    """Turn what broken vehicles did not deliver into shipments from where they stand."""
    partners, demands = fields["partners"], fields["demands"]
    if fetched and fields["pickups"] is None:
        fields["pickups"] = np.zeros_like(demands)
    for number, each in enumerate(fetched, start=len(nodes.kept) + 1):
        customer = nodes.of(each.customer)
        if fields["pickups"][customer].any():
            raise UnsupportedError(
                f"{instance.customer_name(each.customer)} gets goods and gives others back, so another vehicle cannot "
                f"bring what {each.vehicle.name} has on board.",
                where=Where(field="broken"),
                remedy="Cancel it, and add what it gives back as a new customer.",
            )
        if partners[customer]:  # collected already: what was handed over is a pickup of its own now
            partners[partners[customer]] = 0
        partners[customer], partners[number] = number, customer
        fields["pickups"][number], demands[number] = demands[customer], 0
        fields["windows"][number] = _from_now_on(fields["windows"][number], now)
        for name, usual in (("service", 0.0), ("release", 0.0), ("late_costs", math.inf), ("max_ride", math.inf)):
            if fields[name] is not None:
                fields[name][number] = usual
        if fields["prizes"] is not None and math.isfinite(fields["prizes"][number]):
            fields["prizes"][number] = 0.0
        for name in ("same_vehicle", "one_of", "not_together"):
            if fields[name] is not None:
                fields[name][number] = ""
        if fields["one_of"] is not None:  # it was chosen, so its goods are an order of their own
            fields["one_of"][customer] = ""
    if not partners.any():
        fields["partners"] = None


def _from_now_on(windows: NDArray[np.float64], now: float) -> NDArray[np.float64]:
    """A window from now on, in the shape of the others."""
    return np.broadcast_to([now, math.inf], windows.shape)
