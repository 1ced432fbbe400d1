"""Emulated GPUs, for tests of the batched search, and what they search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.emulation import EmulatedDevice, emulate, find_compiler
from dynaroute.search.gpu.schedule import GeneticSettings, PopulationSettings
from dynaroute.search.savings import build_by_savings

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler to emulate a GPU with")

# a population of four chains from the first iteration on, and a generation after each few of them
EAGER = PopulationSettings(
    population_from=1, chain_iterations=1, most_chains=4, child_iterations=1, genetic=GeneticSettings(least=np.inf)
)
# small islands from the first iteration on, that are renewed every few children
BREEDING = PopulationSettings(
    genetic=GeneticSettings(
        least=1,
        first_share=0.1,
        chains=2,
        children=3,
        drawn=4,
        fewest=3,
        most=3,
        penalty_period=5,
        patience=30,
        child_iterations=0.0,
    )
)


def device_of(lanes: int = 1) -> EmulatedDevice:
    device = emulate(lanes)
    device.set_lane_order(0)
    return device


@dataclass(frozen=True)
class CrampedDevice(EmulatedDevice):
    """A GPU with little memory."""

    free: int = 0

    def find_free_memory(self) -> int | None:
        return self.free


def draw_instance(size: int, seed: int = 0, capacity: int = 20) -> Instance:
    random = np.random.default_rng([size, seed])
    demands = np.array([0, *random.integers(1, 10, size)])
    return Instance(random.random((size + 1, 2)), demands, capacity)


def gather(instances: Sequence[Instance], starts: Sequence[Solution] | None = None) -> tuple[InstanceBatch, RouteBatch]:
    batch = InstanceBatch.from_instances(instances)
    return batch, RouteBatch.from_solutions(starts or [build_by_savings(instance) for instance in instances], batch)


def assert_right(instances: Sequence[Instance], batch: InstanceBatch, routes: RouteBatch) -> None:
    for instance, solution in zip(instances, routes.to_solutions(batch), strict=True):
        assert check(instance, solution) == []


def are_equal(one: RouteBatch, other: RouteBatch) -> bool:
    return torch.equal(one.route, other.route) and torch.equal(one.position, other.position)


def search(
    problems: list[Instance],
    iterations: int = 60,
    *,
    device: EmulatedDevice | None = None,
    starts: list[Solution] | None = None,
    **more: Any,
) -> RouteBatch:
    """Search, and judge every answer."""
    batch, first = gather(problems, starts)
    found = search_batch(device or device_of(), batch, first, Stopping(iterations=iterations), **more)
    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) <= first.lengths(batch)).all()
    return found.routes
