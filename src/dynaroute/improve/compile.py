"""Compiling every kernel of this room ahead of its first use."""

from __future__ import annotations

import time

import numpy as np

from dynaroute.improve.local_search import improve_by_local_search
from dynaroute.improve.search import search
from dynaroute.improve.stopping import Stopping
from dynaroute.improve.two_opt import improve_by_two_opt
from dynaroute.instance import Instance
from dynaroute.savings import build_by_savings

__all__ = ["compile_kernels"]


def compile_kernels() -> float:
    """Run each kernel once on a small problem, so that its machine code is on disk; how many seconds it took."""
    start = time.perf_counter()
    places = np.random.default_rng(0).random((21, 2))
    instance = Instance(places, np.array([0] + [1] * 20), capacity=5)
    solution = build_by_savings(instance)
    improve_by_two_opt([instance], [solution], threads=1)
    improve_by_local_search([instance], [solution], threads=1)
    search(instance, None, Stopping(iterations=100_000))  # enough for all its stages
    return time.perf_counter() - start
