"""Routes as they were before an iteration, so that it can be undone whatever it changed."""

from __future__ import annotations

from dynaroute.search.annealing.log import Log
from dynaroute.search.annealing.tours import (
    AFTER,
    FIRST,
    KIND,
    LAST,
    PLACE,
    SIZE,
    USED,
    Tours,
    close_slot,
    link_stop,
    open_slot,
)
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.times import refresh_times

__all__ = ["begin_saving", "restore_routes", "save_route"]


@compiled_inline
def begin_saving(log: Log) -> None:
    """Forget the saved routes."""
    log.now[0] += 1
    log.now[1], log.now[2] = 0, 0


@compiled_inline
def save_route(tours: Tours, log: Log, slot: int) -> None:
    """Save a route before its first change in this iteration."""
    now = log.now
    if log.stamps[slot, 0] == now[0]:
        return
    log.stamps[slot, 0] = now[0]
    is_used = tours.slots[slot, PLACE] < tours.counts[USED]
    place, end = now[1], now[2]
    log.saved[place, 0], log.saved[place, 1] = slot, tours.slots[slot, KIND] if is_used else -1
    log.saved[place, 2] = end
    stop = tours.slots[slot, FIRST]
    for _ in range(tours.slots[slot, SIZE] if is_used else 0):
        log.stops[end] = stop
        end += 1
        stop = tours.nodes[stop, AFTER]
    log.saved[place, 3] = end
    now[1], now[2] = place + 1, end


@compiled_apart
def restore_routes(tours: Tours, log: Log, problem: SearchProblem) -> None:
    """Restore all saved routes."""
    slots, saved, count = tours.slots, log.saved, log.now[1]
    for place in range(count):
        slot = saved[place, 0]
        if slots[slot, PLACE] < tours.counts[USED]:
            close_slot(tours, slot, problem)
    for place in range(count):
        slot, kind = saved[place, 0], saved[place, 1]
        if kind < 0:
            continue
        open_slot(tours, slot, kind, problem)
        end, previous = slots[slot, FIRST], slots[slot, LAST]
        for index in range(saved[place, 2], saved[place, 3]):
            link_stop(tours, log.stops[index], slot, previous, end, 0.0, 0.0, problem)
            previous = log.stops[index]
        refresh_times(tours, slot, problem)
