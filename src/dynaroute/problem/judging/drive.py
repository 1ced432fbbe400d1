"""How a route is driven in time, for `check`: stop by stop, with breaks wherever they do least harm.

A route ends as early as it can, and departs as late as that allows. Breaks are tried at every place where the vehicle
stands, because nothing else is certain to find the best; there are few breaks, and few places in their windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.legs import (
    arrive_after,
    find_hours,
    leave_for,
    list_windows,
    seconds_of_leg,
    seconds_of_stop,
)
from dynaroute.problem.working_day import Break


@dataclass(frozen=True)
class Drive:
    """The times of a route.

    Attributes
    ----------
    starts
        When each service or loading begins, departing as early as possible.
    rides
        For each shipment's pickup on the route, seconds beyond its longest ride, departing as late as possible.
    lateness
        Seconds of each after its last window.
    departure, end
        The latest departure with the earliest end.
    driving
        Seconds of driving.
    late_cost
        Price of lateness.
    has_breaks
        Whether every break that is due has a place.
    """

    starts: tuple[float, ...]
    lateness: tuple[float, ...]
    departure: float
    end: float
    driving: float
    late_cost: float
    has_breaks: bool
    rides: tuple[tuple[int, float], ...] = ()

    @property
    def duration(self) -> float:
        """Seconds from departure to end."""
        return self.end - self.departure


_FEW = 2  # breaks after driving whose places are all tried; more are taken as late as possible


class _Event(NamedTuple):
    """A stop of the route, or a break (`stop` is -1)."""

    stop: int
    leg: float
    windows: list[tuple[float, float]]
    seconds: float


class _Rest(NamedTuple):
    """A break at a place: after so many halves of stops, a half being before or after its service."""

    place: int
    taken: Break


def drive_route(instance: Instance, route: Sequence[int], vehicle: VehicleType) -> Drive:
    """Find the times of a route; of all places for breaks, those that make it least late, long and dear."""
    visits, way_back = _list_visits(instance, route, vehicle)
    hours = find_hours(instance, vehicle)
    opening = max(_opening(instance, vehicle), _find_release(instance, route, -1))
    if not vehicle.breaks:
        return _drive(instance, route, visits, way_back, opening, hours, has_breaks=True)
    found: list[Drive] = []
    for rests, not_before in _list_rests(visits, way_back, vehicle.breaks, opening, hours):
        events = _insert_rests(visits, rests)
        drive = _drive(instance, route, events, way_back, max(opening, not_before), hours, has_breaks=True)
        if _are_breaks_right(vehicle.breaks, events, rests, drive, max(opening, not_before)):
            found.append(drive)
    missed = _drive(instance, route, visits, way_back, opening, hours, has_breaks=False)
    best = min(found, key=lambda drive: _rank(instance, route, vehicle, drive), default=missed)
    if _rank(instance, route, vehicle, best)[0] > 0 and _rank(instance, route, vehicle, missed)[0] == 0:
        return missed  # only the break is in the way
    return best


def price_time(vehicle: VehicleType, duration: float) -> float:
    """Price of a route's duration, with overtime."""
    extra = 0.0
    if vehicle.overtime is not None:
        extra = vehicle.overtime.cost * max(0.0, duration - vehicle.overtime.after)
    return vehicle.time_cost * duration + extra


def _opening(instance: Instance, vehicle: VehicleType) -> float:
    opening = list_windows(instance, instance.node_of(vehicle.start))[0][0]
    return max(opening, 0.0 if vehicle.shift is None else vehicle.shift[0])


def _find_release(instance: Instance, route: Sequence[int], stop: int) -> float:
    """Find when all goods of the trip that begins after a stop are there."""
    latest = 0.0
    for node in route[stop + 1 :]:
        if not 1 <= node <= instance.size:
            break
        latest = max(latest, 0.0 if instance.release is None else float(instance.release[node]))
    return latest


def _list_visits(instance: Instance, route: Sequence[int], vehicle: VehicleType) -> tuple[list[_Event], float]:
    """List the stops, and the seconds of the way from the last one to the end."""
    visits, here = [], instance.node_of(vehicle.start)
    for stop, node in enumerate(route):
        windows = list_windows(instance, node)
        if not 1 <= node <= instance.size:
            released = _find_release(instance, route, stop)
            windows = [(max(opens, released), max(closes, released)) for opens, closes in windows]
        leg = seconds_of_leg(instance, here, node, vehicle)
        visits.append(_Event(stop, leg, windows, seconds_of_stop(instance, node, vehicle)))
        here = node
    if vehicle.end == "open":
        return visits, 0.0
    return visits, seconds_of_leg(instance, here, instance.node_of(vehicle.end), vehicle)


def _drive(
    instance: Instance,
    route: Sequence[int],
    events: Sequence[_Event],
    way_back: float,
    opening: float,
    hours: Sequence[float],
    *,
    has_breaks: bool,
) -> Drive:
    """Drive a sequence of stops and breaks."""
    begins, end, _ = _begin_all(events, way_back, opening, hours)
    late = [max(0.0, begin - event.windows[-1][1]) for event, begin in zip(events, begins, strict=True)]
    latest = leave_for(end, way_back, hours)
    for event, begin in zip(reversed(events), reversed(begins), strict=True):
        latest -= event.seconds
        inside = [min(latest, closes) for opens, closes in event.windows if opens <= latest]
        latest = leave_for(max([begin, *inside]), event.leg, hours)
    lateness = [seconds for event, seconds in zip(events, late, strict=True) if event.stop >= 0]
    if any(seconds > TOLERANCE for event, seconds in zip(events, late, strict=True) if event.stop < 0):
        has_breaks = False
    cost = math.fsum(
        float(instance.late_costs[node]) * seconds
        for node, seconds in zip(route, lateness, strict=True)
        if seconds > 0 and is_soft(instance, node)
        if instance.late_costs is not None
    )
    starts = tuple(begin for event, begin in zip(events, begins, strict=True) if event.stop >= 0)
    departure = max(opening, latest)
    late_begins, _, driving = _begin_all(events, way_back, departure, hours)
    rides = tuple(_measure_rides(instance, route, events, late_begins))
    return Drive(starts, tuple(lateness), departure, end, driving, cost, has_breaks, rides)


def _begin_all(
    events: Sequence[_Event], way_back: float, departure: float, hours: Sequence[float]
) -> tuple[list[float], float, float]:
    """Begin stops and breaks as early as possible after a departure; returns when, the end, and the driving."""
    clock, begins, driven = departure, [], []
    for event in events:
        arrival = arrive_after(clock, event.leg, hours)
        driven.append(arrival - clock if hours else event.leg)
        clock = arrival
        begins.append(
            next((max(clock, opens) for opens, closes in event.windows if clock <= closes + TOLERANCE), clock)
        )
        clock = begins[-1] + event.seconds
    end = arrive_after(clock, way_back, hours)
    return begins, end, math.fsum([*driven, end - clock if hours else way_back])


def _measure_rides(
    instance: Instance, route: Sequence[int], events: Sequence[_Event], begins: Sequence[float]
) -> Iterator[tuple[int, float]]:
    if instance.max_ride is None or instance.partners is None or instance.is_pickup is None:
        return
    times = {route[event.stop]: (begin, event) for event, begin in zip(events, begins, strict=True) if event.stop >= 0}
    for node, (begin, event) in times.items():
        if 1 <= node <= instance.size and instance.is_pickup[node] and instance.partners[node] in times:
            ride = times[int(instance.partners[node])][0] - begin - event.seconds
            yield node, ride - float(instance.max_ride[node])


def is_soft(instance: Instance, node: int) -> bool:
    """Whether lateness at a node has a price instead of being forbidden."""
    costs = instance.late_costs
    return costs is not None and 1 <= node <= instance.size and math.isfinite(costs[node])


# Breaks


def _list_rests(
    visits: Sequence[_Event], way_back: float, breaks: Sequence[Break], opening: float, hours: Sequence[float]
) -> Iterator[tuple[list[_Rest], float]]:
    """List where breaks may be taken, and when to depart at the earliest so that others are not due."""
    fixed = [(each, each.window) for each in breaks if each.window is not None]
    due = next((each for each in breaks if each.after_driving is not None), None)
    clocks = _find_earliest(visits, opening, hours)
    # for each break in a window its places, or -1: it is over before the departure, or -2: the route ends before it
    options = [[-1, -2, *(place for place, clock in enumerate(clocks) if clock <= window[1])] for _, window in fixed]
    for choice in product(*options):
        taken = [_Rest(place, each) for place, (each, _) in zip(choice, fixed, strict=True) if place >= 0]
        before = max((window[1] for place, (_, window) in zip(choice, fixed, strict=True) if place == -1), default=0.0)
        for driven in [[]] if due is None else _list_rests_of_drivers(visits, way_back, due, taken):
            yield sorted([*taken, *driven], key=lambda rest: (rest.place, (rest.taken.window or (0.0,))[0])), before


def _find_earliest(visits: Sequence[_Event], opening: float, hours: Sequence[float]) -> list[float]:
    """Find when the vehicle stands before and after each service at the earliest."""
    clock, found = opening, []
    for visit in visits:
        found.append(arrive_after(clock, visit.leg, hours))
        clock = max(found[-1], visit.windows[0][0]) + visit.seconds
        found.append(clock)
    return found


def _list_rests_of_drivers(
    visits: Sequence[_Event], way_back: float, due: Break, taken: Sequence[_Rest]
) -> Iterator[list[_Rest]]:
    """List the places of as few breaks after driving as are needed."""
    latest: list[_Rest] = []  # each as late as possible, which needs the fewest
    for stop in range(len(visits)):
        driven = _longest_driving(visits[: stop + 1], 0.0, due, [*taken, *latest])
        if driven > _limit(due) and stop > 0:
            latest.append(_Rest(2 * stop - 1, due))
    if visits and _longest_driving(visits, way_back, due, [*taken, *latest]) > _limit(due):
        latest.append(_Rest(2 * len(visits) - 1, due))
    few = combinations(range(2 * len(visits)), len(latest)) if len(latest) <= _FEW else ()
    for rests in [latest, *([_Rest(place, due) for place in places] for places in few)]:
        if _longest_driving(visits, way_back, due, [*taken, *rests]) <= _limit(due):
            yield rests


def _limit(due: Break) -> float:
    return math.inf if due.after_driving is None else due.after_driving + TOLERANCE


def _longest_driving(visits: Sequence[_Event], way_back: float, due: Break, rests: Sequence[_Rest]) -> float:
    """Find the longest driving between breaks that are long enough."""
    places = {rest.place // 2 for rest in rests if rest.taken.duration >= due.duration}
    driven = longest = 0.0
    for stop, visit in enumerate(visits):
        driven += visit.leg
        longest = max(longest, driven)
        if stop in places:
            driven = 0.0
    return max(longest, driven + way_back)


def _insert_rests(visits: Sequence[_Event], rests: Sequence[_Rest]) -> list[_Event]:
    events = []
    for stop, visit in enumerate(visits):
        leg = visit.leg
        for rest in rests:
            if rest.place == 2 * stop:  # on arrival, before the service
                events.append(_Event(-1, leg, [rest.taken.window or (0.0, math.inf)], rest.taken.duration))
                leg = 0.0
        events.append(visit._replace(leg=leg))
        events += [
            _Event(-1, 0.0, [rest.taken.window or (0.0, math.inf)], rest.taken.duration)
            for rest in rests
            if rest.place == 2 * stop + 1
        ]
    return events


def _are_breaks_right(
    breaks: Sequence[Break], events: Sequence[_Event], rests: Sequence[_Rest], drive: Drive, opening: float
) -> bool:
    """Whether all breaks begin in time, and those left out are not due."""
    if not drive.has_breaks:
        return False
    taken = [rest.taken for rest in rests]
    left_out = [each for each in breaks if each.window is not None and each not in taken]
    return all(
        each.window is None or drive.end <= each.window[1] + TOLERANCE or opening >= each.window[1] for each in left_out
    )


def _rank(instance: Instance, route: Sequence[int], vehicle: VehicleType, drive: Drive) -> tuple[float, ...]:
    """Rank times: by what is forbidden, price, duration and end; rounded, so that equal ones are equal."""
    wrong = [seconds for node, seconds in zip(route, drive.lateness, strict=True) if not is_soft(instance, node)]
    if vehicle.end != "open":
        wrong.append(drive.end - list_windows(instance, instance.node_of(vehicle.end))[0][1])
    wrong.append(drive.end - (math.inf if vehicle.shift is None else vehicle.shift[1]))
    longest = math.inf if vehicle.max_duration is None else vehicle.max_duration
    if vehicle.overtime is not None:
        longest = min(longest, vehicle.overtime.after + vehicle.overtime.at_most)
    wrong += [drive.duration - longest, *(excess for _, excess in drive.rides)]
    forbidden = math.fsum(seconds for seconds in wrong if seconds > TOLERANCE)
    price = price_time(vehicle, drive.duration) + drive.late_cost
    return round(forbidden, 6), round(price, 6), round(drive.duration, 6), drive.end
