"""Driving a route stop by stop, for rules that need it: breaks, lateness at a price, releases, durations with windows.

It mirrors the drive of `check`: a route ends as early as it can, and departs as late as that allows. Breaks in windows
are where they make the route end earliest, and breaks after driving as late as possible; `check` tries more places, so
it never finds a plan dearer or later than the search does.
"""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.tours import AFTER, FIRST, KIND, Tours
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.bounds import PER_HOUR
from dynaroute.search.with_limits.rules import DELIVERY, RELOAD

_LEG, _SECONDS, _BEGIN, _NODE = 0, 1, 2, 3  # columns of Tours.events
_REST = -10  # a break after driving among events; one in a window is -1 minus its number
_HOURS, _DAY = 24, 86400.0
_MOST_MASKS = 4  # sets of two breaks in windows


@compiled_apart
def write_path(
    tours: Tours, slot: int, stop: int, previous: int, other: int, before: int, problem: SearchProblem
) -> int:
    """Write the stops of a route with up to two further ones, each after another stop; returns their number."""
    size, path, count = len(problem.demands) - 3, tours.path, 0
    here = problem.rules.start_nodes[tours.slots[slot, KIND]]
    following = tours.slots[slot, FIRST]
    while True:
        if stop > 0 and here == previous:
            path[count] = stop
            count += 1
        if other > 0 and (here == before or (stop > 0 and here == previous and before == stop)):
            path[count] = other
            count += 1
        if following > size:
            return count
        path[count] = following
        count += 1
        here, following = following, tours.nodes[following, AFTER]


@compiled_apart
def drive_path(tours: Tours, count: int, kind: int, problem: SearchProblem) -> tuple[float, float]:
    """The duration of the written path, and the prices of lateness, of other vehicles than before, and of its shape.

    The duration is infinite if a rule forbids the path.
    """
    rules = problem.rules
    opening = max(problem.kinds.starts[kind], _find_release(tours, 0, count, problem))
    mask = -1 if rules.breaks.shape[1] > 0 else 0
    earliest = opening
    for attempt in range(-1, rules.breaks.shape[1]):
        if mask >= 0:
            break
        if attempt >= 0:  # who departs at the end of a window needs no break in it
            opening = max(earliest, rules.breaks[kind, attempt, 2])
        mask = _place_breaks(tours, count, kind, opening, problem) if opening < np.inf else -1
    if mask < 0:
        return np.inf, 0.0
    events, end, late = _go(tours, count, kind, opening, mask, problem)
    if end == np.inf or end > problem.kinds.ends[kind]:
        return np.inf, 0.0
    latest = _drive_leg(end, -_way_back(tours, count, kind, problem), kind, problem)
    for event in range(events - 1, -1, -1):
        latest -= tours.events[event, _SECONDS]
        inside, node = tours.events[event, _BEGIN], int(tours.events[event, _NODE])
        if node >= 0:
            for window in range(rules.windows.shape[1]):
                if rules.windows[node, window, 0] <= latest:
                    closes = rules.windows[node, window, 1]
                    if window == rules.windows.shape[1] - 1:
                        closes = rules.closes[node]
                    inside = max(inside, min(latest, closes))
        elif node > _REST:
            inside = max(inside, min(latest, rules.breaks[kind, -1 - node, 2]))
        else:
            inside = max(inside, latest)
        latest = _drive_leg(inside, -tours.events[event, _LEG], kind, problem)
    departure = max(opening, latest)
    if rules.hours.shape[0] > 0 and _drives_too_long(tours, count, kind, departure, mask, problem):
        return np.inf, 0.0
    for place in range(count):
        late += rules.changes[tours.path[place], kind]
    if len(problem.paired) > 0:
        if not _is_last_in_first_out(tours, count, problem):
            return np.inf, 0.0
        if not _are_rides_short(tours, count, kind, departure, mask, problem):
            return np.inf, 0.0
    late += _price_spread(tours, count, kind, problem)
    return float(end - departure), late + _price_balance(tours, count, kind, end - departure, problem)


@compiled_inline
def _price_spread(tours: Tours, count: int, kind: int, problem: SearchProblem) -> float:
    """The price of the distances of the written path's customers from its centre, the one from whom it is least."""
    rules, path, least = problem.rules, tours.path, np.inf
    if rules.spreads.shape[0] == 0:
        return 0.0
    profile = rules.profiles[kind]
    for place in range(count):
        price = 0.0
        if rules.roles[path[place]] == RELOAD:
            continue
        for other in range(count):
            if rules.roles[path[other]] != RELOAD:
                price += rules.spreads[profile, path[place], path[other]]
            if price >= least:
                break
        least = min(least, price)
    return float(least if least < np.inf else 0.0)


@compiled_inline
def _price_balance(tours: Tours, count: int, kind: int, span: float, problem: SearchProblem) -> float:
    """The price of more work than the target on the written path."""
    rules, amount = problem.rules, span
    of, weight, target, unit = rules.balance[0], rules.balance[1], rules.balance[2], rules.balance[3]
    if weight == 0.0:
        return 0.0
    if of == 2.0:
        amount = 0.0
        for place in range(count):
            amount += rules.roles[tours.path[place]] != RELOAD
    if of == 3.0:
        amount = float(_find_largest_load(tours, count, kind, problem))
    return float(weight * max(0.0, amount / unit - target) ** 2)


@compiled_inline
def _find_largest_load(tours: Tours, count: int, kind: int, problem: SearchProblem) -> int:
    """The largest load on board on the written path, in the first dimension."""
    rules, first, aboard, largest = problem.rules, 0, problem.rules.initial[kind, 0], 0
    while first <= count:
        last = first
        while last < count and rules.roles[tours.path[last]] != RELOAD:
            if rules.partners[tours.path[last]] == 0:
                aboard += rules.delivered[tours.path[last], 0]
            last += 1
        largest = max(largest, aboard)
        for place in range(first, last):
            aboard += rules.collected[tours.path[place], 0] - rules.delivered[tours.path[place], 0]
            largest = max(largest, aboard)
        first, aboard = last + 1, 0
    return int(largest)


@compiled_inline
def _is_last_in_first_out(tours: Tours, count: int, problem: SearchProblem) -> bool:
    """Whether every such shipment of the written path leaves before those that were loaded before it."""
    path, rules = tours.path, problem.rules
    for place in range(count):
        if not rules.lifo[path[place]] or rules.roles[path[place]] != DELIVERY:
            continue
        later, before = 0, place - 1  # of those loaded later, how many more leave than come, going backwards
        while path[before] != rules.partners[path[place]]:
            if rules.lifo[path[before]]:
                later += 1 if rules.roles[path[before]] == DELIVERY else -1
            if later < 0:
                return False
            before -= 1
    return True


@compiled_inline
def _are_rides_short(tours: Tours, count: int, kind: int, departure: float, mask: int, problem: SearchProblem) -> bool:
    """Whether nothing rides too long on the written path, departing late."""
    rides, events, shortest = problem.rules.rides, tours.events, np.inf
    for place in range(count):
        shortest = min(shortest, rides[tours.path[place], 1])
    if shortest == np.inf:
        return True
    written, _, _ = _go(tours, count, kind, departure, mask, problem)
    for event in range(written):
        pickup = int(events[event, _NODE])
        if pickup < 0 or rides[pickup, 1] == np.inf:
            continue
        latest = events[event, _BEGIN] + events[event, _SECONDS] + rides[pickup, 1]
        for other in range(event + 1, written):
            if events[other, _NODE] == rides[pickup, 0] and events[other, _BEGIN] > latest:
                return False
    return True


@compiled_inline
def _find_release(tours: Tours, first: int, count: int, problem: SearchProblem) -> float:
    """When all goods are there of the trip that begins with this place of the path."""
    latest = 0.0
    for place in range(first, count):
        if problem.rules.roles[tours.path[place]] == RELOAD:
            break
        latest = max(latest, problem.rules.release[tours.path[place]])
    return latest


@compiled_inline
def _drive_leg(time: float, seconds: float, kind: int, problem: SearchProblem) -> float:
    """When a leg of so many seconds ends that begins at this time; below 0, when one begins that ends then."""
    if problem.rules.hours.shape[0] == 0:
        return time + seconds
    return _drive_by_hour(time, seconds, kind, problem)


@compiled_apart
def _drive_by_hour(time: float, seconds: float, kind: int, problem: SearchProblem) -> float:
    """The same where the speed depends on the hour: the leg is that at the highest speed of the day."""
    hours = problem.rules.hours
    if abs(time) == np.inf:
        return time
    profile = problem.rules.profiles[kind]
    whole = hours[profile, _HOURS]
    day = np.floor(time / _DAY)
    rest = time - day * _DAY
    hour = min(int(rest / PER_HOUR), _HOURS - 1)
    share = (hours[profile, hour + 1] - hours[profile, hour]) / PER_HOUR
    goal = day * whole + hours[profile, hour] + (rest - hour * PER_HOUR) * share + seconds
    day = np.floor(goal / whole)
    rest, hour = goal - day * whole, 0
    while hour < _HOURS - 1 and hours[profile, hour + 1] <= rest:
        hour += 1
    share = (hours[profile, hour + 1] - hours[profile, hour]) / PER_HOUR
    return float(day * _DAY + hour * PER_HOUR + (rest - hours[profile, hour]) / share)


@compiled_apart
def _drives_too_long(tours: Tours, count: int, kind: int, departure: float, mask: int, problem: SearchProblem) -> bool:
    """Whether driving the written path takes too long, departing late, where the speed depends on the hour."""
    if problem.rules.driving[kind] == np.inf:
        return False
    written, _, _ = _go(tours, count, kind, departure, mask, problem)
    clock, driven, events = departure, 0.0, tours.events
    for event in range(written):
        arrival = _drive_leg(clock, events[event, _LEG], kind, problem)
        driven += arrival - clock
        clock = events[event, _BEGIN] + events[event, _SECONDS]
    driven += _drive_leg(clock, _way_back(tours, count, kind, problem), kind, problem) - clock
    return bool(driven > problem.rules.driving[kind])


@compiled_inline
def _measure_leg(tours: Tours, place: int, kind: int, problem: SearchProblem) -> float:
    """Seconds of the leg to a place of the path."""
    rules = problem.rules
    profile = rules.profiles[kind]
    previous = rules.start_nodes[kind] if place == 0 else tours.path[place - 1]
    seconds = rules.durations[profile, previous, tours.path[place]]
    return float(seconds if place == 0 else seconds - rules.service[profile, previous])


@compiled_inline
def _way_back(tours: Tours, count: int, kind: int, problem: SearchProblem) -> float:
    rules, last = problem.rules, tours.path[count - 1]
    profile = rules.profiles[kind]
    return float(rules.durations[profile, last, problem.kinds.end_nodes[kind]] - rules.service[profile, last])


@compiled_inline
def _begin(time: float, tours: Tours, place: int, count: int, problem: SearchProblem) -> float:
    """When service begins on arrival at a place of the path; infinite if that is forbidden."""
    stop = tours.path[place]
    if problem.rules.roles[stop] == RELOAD:
        time = max(time, _find_release(tours, place + 1, count, problem))
    windows = problem.rules.windows
    for index in range(windows.shape[1]):
        if time <= windows[stop, index, 1]:
            return float(max(time, windows[stop, index, 0]))
    return np.inf


@compiled_inline
def _go(
    tours: Tours, count: int, kind: int, opening: float, mask: int, problem: SearchProblem
) -> tuple[int, float, float]:
    """Drive the path with the breaks of a mask at their places: the number of events, the end, and late costs."""
    rules, events, written = problem.rules, tours.events, 0
    clock, late, driven = opening, 0.0, 0.0
    for place in range(count):
        leg = _measure_leg(tours, place, kind, problem)
        driven += leg
        clock = _drive_leg(clock, leg, kind, problem)
        stop, pending = tours.path[place], leg
        for half in range(2):
            if half == 1:
                begin = _begin(clock, tours, place, count, problem)
                seconds = rules.service[rules.profiles[kind], stop]
                events[written, _LEG], events[written, _SECONDS] = pending, seconds
                events[written, _BEGIN], events[written, _NODE] = begin, stop
                written, pending = written + 1, 0.0
                if begin > rules.closes[stop]:
                    late += rules.late[stop] * (begin - rules.closes[stop])
                clock = begin + seconds
            for rest in range(rules.breaks.shape[1]):
                if mask & (1 << rest) != 0 and tours.rests[mask, rest] == 2 * place + half:
                    begin = max(clock, rules.breaks[kind, rest, 1])
                    events[written, _LEG], events[written, _SECONDS] = pending, rules.breaks[kind, rest, 0]
                    events[written, _BEGIN], events[written, _NODE] = begin, -1 - rest
                    written, pending = written + 1, 0.0
                    clock = begin + rules.breaks[kind, rest, 0]
                    if rules.breaks[kind, rest, 0] >= rules.rests[kind, 0]:
                        driven = 0.0
        onward = _way_back(tours, count, kind, problem)
        if place + 1 < count:
            onward = _measure_leg(tours, place + 1, kind, problem)
        if driven + onward > rules.rests[kind, 1]:
            events[written, _LEG], events[written, _SECONDS] = 0.0, rules.rests[kind, 0]
            events[written, _BEGIN], events[written, _NODE] = clock, _REST
            written += 1
            clock += rules.rests[kind, 0]
            driven = 0.0
            if onward > rules.rests[kind, 1]:
                clock = np.inf
    if count > 0 and _measure_leg(tours, 0, kind, problem) > rules.rests[kind, 1]:
        clock = np.inf
    return written, _drive_leg(clock, _way_back(tours, count, kind, problem), kind, problem), late


@compiled_inline
def _place_breaks(tours: Tours, count: int, kind: int, opening: float, problem: SearchProblem) -> int:
    """Choose which breaks in windows are taken, and where, so that the route ends earliest; -1 if it cannot be.

    For each set of breaks, the places that end earliest so far are kept.
    """
    rules, clocks = problem.rules, tours.clocks
    breaks, masks = rules.breaks, 1 << rules.breaks.shape[1]
    for mask in range(masks):
        clocks[mask] = opening if mask == 0 else np.inf
        clocks[_MOST_MASKS + mask] = 0.0  # driven since the last long break
    for place in range(count):
        leg = _measure_leg(tours, place, kind, problem)
        onward = _way_back(tours, count, kind, problem)
        if place + 1 < count:
            onward = _measure_leg(tours, place + 1, kind, problem)
        for mask in range(masks):
            clocks[mask] = _drive_leg(clocks[mask], leg, kind, problem)
            clocks[_MOST_MASKS + mask] += leg
        for half in range(2):
            if half == 1:
                for mask in range(masks):
                    if clocks[mask] < np.inf:
                        clocks[mask] = _begin(clocks[mask], tours, place, count, problem)
                        clocks[mask] += rules.service[rules.profiles[kind], tours.path[place]]
            for rest in range(breaks.shape[1]):
                for mask in range(masks):
                    with_rest = mask | (1 << rest)
                    if with_rest == mask or clocks[mask] > breaks[kind, rest, 2]:
                        continue
                    clock = max(clocks[mask], breaks[kind, rest, 1]) + breaks[kind, rest, 0]
                    is_long = breaks[kind, rest, 0] >= rules.rests[kind, 0]
                    if half == 1 and not is_long and clocks[_MOST_MASKS + mask] + onward > rules.rests[kind, 1]:
                        continue  # not at the same place as a break after driving
                    if clock < clocks[with_rest]:
                        clocks[with_rest] = clock
                        driven = 0.0 if is_long else clocks[_MOST_MASKS + mask]
                        clocks[_MOST_MASKS + with_rest] = driven
                        for other in range(breaks.shape[1]):
                            tours.rests[with_rest, other] = tours.rests[mask, other]
                        tours.rests[with_rest, rest] = 2 * place + half
        for mask in range(masks):
            if clocks[_MOST_MASKS + mask] + onward > rules.rests[kind, 1]:
                clocks[mask] += rules.rests[kind, 0]
                clocks[_MOST_MASKS + mask] = 0.0
    best, best_end, back = -1, np.inf, _way_back(tours, count, kind, problem)
    for mask in range(masks):
        end = _drive_leg(clocks[mask], back, kind, problem)
        is_right = end < best_end
        for rest in range(breaks.shape[1]):
            latest = breaks[kind, rest, 2]
            if mask & (1 << rest) == 0 and end > latest and opening < latest:
                is_right = False
        if is_right:
            best, best_end = mask, end
    return best
