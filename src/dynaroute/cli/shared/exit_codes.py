"""Exit codes other than 0."""

from __future__ import annotations

WRONG_SOLUTION = 1
INPUT_FAULT = 2
ROWS_WITH_ERRORS = 3  # in a batch, which ended nonetheless
NO_FEASIBLE_PLAN = 4  # in the time given; the best plan is written, with its violations listed
INTERRUPTED = 130
