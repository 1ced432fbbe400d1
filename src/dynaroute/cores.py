"""How many processor cores there are for this process."""

from __future__ import annotations

import os

__all__ = ["count_cores"]


def count_cores() -> int:
    """Cores that this process may use, where the system tells; else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
