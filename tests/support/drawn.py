"""What the tests of pictures draw."""

from __future__ import annotations

import math

import numpy as np

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution


def small_instance(name: str = "small") -> Instance:
    coordinates = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0], [-1.0, 0.0]])
    return Instance(coordinates, np.array([0, 2, 7, 9]), 10, name=name)


def ring(routes: int) -> tuple[Instance, Solution]:
    """Routes of two customers each, all around the depot."""
    angles = np.linspace(0, 2 * math.pi, 2 * routes, endpoint=False)
    coordinates = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angles), np.sin(angles)])])
    demands = np.array([0] + [5] * (2 * routes))
    pairs = tuple((2 * number + 1, 2 * number + 2) for number in range(routes))
    return Instance(coordinates, demands, 50, name="ring"), Solution(pairs)
