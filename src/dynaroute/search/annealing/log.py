"""What one iteration changed, so that it can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline, make_apart
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_unit
from dynaroute.search.with_limits.rules import NOTHING

__all__ = ["LEAST_GAIN", "Log", "is_overlooked", "make_log"]

LEAST_GAIN = 1e-11  # relative to the cost; smaller gains are rounding
_BLINK_RATE = 0.01

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class Log(NamedTuple):
    """The record of one iteration.

    Attributes
    ----------
    removed
        (n, 4) removed customers in order: customer, slot of its route, and the stops before and after it. With rules
        only the customers.
    legs
        (n, 2) the lengths of the legs to those two stops.
    order
        (n,) customers to insert, in order.
    keys
        (n,) sort keys of that order.
    bridged
        (N,) for each customer the length of the leg that it is inserted into; without limits.
    open_beside
        (N,) near customers of one of them, in routes with room.
    ruined
        (n,) last iteration that removed customers from each route.
    blinks
        (1,) number of positions until one is skipped.
    sides
        (N,) on which side of those it may go. This and the next three only with limits.
    touched
        (n, 2) slots of the routes that lost customers, and their types of vehicle before.
    lengths
        (n,) the lengths of those routes before.
    absences
        (n + 1,) how often no position was found for each customer, plus 1.
    saved
        (n, 4) the routes as they were before the iteration: slot, type of vehicle (-1 if the slot was not in use), and
        where their stops begin and end in `stops`. This and the next only if there are rules.
    stops
        (n,) their stops.
    stamps
        (n, 2) the last iteration that saved each slot, and the last look at it, or at a customer.
    now
        (5,) the present iteration, the number of saved routes, the number of their stops, the present look, and the
        customer around whom routes are ruined.
    """

    removed: Integers
    legs: Lengths
    order: Integers
    keys: Lengths
    bridged: Lengths
    open_beside: Integers
    ruined: Longs
    blinks: Longs
    sides: Integers = NOTHING
    touched: Longs = NOTHING
    lengths: Lengths = NOTHING
    absences: Longs = NOTHING
    saved: Longs = NOTHING
    stops: Integers = NOTHING
    stamps: Longs = NOTHING
    now: Longs = NOTHING


def make_log(problem: SearchProblem) -> Log:
    """Make an empty log."""
    size, nodes = problem.size, len(problem.demands)
    log = Log(
        removed=np.zeros((size, 4), dtype=np.int32),
        legs=np.zeros((size, 2)),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        bridged=np.zeros(nodes),
        open_beside=np.zeros(nodes, dtype=np.int32),
        ruined=np.full(size, -1, dtype=np.int64),
        blinks=make_apart(1, np.int64),
    )
    if problem.limited:
        most = nodes + problem.before.shape[1] + problem.after.shape[1]
        log = log._replace(
            open_beside=np.zeros(most, dtype=np.int32),
            sides=np.zeros(most, dtype=np.int32),
            touched=np.zeros((size, 2), dtype=np.int64),
            lengths=np.zeros(size),
            absences=np.ones(size + 1, dtype=np.int64),
        )
    if problem.rules:
        log = log._replace(
            saved=np.zeros((size, 4), dtype=np.int64),
            stops=np.zeros(size, dtype=np.int32),
            stamps=np.zeros((size, 2), dtype=np.int64),
            now=np.zeros(5, dtype=np.int64),
        )
    return log


@compiled_inline
def is_overlooked(log: Log, state: RandomState) -> bool:
    """Whether a position is skipped at random: the number of positions until the next one is drawn at once."""
    log.blinks[0] -= 1
    if log.blinks[0] < 0:
        log.blinks[0] = int(np.log(1.0 - draw_unit(state)) / np.log(1.0 - _BLINK_RATE))
        return True
    return False
