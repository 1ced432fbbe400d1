"""Rules of a vehicle's working day: breaks, overtime, and work in balance with that of others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dynaroute.base.decimals import is_finite_number, show_number
from dynaroute.base.errors import InstanceError


@dataclass(frozen=True)
class Break:
    """A rest while the vehicle stands at a stop or at the depot: before service, or before it drives on.

    Give either `window` or `after_driving`.

    Parameters
    ----------
    duration
        Seconds.
    window
        Earliest and latest start, in seconds. It is due unless the route ends by the latest start, or departs then or
        later.
    after_driving
        Most seconds of driving, without service and waiting, before it and after it; as many such breaks are taken as
        that needs.
    """

    duration: float
    window: tuple[float, float] | None = None
    after_driving: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", read_amount(self.duration, "breaks"))
        if (self.window is None) == (self.after_driving is None):
            raise InstanceError.about(
                "breaks", "a break needs either a window or a driving time after which it is due.", "Give one of them."
            )
        if self.window is not None:
            object.__setattr__(self, "window", read_pair_of_times(self.window, "breaks"))
        if self.after_driving is not None:
            driving = read_amount(self.after_driving, "breaks")
            if driving == 0:
                raise InstanceError.about("breaks", "a break is due after 0 s of driving.", "Give a longer time.")
            object.__setattr__(self, "after_driving", driving)


BalancedWork = Literal["hours", "stops", "load"]


@dataclass(frozen=True)
class Balance:
    """A price of routes with more work than a target, which grows with the square of the excess.

    Parameters
    ----------
    of
        What counts as work: hours from departure to end, customers, or the largest load on board in the first
        dimension, in the user's unit.
    weight
        Price of an excess of 1; twice the excess costs four times as much.
    target
        What a route may have for nothing.
    """

    of: BalancedWork
    weight: float
    target: float

    def __post_init__(self) -> None:
        if self.of not in get_args(BalancedWork):
            message = f"balance of {self.of!r} is unknown."
            raise InstanceError.about("balance", message, f"Use {', '.join(get_args(BalancedWork))}.")
        for field in ("weight", "target"):
            object.__setattr__(self, field, read_amount(getattr(self, field), "balance"))

    def price(self, amount: float) -> float:
        """Price of a route with this much work."""
        return self.weight * max(0.0, amount - self.target) ** 2


@dataclass(frozen=True)
class Overtime:
    """Work beyond a duration, at a price.

    Parameters
    ----------
    after
        Seconds of a route, from departure to end, after which it counts.
    at_most
        Most seconds of it; infinity if only its price limits it.
    cost
        Price of a second.
    """

    after: float
    at_most: float = math.inf
    cost: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "after", read_amount(self.after, "overtime"))
        if self.at_most != math.inf:
            object.__setattr__(self, "at_most", read_amount(self.at_most, "overtime"))
        object.__setattr__(self, "cost", read_amount(self.cost, "overtime"))


def read_amount(value: Any, field: str) -> float:
    """Read a finite number of 0 or more."""
    if not is_finite_number(value) or value < 0:
        message = f"{show_number(value)} is not a finite number of 0 or more."
        raise InstanceError.about(field, message, "Give one, or leave it out.")
    return float(value)


def read_pair_of_times(value: Any, field: str) -> tuple[float, float]:
    """Read the earliest and the latest of two times in seconds; the latest may be infinite."""
    try:
        earliest, latest = value
        earliest = read_amount(earliest, field)
        latest = math.inf if latest == math.inf else read_amount(latest, field)
    except (TypeError, ValueError):
        raise InstanceError.about(
            field, f"{value!r} is not a pair of times.", "Give the earliest and the latest."
        ) from None
    if latest < earliest:
        message = f"the time {latest:g} is before {earliest:g}, which should be the earliest."
        raise InstanceError.about(field, message, "Give the earliest time first.")
    return earliest, latest
