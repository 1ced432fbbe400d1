"""What the program ends with where it is not 0, done."""

from __future__ import annotations

__all__ = ["INPUT_FAULT", "INTERRUPTED", "NO_FEASIBLE_PLAN", "ROWS_WITH_ERRORS", "WRONG_SOLUTION"]

WRONG_SOLUTION = 1
INPUT_FAULT = 2
ROWS_WITH_ERRORS = 3  # of a batch, which has ended all the same
NO_FEASIBLE_PLAN = 4  # in the time given: the best one is written, with its violations named
INTERRUPTED = 130
