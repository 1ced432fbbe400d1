"""How many processor cores there are for this process."""

from __future__ import annotations

import os

__all__ = ["count_cores"]


def count_cores() -> int:
    """Count the cores this process may use, or all cores if the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
