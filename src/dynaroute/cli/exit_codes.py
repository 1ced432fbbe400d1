"""Exit codes other than 0."""

from __future__ import annotations

__all__ = ["INPUT_FAULT", "INTERRUPTED", "NO_FEASIBLE_PLAN", "WRONG_SOLUTION"]

WRONG_SOLUTION = 1
INPUT_FAULT = 2
NO_FEASIBLE_PLAN = 4  # in the time given; the best plan is written, with its violations listed
INTERRUPTED = 130
