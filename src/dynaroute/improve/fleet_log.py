"""What one iteration of ruin and recreate for fleets did, so that it can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FleetLog", "make_fleet_log"]

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class FleetLog(NamedTuple):
    """What one iteration did, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 3) who was taken out, in this order: customer, slot of its route, and the stop before it.
    order
        (n,) who is to be put in, in the order in which that is done.
    keys
        (n,) what that order is sorted by.
    ruined
        (n,) last iteration that took customers out of each route.
    touched
        (n, 2) slots of routes that customers were taken out of, and the kinds that they were of.
    absences
        (n + 1,) how often there was no place for each customer; all are 1 at first.
    blinks
        (1,) how many more positions are judged until one is overlooked.
    """

    removed: Integers
    order: Integers
    keys: Lengths
    ruined: Longs
    touched: Longs
    absences: Longs
    blinks: Longs


def make_fleet_log(size: int) -> FleetLog:
    """An empty log for n customers."""
    return FleetLog(
        removed=np.zeros((size, 3), dtype=np.int32),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        ruined=np.full(size, -1, dtype=np.int64),
        touched=np.zeros((size, 2), dtype=np.int64),
        absences=np.ones(size + 1, dtype=np.int64),
        blinks=np.zeros(1, dtype=np.int64),
    )
