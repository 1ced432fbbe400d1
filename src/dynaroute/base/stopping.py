"""When a search ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dynaroute.base.errors import OptionError


class OutOfTimeError(Exception):
    """The time was up before something was ready."""


@dataclass(frozen=True)
class Stopping:
    """What ends a search, whichever comes first. Without any limit it runs until cancelled or interrupted.

    Attributes
    ----------
    deadline
        The value of `time.perf_counter` at which the search must end.
    iterations
        Number of iterations. Without a deadline they set the pace, so that a seed determines the result.
    target
        A cost that is good enough.
    is_cancelled
        Called every few milliseconds, or 20 times a second with many parallel searches; True ends the search.
    began
        The value of `time.perf_counter` from which a trace counts seconds.
    """

    deadline: float | None = None
    iterations: int | None = None
    target: float | None = None
    is_cancelled: Callable[[], bool] | None = None
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        if self.iterations is not None and self.iterations < 0:
            raise OptionError.about("iterations", f"the number of iterations is {self.iterations}.", "Give 0 or more.")

    @classmethod
    def after(cls, seconds: float) -> Stopping:
        """Stop this many seconds from now."""
        return cls(deadline=time.perf_counter() + seconds)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; infinite without one, never negative."""
        if self.deadline is None:
            return float("inf")
        return max(0.0, self.deadline - time.perf_counter())

    def is_time_up(self) -> bool:
        """Whether the deadline has passed or the search was cancelled."""
        return self.seconds_left <= 0 or (self.is_cancelled is not None and self.is_cancelled())

    def is_reached_by(self, cost: float) -> bool:
        """Whether this cost is good enough."""
        return self.target is not None and cost <= self.target
