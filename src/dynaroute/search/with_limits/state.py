"""The arrays of a plan that is being changed."""

from __future__ import annotations

from dynaroute.search.annealing.log import Log as FleetLog
from dynaroute.search.annealing.tours import (
    ABSENT,
    AFTER,
    BEFORE,
    EARLY,
    FIRST,
    KIND,
    LAST,
    LATE,
    MOST,
    NO_ROUTE,
    PLACE,
    ROOM,
    ROUTE,
    SERVED,
    SIZE,
    SLOT_AT,
    SPAN,
    USED,
    is_end,
    is_stop,
)
from dynaroute.search.annealing.tours import Tours as FleetTours

__all__ = [
    "ABSENT",
    "AFTER",
    "BEFORE",
    "EARLY",
    "FIRST",
    "KIND",
    "LAST",
    "LATE",
    "MOST",
    "NO_ROUTE",
    "PLACE",
    "ROOM",
    "ROUTE",
    "SERVED",
    "SIZE",
    "SLOT_AT",
    "SPAN",
    "USED",
    "FleetLog",
    "FleetTours",
    "is_end",
    "is_stop",
]
