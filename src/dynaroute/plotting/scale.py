"""Scale bars of maps."""

from __future__ import annotations

import math

__all__ = ["round_down", "show_scale"]


def round_down(length: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not larger."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(step * power for step in (1, 2, 5) if step * power <= length * (1 + 1e-9))


def show_scale(metres: float) -> str:
    """Write a length in metres or kilometres."""
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
