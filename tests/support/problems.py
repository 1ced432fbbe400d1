"""Small problems for the tests of file formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynaroute.problem.instance import Instance

__all__ = ["make_instance"]


def make_instance(
    coordinates: list[list[float]] | None, demands: list[int], capacity: int, name: str = "", **parts: Any
) -> Instance:
    """An instance from plain lists."""
    places = None if coordinates is None else np.array(coordinates, dtype=np.float64)
    return Instance(places, np.array(demands), capacity, name, **parts)
