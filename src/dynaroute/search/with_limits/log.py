"""The record of one iteration of ruin and recreate for fleets, so that it can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FleetLog", "make_fleet_log"]

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class FleetLog(NamedTuple):
    """The record of one iteration, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 3) removed customers in order: customer, slot of its route, stop before it.
    order
        (n,) customers to insert, in order.
    keys
        (n,) sort keys of that order.
    ruined
        (n,) last iteration that removed customers from each route.
    touched
        (n, 2) slots of the routes that lost customers, and their types of vehicle before.
    absences
        (n + 1,) how often no position was found for each customer, plus 1.
    blinks
        (1,) positions to check before the next one is skipped.
    saved
        (n, 4) the routes as they were before the iteration, if there are rules: slot, type of vehicle (-1 if the slot
        was not in use), and where their stops begin and end in `stops`.
    stops
        (n,) their stops.
    stamps
        (n, 2) the last iteration that saved each slot, and the last look at it, or at a customer.
    now
        (5,) the present iteration, the number of saved routes, the number of their stops, the present look, and the
        customer around whom routes are ruined.
    """

    removed: Integers
    order: Integers
    keys: Lengths
    ruined: Longs
    touched: Longs
    absences: Longs
    blinks: Longs
    saved: Longs
    stops: Integers
    stamps: Longs
    now: Longs


def make_fleet_log(size: int) -> FleetLog:
    """Make an empty log for n customers."""
    return FleetLog(
        removed=np.zeros((size, 3), dtype=np.int32),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        ruined=np.full(size, -1, dtype=np.int64),
        touched=np.zeros((size, 2), dtype=np.int64),
        absences=np.ones(size + 1, dtype=np.int64),
        blinks=np.zeros(1, dtype=np.int64),
        saved=np.zeros((size, 4), dtype=np.int64),
        stops=np.zeros(size, dtype=np.int32),
        stamps=np.zeros((size, 2), dtype=np.int64),
        now=np.zeros(5, dtype=np.int64),
    )
