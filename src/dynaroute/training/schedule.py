"""The learning rate as a function of how much of the budget is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynaroute.errors import OptionError, Where

__all__ = ["Schedule"]


@dataclass(frozen=True)
class Schedule:
    """A short rise, a plateau, and a fall to nothing, fitted to any budget.

    Attributes
    ----------
    peak
        The plateau's learning rate.
    rise, fall
        Parts of the budget spent rising and falling.
    """

    peak: float
    rise: float = 0.01
    fall: float = 0.6

    def __post_init__(self) -> None:
        if not self.peak > 0:
            raise OptionError(f"the rate is {self.peak}.", where=Where(field="rate"), remedy="Give a number above 0.")
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise OptionError("rise and fall are not parts of 1.", where=Where(field="rise"), remedy="Give fractions.")

    def rate(self, spent: float) -> float:
        """The learning rate when this fraction of the budget is spent.

        Parameters
        ----------
        spent
            From 0 to 1; beyond 1 the rate stays at its last value.
        """
        if spent < self.rise:
            return self.peak * (0.01 + 0.99 * spent / self.rise)
        left = max(0.0, 1.0 - spent)
        if left >= self.fall:
            return self.peak
        return self.peak * max(0.001, 0.5 - 0.5 * math.cos(math.pi * left / self.fall))
