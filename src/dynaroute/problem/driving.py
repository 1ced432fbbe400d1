"""When a route with any rules is driven: all choices of places for breaks at once, as columns of arrays.

`check` has code of its own for this, `judging/drive.py`, which says what a route's times are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.profiles import Speeds
from dynaroute.problem.working_day import Break

_Floats = NDArray[np.float64]
_FEW = 2  # breaks after driving whose places are all tried; more are taken as late as possible


@dataclass(frozen=True)
class Timing:
    """The times of a route in seconds, a value for each of its stops, reloads included.

    Attributes
    ----------
    departure, end
        When it begins and ends.
    arrivals, starts, leaves
        Of each stop; breaks after service come before leaving.
    rests
        Seconds of breaks between arrival and start.
    breaks
        Each break: its start, its end, and after how many stops.
    driving
        Seconds of driving.
    late_cost
        Price of lateness.
    """

    departure: float
    end: float
    arrivals: tuple[float, ...]
    starts: tuple[float, ...]
    leaves: tuple[float, ...]
    rests: tuple[float, ...]
    breaks: tuple[tuple[float, float, int], ...]
    driving: float
    late_cost: float

    @property
    def duration(self) -> float:
        """Seconds from departure to end."""
        return self.end - self.departure

    def price(self, vehicle: VehicleType) -> float:
        """Price of its duration, overtime and lateness."""
        price = vehicle.time_cost * self.duration + self.late_cost
        if vehicle.overtime is not None:
            price += vehicle.overtime.cost * max(0.0, self.duration - vehicle.overtime.after)
        return price


@dataclass(frozen=True)
class RouteTask:
    """A route as arrays: seconds of each leg and of work at each stop, its windows, and the way to the end."""

    legs: _Floats
    windows: list[_Floats]
    work: _Floats
    late_costs: _Floats
    opening: float
    closings: tuple[float, ...]
    way_back: float
    rides: tuple[tuple[int, int, float], ...]  # places of a pickup and its delivery, and the longest ride
    speeds: Speeds | None = None

    def drive(self, departure: _Floats, seconds: float) -> _Floats:
        """When a leg of so many seconds ends; below 0, when one begins that ends then."""
        return departure + seconds if self.speeds is None else self.speeds.arrive(departure, seconds)


class _Rest(NamedTuple):
    """A break in many choices at once: the half of a stop where it is taken in each; -1 and -2 if it is not."""

    taken: Break
    places: NDArray[np.int64]

    @property
    def window(self) -> tuple[float, float]:
        return self.taken.window or (0.0, math.inf)


class _Event(NamedTuple):
    """When a stop (`rest` is None) or a break begins in many choices at once, and where it is."""

    stop: int
    half: int
    rest: _Rest | None
    begins: _Floats


def split_trips(instance: Instance, route: Sequence[int]) -> list[list[int]]:
    """Split a route at the places where it loads again."""
    trips: list[list[int]] = [[]]
    for node in route:
        if 0 < node <= instance.size:
            trips[-1].append(node)
        else:
            trips.append([])
    return trips


def list_loads(instance: Instance, route: Sequence[int], vehicle: VehicleType) -> NDArray[np.int64]:
    """Loads on board at the start and after each stop, (stops + 1, dimensions); a reload is a stop."""
    count = len(vehicle.capacities)
    demands = instance.demands.reshape(-1, count)
    pickups = np.zeros_like(demands) if instance.pickups is None else instance.pickups.reshape(-1, count)
    from_depot = demands if instance.partners is None else demands * (instance.partners == 0)[:, None]
    rows = []
    for number, trip in enumerate(split_trips(instance, route)):
        carried = from_depot[trip].sum(axis=0) + (0 if number else np.array(vehicle.initial_loads))
        changes = np.cumsum(pickups[trip] - demands[trip], axis=0)
        rows += [carried[None, :], carried + changes]
    return np.concatenate(rows)


def node_bounds(instance: Instance, node: int) -> tuple[float, float]:
    """When the first window of a depot or place opens, and closes."""
    if node > instance.size:
        return instance.places[node - instance.size - 1].bounds
    if instance.windows is None:
        return 0.0, math.inf
    earliest, latest = instance.windows[node].reshape(-1, 2)[0].tolist()
    return earliest, latest


def time_route(instance: Instance, route: Sequence[int], kind: int) -> Timing:
    """Find the times of a route driven by a vehicle type: it ends as early as it can, and then departs late.

    Parameters
    ----------
    instance
        With travel times.
    route
        Customers, and reloads as 0 or the nodes of places.
    kind
        Index of the vehicle type.
    """
    vehicle = instance.fleet[kind]
    task = read_task(instance, route, kind)
    rests, has_place = _list_choices(task, vehicle)
    opening = np.full(len(rests[0].places) if rests else 1, task.opening)
    for rest in rests:
        opening = np.where(rest.places == -1, np.maximum(opening, rest.window[1]), opening)
    departure, is_right, is_forbidden = _choose(task, vehicle, rests, opening)
    if (rests and (is_forbidden or not is_right)) or not has_place:
        without, _, is_forbidden = _choose(task, vehicle, [], np.array([task.opening]))
        if not (has_place and is_right and is_forbidden):  # no break has a place, or only a break is in the way
            return _read(task, [], without[1])
    best, when = departure
    return _read(task, [_Rest(rest.taken, rest.places[best : best + 1]) for rest in rests], when)


def _choose(
    task: RouteTask, vehicle: VehicleType, rests: Sequence[_Rest], opening: _Floats
) -> tuple[tuple[int, _Floats], bool, bool]:
    """Choose the best places for breaks: the choice and its departure, whether it has all breaks and is forbidden."""
    events, end, is_right = _forward(task, rests, opening)
    for rest in rests:
        if rest.taken.window is not None:
            is_left_out = (rest.places < 0) & (opening < rest.window[1])
            is_right &= ~(is_left_out & (end > rest.window[1] + TOLERANCE))
    departure = _backward(task, events, end, opening)
    too_long = _measure_rides(task, rests, departure)
    keys = _rank(task, vehicle, events, end - departure, end, is_right, too_long)
    best = int(np.lexsort(keys)[0])
    return (best, departure[best : best + 1]), bool(is_right[best]), bool(keys[-2][best] > 0)


def read_task(instance: Instance, route: Sequence[int], kind: int) -> RouteTask:
    """Read what a vehicle type needs for every leg and stop of a route.

    Parameters
    ----------
    instance, route, kind
        As for `time_route`.
    """
    vehicle, stops = instance.fleet[kind], np.array(route, dtype=np.intp)
    start, end = instance.start_nodes[kind], instance.end_nodes[kind]
    is_customer = (stops > 0) & (stops <= instance.size)
    served = np.where(is_customer, stops, 0)
    legs = instance.leg_durations(np.concatenate([[start], stops[:-1]]), stops, vehicle.profile) / vehicle.speed_factor
    work = np.zeros(len(stops)) if instance.service is None else instance.service[served] * vehicle.service_factor
    late_costs = np.full(len(stops), np.inf)
    if instance.late_costs is not None:
        late_costs = np.where(is_customer, instance.late_costs[served], np.inf)
    released = [
        0.0 if instance.release is None else float(instance.release[trip].max(initial=0.0))
        for trip in split_trips(instance, route)
    ]
    windows, trip = [], 0
    for stop, node in enumerate(route):
        if is_customer[stop]:
            several = [[0.0, math.inf]] if instance.windows is None else instance.windows[node].reshape(-1, 2)
            windows.append(np.asarray(several, dtype=np.float64) - (0.0, instance.buffer))
            continue
        trip += 1
        windows.append(np.maximum([node_bounds(instance, node)], released[trip]))
        work[stop] = vehicle.loading + (0.0 if node == 0 else instance.places[node - instance.size - 1].loading)
    opening = max(node_bounds(instance, start)[0], released[0], vehicle.shift[0] if vehicle.shift else 0.0)
    closings = [math.inf if vehicle.shift is None else vehicle.shift[1]]
    way_back = 0.0
    if end >= 0:
        closings.append(node_bounds(instance, end)[1])
        last = stops[-1] if len(stops) else start
        way_back = float(instance.leg_durations(last, end, vehicle.profile)) / vehicle.speed_factor
    rides = tuple(_list_rides(instance, route))
    speeds = instance.speeds_of(vehicle.profile)
    return RouteTask(legs, windows, work, late_costs, opening, tuple(closings), way_back, rides, speeds)


def _list_rides(instance: Instance, route: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    if instance.max_ride is None or instance.partners is None or instance.is_pickup is None:
        return
    places = {node: place for place, node in enumerate(route) if 0 < node <= instance.size}
    for node, place in places.items():
        delivery = places.get(int(instance.partners[node]))
        if instance.is_pickup[node] and delivery is not None and math.isfinite(instance.max_ride[node]):
            yield place, delivery, float(instance.max_ride[node])


def _measure_rides(task: RouteTask, rests: Sequence[_Rest], departure: _Floats) -> list[_Floats]:
    """Measure how much too long each ride is, departing late."""
    if not task.rides:
        return []
    begins = [event.begins for event in _forward(task, rests, departure)[0] if event.rest is None]
    return [begins[last] - begins[first] - task.work[first] - longest for first, last, longest in task.rides]


def _list_choices(task: RouteTask, vehicle: VehicleType) -> tuple[list[_Rest], bool]:
    """List all choices of places for the breaks of a vehicle, and whether there is any."""
    fixed = [each for each in vehicle.breaks if each.window is not None]
    due = next((each for each in vehicle.breaks if each.window is None), None)
    rows: list[tuple[int, ...]] = []
    for choice in product(range(-2, 2 * len(task.legs)), repeat=len(fixed)):
        if due is None:
            rows.append(choice)
            continue
        pairs = zip(choice, fixed, strict=True)
        resets = {place // 2 for place, each in pairs if place >= 0 and each.duration >= due.duration}
        rows += [(*choice, *added) for added in _place_after_driving(task, due, resets)]
    if not rows:  # some leg is too long without a break
        return [], False
    width = max(map(len, rows))
    table = np.array([(*row, *(-2,) * (width - len(row))) for row in rows], dtype=np.int64).reshape(len(rows), width)
    kinds = [*fixed, *([due] * (width - len(fixed)) if due is not None else ())]
    rests = [_Rest(each, table[:, column]) for column, each in enumerate(kinds)]
    return sorted(rests, key=lambda rest: rest.window[0]), True


def _place_after_driving(task: RouteTask, due: Break, resets: set[int]) -> list[tuple[int, ...]]:
    """List the places of as few breaks as are needed to drive no longer than allowed without one."""
    limit = math.inf if due.after_driving is None else due.after_driving + TOLERANCE

    def is_short(places: Sequence[int]) -> bool:
        ends = sorted({place // 2 for place in places} | resets)
        parts = np.split(task.legs, [stop + 1 for stop in ends])
        sums = [float(part.sum()) for part in parts]
        return max([*sums[:-1], sums[-1] + task.way_back]) <= limit

    latest: list[int] = []
    driven = 0.0
    for stop, leg in enumerate([*task.legs.tolist(), task.way_back]):
        if driven + leg > limit and stop > 0:
            latest.append(2 * stop - 1)
            driven = 0.0
        driven = 0.0 if stop in resets else driven + leg
    if not is_short(latest):
        return []
    if len(latest) > _FEW:
        return [tuple(latest)]
    return [places for places in combinations(range(2 * len(task.legs)), len(latest)) if is_short(places)]


def _forward(
    task: RouteTask, rests: Sequence[_Rest], departure: _Floats
) -> tuple[list[_Event], _Floats, NDArray[np.bool_]]:
    """Drive from a departure: what begins when, the end, and whether all breaks begin in time."""
    clock, events = departure, []
    is_right = np.ones(len(departure), dtype=bool)
    for stop, leg in enumerate(task.legs.tolist()):
        clock = task.drive(clock, leg)
        for half in (2 * stop, 2 * stop + 1):
            if half % 2:
                begins = np.full_like(clock, np.inf)
                for opens, closes in task.windows[stop].tolist():
                    begins = np.minimum(begins, np.where(clock <= closes + TOLERANCE, np.maximum(clock, opens), np.inf))
                begins = np.where(np.isinf(begins), clock, begins)  # late
                events.append(_Event(stop, half, None, begins))
                clock = begins + task.work[stop]
            for rest in rests:
                is_here = rest.places == half
                if not is_here.any():
                    continue
                begins = np.where(is_here, np.maximum(clock, rest.window[0]), clock)
                is_right &= ~is_here | (begins <= rest.window[1] + TOLERANCE)
                events.append(_Event(stop, half, rest, begins))
                clock = begins + np.where(is_here, rest.taken.duration, 0.0)
    return events, task.drive(clock, task.way_back), is_right


def _backward(task: RouteTask, events: Sequence[_Event], end: _Floats, opening: _Floats) -> _Floats:
    """Find the latest departure that keeps the end and makes nothing later than it is."""
    latest = task.drive(end, -task.way_back)
    before = len(task.legs)
    for event in reversed(events):
        for stop in range(before - 1, event.stop, -1):
            latest = task.drive(latest, -task.legs[stop])
        before = min(before, event.stop + 1)
        latest = latest - (task.work[event.stop] if event.rest is None else event.rest.taken.duration) * _is_here(event)
        windows = task.windows[event.stop].tolist() if event.rest is None else [event.rest.window]
        inside = event.begins
        for opens, closes in windows:
            inside = np.where(opens <= latest, np.maximum(inside, np.minimum(latest, closes)), inside)
        latest = np.where(_is_here(event), inside, latest)
    for stop in range(before - 1, -1, -1):
        latest = task.drive(latest, -task.legs[stop])
    return np.maximum(opening, latest)


def _is_here(event: _Event) -> NDArray[np.bool_]:
    return np.ones(len(event.begins), dtype=bool) if event.rest is None else event.rest.places == event.half


def _rank(
    task: RouteTask,
    vehicle: VehicleType,
    events: Sequence[_Event],
    duration: _Floats,
    end: _Floats,
    is_right: NDArray[np.bool_],
    rides: Sequence[_Floats],
) -> list[_Floats | NDArray[np.bool_]]:
    """Rank choices, as keys of `lexsort`, the last first: breaks, what is forbidden, price, duration, end."""
    longest = math.inf if vehicle.max_duration is None else vehicle.max_duration
    price = vehicle.time_cost * duration
    if vehicle.overtime is not None:
        longest = min(longest, vehicle.overtime.after + vehicle.overtime.at_most)
        price = price + vehicle.overtime.cost * np.maximum(0.0, duration - vehicle.overtime.after)
    wrong = [*(end - closing for closing in task.closings), duration - longest, *rides]
    for event in events:
        if event.rest is not None:
            continue
        lateness = np.maximum(0.0, event.begins - task.windows[event.stop][-1, 1])
        if np.isfinite(task.late_costs[event.stop]):
            price = price + task.late_costs[event.stop] * lateness
        else:
            wrong.append(lateness)
    forbidden = sum((np.where(excess > TOLERANCE, excess, 0.0) for excess in wrong), np.zeros_like(end))
    return [end, duration.round(6), price.round(6), forbidden.round(6), ~is_right]


def _read(task: RouteTask, rests: Sequence[_Rest], departure: _Floats) -> Timing:
    """Read the times of one choice."""
    events, end, _ = _forward(task, rests, departure)
    starts = [float(event.begins[0]) for event in events if event.rest is None]
    arrivals, leaves, rested, driven, late_cost = [], [], [], list[float](), 0.0
    leave = float(departure[0])
    for stop, (leg, start) in enumerate(zip(task.legs.tolist(), starts, strict=True)):
        arrivals.append(float(task.drive(np.array(leave), leg)))
        driven.append(arrivals[-1] - leave)
        here = [event.rest for event in events if event.rest is not None and event.stop == stop]
        before = [rest.taken.duration for rest in here if rest.places[0] % 2 == 0]
        after = [float(event.begins[0]) for event in events if event.rest is not None and event.half == 2 * stop + 1]
        rested.append(math.fsum(before))
        leave = start + float(task.work[stop])
        if after:
            last = next(event for event in reversed(events) if event.half == 2 * stop + 1)
            leave = after[-1] + (0.0 if last.rest is None else last.rest.taken.duration)
        leaves.append(leave)
        lateness = start - float(task.windows[stop][-1, 1])
        if lateness > 0 and np.isfinite(task.late_costs[stop]):
            late_cost += float(task.late_costs[stop]) * lateness
    breaks = tuple(
        (float(event.begins[0]), float(event.begins[0]) + event.rest.taken.duration, event.stop + event.half % 2)
        for event in events
        if event.rest is not None
    )
    driving = math.fsum([*task.legs.tolist(), task.way_back])
    if task.speeds is not None:
        driving = math.fsum([*driven, float(end[0]) - leave])
    return Timing(
        float(departure[0]),
        float(end[0]),
        tuple(arrivals),
        tuple(starts),
        tuple(leaves),
        tuple(rested),
        breaks,
        driving,
        late_cost,
    )
