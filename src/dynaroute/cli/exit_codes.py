"""What the program ends with where it is not 0, done."""

from __future__ import annotations

__all__ = ["INPUT_FAULT", "INTERRUPTED", "WRONG_SOLUTION"]

WRONG_SOLUTION = 1
INPUT_FAULT = 2
INTERRUPTED = 130
