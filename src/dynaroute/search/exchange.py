"""The best plan that several searches of one instance know between them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock

from dynaroute.problem.solution import Solution


@dataclass
class Exchange:
    """Where searches in several threads leave their best plan, and find that of the others.

    Attributes
    ----------
    pause
        Least seconds between two visits of a search that comes often.
    has_plan
        Whether somebody has left one.
    """

    pause: float = 0.1
    has_plan: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _plan: Solution = field(default_factory=lambda: Solution(()))
    _price: float = math.inf
    _next_visit: float = 0.0

    @property
    def best(self) -> tuple[Solution, float]:
        """The best plan so far, and its price; infinite before there is one."""
        with self._lock:
            return self._plan, self._price

    def leave(self, plan: Solution, price: float) -> bool:
        """Leave a plan that serves everybody; returns whether it is the best so far."""
        with self._lock:
            is_better = price < self._price
            if is_better:
                self._plan, self._price = plan, price
        self.has_plan.set()
        return is_better

    def visit(self, plan: Solution, price: float, adopt: Callable[[Solution], object]) -> None:
        """Leave a plan, or adopt a better one; most visits of a search that comes often do nothing.

        Parameters
        ----------
        plan, price
            The best plan of the search, and what it minimises.
        adopt
            Called with a better plan.
        """
        now = time.perf_counter()
        if now >= self._next_visit:
            self._next_visit = now + self.pause
            self.settle(plan, price, adopt)

    def settle(self, plan: Solution, price: float, adopt: Callable[[Solution], object]) -> None:
        """Do the same at once, as when the time is up."""
        best, least = self.best
        if least < price:
            adopt(best)
        elif math.isfinite(price):
            self.leave(plan, price)
