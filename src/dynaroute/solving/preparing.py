"""Loading what improving needs, before a clock starts."""

from __future__ import annotations

import numpy as np

from dynaroute.instance import Instance
from dynaroute.solver import solve
from dynaroute.solving.options import Improve

__all__ = ["prepare"]


def prepare(way: Improve) -> None:
    """Load the machine code of a way to improve; compile it, if it was never used on this machine.

    Parameters
    ----------
    way
        What will be asked for.
    """
    tiny = Instance(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 1]), 2)
    if way == "search":
        solve(tiny, iterations=1)
    elif way != "none":
        solve(tiny, model="savings", improve=way)
