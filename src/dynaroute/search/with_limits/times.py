"""When stops of routes can be served, and whether routes keep all limits.

After a customer is inserted or removed, only the starts that change are computed.
"""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    EARLY,
    FIRST,
    KIND,
    LAST,
    LATE,
    ROOM,
    ROUTE,
    SIZE,
    SPAN,
    Tours,
)
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.evaluation import (
    append_span,
    is_route_allowed,
    measure_span,
    refresh_route,
    refresh_spans,
)

__all__ = ["is_within_limits", "is_within_times", "refresh_around", "refresh_times", "value_route"]


@compiled_inline
def value_route(tours: Tours, slot: int, problem: SearchProblem) -> float:
    """What a route costs: its length, or its price if there are rules; nothing if its slot is not in use."""
    if len(problem.rules) > 0:
        return float(tours.prices[slot]) if tours.slots[slot, SIZE] > 0 else 0.0
    return float(tours.lengths[slot])


@compiled_inline
def refresh_times(tours: Tours, slot: int, problem: SearchProblem) -> None:
    """Compute the times of all stops of a route."""
    slots, size = tours.slots, len(problem.demands) - 3
    if slots[slot, SIZE] == 0:
        return
    if len(problem.rules) > 0:
        refresh_route(tours, slot, problem)
        return
    first, last = slots[slot, FIRST], slots[slot, LAST]
    _refresh_forward(tours, slot, first, size, False, problem)
    _refresh_backward(tours, slot, last, False, problem)
    if problem.has_durations:
        refresh_spans(tours, slot, problem)


@compiled_inline
def refresh_around(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Compute the times of an inserted customer, and update those that it changes."""
    slot, size = tours.nodes[customer, ROUTE], len(problem.demands) - 3
    if len(problem.rules) > 0:
        refresh_route(tours, slot, problem)
        return
    tours.ready[customer], tours.due[customer] = np.nan, np.nan
    _refresh_forward(tours, slot, customer, size, True, problem)
    _refresh_backward(tours, slot, customer, True, problem)
    if problem.has_durations:
        refresh_spans(tours, slot, problem)


@compiled_inline
def _refresh_forward(tours: Tours, slot: int, first: int, size: int, is_known: bool, problem: SearchProblem) -> None:
    """Update earliest starts from a stop onwards; if the later ones were known, stop at the first unchanged one."""
    ready, durations = tours.ready, problem.durations
    previous = 0 if first == tours.slots[slot, FIRST] else tours.nodes[first, BEFORE]
    time = problem.kinds.starts[tours.slots[slot, KIND]] if previous == 0 else ready[previous]
    customer = first
    while customer <= size:
        time = max(time + durations[previous, customer], problem.earliest[customer])
        if is_known and time == ready[customer]:
            break
        ready[customer] = time
        previous, customer = customer, tours.nodes[customer, AFTER]


@compiled_inline
def _refresh_backward(tours: Tours, slot: int, last: int, is_known: bool, problem: SearchProblem) -> None:
    """Update latest starts from a stop backwards; if the earlier ones were known, stop at the first unchanged one."""
    due, durations = tours.due, problem.durations
    following = tours.nodes[last, AFTER]
    is_end = following > len(problem.demands) - 3
    time = problem.kinds.ends[tours.slots[slot, KIND]] if is_end else due[following]
    customer = last
    while customer != 0:
        time = min(time - durations[customer, following], problem.latest[customer])
        if time < problem.earliest[customer]:
            time = -np.inf  # waiting that long makes later stops late
        if is_known and time == due[customer]:
            break
        due[customer] = time
        following, customer = customer, tours.nodes[customer, BEFORE]


@compiled_inline
def is_within_times(
    tours: Tours, customer: int, slot: int, previous: int, following: int, problem: SearchProblem
) -> bool:
    """Whether a customer between two stops, and all later ones, are in time and the route is short enough."""
    size, kind = len(problem.demands) - 3, tours.slots[slot, KIND]
    leaving = problem.kinds.starts[kind] if previous == 0 else tours.ready[previous]
    start = max(leaving + problem.durations[previous, customer], problem.earliest[customer])
    if start > problem.latest[customer]:
        return False
    limit = problem.kinds.ends[kind] if following > size else tours.due[following]
    if start + problem.durations[customer, following] > limit:
        return False
    if not problem.has_durations or not np.isfinite(problem.kinds.durations[kind]):
        return True
    return bool(measure_span(tours, customer, slot, previous, following, problem) <= problem.kinds.durations[kind])


@compiled_inline
def is_within_limits(tours: Tours, slot: int, problem: SearchProblem) -> bool:
    """Whether a route with known times is within all limits of its type of vehicle."""
    if len(problem.rules) > 0:
        return is_route_allowed(tours, slot, problem)
    slots, kinds, kind = tours.slots, problem.kinds, tours.slots[slot, KIND]
    first, last = slots[slot, FIRST], slots[slot, LAST]
    if slots[slot, ROOM] < 0 or slots[slot, SIZE] > kinds.stops[kind] or tours.lengths[slot] > kinds.distances[kind]:
        return False
    if tours.ready[first] > tours.due[first]:
        return False
    if not problem.has_durations:
        return True
    span, _, _ = append_span(
        tours.ahead[last, SPAN],
        tours.ahead[last, EARLY],
        tours.ahead[last, LATE],
        problem.durations[last, kinds.end_nodes[kind]],
        0.0,
        -np.inf,
        kinds.ends[kind],
    )
    return bool(span <= kinds.durations[kind])
