from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_devices import (
    BREEDING,
    EAGER,
    CrampedDevice,
    are_equal,
    assert_right,
    device_of,
    draw_instance,
    gather,
    needs_compiler,
    search,
)
from strategies import instances, solutions_of

from dynaroute.base.errors import UnsupportedError
from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.gpu import batched_search as searching
from dynaroute.search.gpu.batched_search import BatchProgress, search_batch
from dynaroute.search.gpu.emulation import EmulatedDevice, emulate
from dynaroute.search.gpu.kernel_problem import KernelProblem
from dynaroute.search.gpu.schedule import PopulationSettings

pytestmark = needs_compiler

BY_CHAINS_AND_ISLANDS = pytest.mark.parametrize("rules", [EAGER, BREEDING], ids=["chains", "islands"])
PLACED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


@given(st.data())
@settings(max_examples=25)
def test_any_problem_is_solved_rightly_and_never_worse_than_its_start(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=4))
    starts = [data.draw(solutions_of(problem)) for problem in problems]

    search(problems, starts=starts)
    search(problems, starts=starts, settings=EAGER)
    search(problems, 120, starts=starts, settings=BREEDING)


@BY_CHAINS_AND_ISLANDS
@given(st.data())
@settings(max_examples=4)
def test_32_lanes_that_take_turns_in_any_order_agree_with_one(rules: PopulationSettings, data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=2))
    starts = [data.draw(solutions_of(problem)) for problem in problems]
    lanes = emulate(32)
    faults = lanes.faults

    alone = search(problems, 12, starts=starts, settings=rules)

    for order in (0, 1, 7):
        lanes.set_lane_order(order)
        assert are_equal(search(problems, 12, device=lanes, starts=starts, settings=rules), alone)
    assert lanes.faults == faults


@BY_CHAINS_AND_ISLANDS
@pytest.mark.parametrize("size", [20, 31, 33, 100, 127, 140])
def test_32_lanes_agree_with_one_whatever_the_size(rules: PopulationSettings, size: int) -> None:
    problem, lanes = [draw_instance(size)], emulate(32)
    faults = lanes.faults

    alone = search(problem, 60, settings=rules)

    for order in (0, 1, 3):
        lanes.set_lane_order(order)
        assert are_equal(search(problem, 60, device=lanes, settings=rules), alone)
    assert lanes.faults == faults


@pytest.mark.parametrize("settings", [None, EAGER])
def test_routes_become_shorter(settings: PopulationSettings | None) -> None:
    problems = [draw_instance(60, seed) for seed in range(4)]
    batch, first = gather(problems)

    found = search_batch(device_of(), batch, first, Stopping(iterations=1500), settings=settings)

    assert (found.routes.lengths(batch) < first.lengths(batch)).all()
    assert (found.iterations == 1500).all()


def test_population_with_many_generations_ends_ahead_of_its_first() -> None:
    problems = [draw_instance(60, seed) for seed in range(3)]
    batch, first = gather(problems)
    costs: list[float] = []

    search_batch(
        device_of(),
        batch,
        first,
        Stopping(iterations=8000),
        settings=replace(EAGER, child_iterations=200),
        on_launch=lambda progress: costs.append(float(progress.read_costs().sum())),
    )

    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@BY_CHAINS_AND_ISLANDS
def test_what_is_found_does_not_depend_on_the_batch(rules: PopulationSettings) -> None:
    problems = [draw_instance(size, size) for size in (5, 31, 64, 70, 100, 127, 130, 150)]

    together = search(problems, 80, settings=rules)

    for row, problem in enumerate(problems):
        alone = search([problem], 80, settings=rules)
        nodes = problem.size + 1
        assert torch.equal(alone.route[0], together.route[row, :nodes])
        assert torch.equal(alone.position[0], together.position[row, :nodes])


@BY_CHAINS_AND_ISLANDS
def test_what_is_found_does_not_depend_on_the_length_of_launches(
    rules: PopulationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [draw_instance(40), draw_instance(50)]
    usual = search(problems, 300, settings=rules)

    monkeypatch.setattr(searching, "_LAUNCH_SECONDS", 1e-6)  # one iteration each

    assert are_equal(search(problems, 300, settings=rules), usual)


def test_seeds_differ() -> None:
    problem = [draw_instance(60)]

    assert not are_equal(search(problem, 200, seed=1), search(problem, 200, seed=2))


def test_little_memory_means_smaller_chunks_and_the_same_routes() -> None:
    problems = [draw_instance(30, seed) for seed in range(5)]

    cramped = CrampedDevice(device_of().library, free=150_000)

    assert are_equal(search(problems, 50, device=cramped), search(problems, 50))


def test_memory_that_runs_out_means_smaller_chunks_and_the_same_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [draw_instance(size, seed) for seed in range(3) for size in (20, 70)]
    usual, searched = search(problems, 50), []

    def prepare(batch: InstanceBatch, starts: RouteBatch) -> KernelProblem:
        if len(batch) > 1:
            raise torch.OutOfMemoryError
        searched.append(batch)
        return KernelProblem.prepare(batch, starts)

    monkeypatch.setattr(searching, "KernelProblem", SimpleNamespace(prepare=prepare))

    assert are_equal(search(problems, 50), usual)
    assert len(searched) >= len(problems)


def test_memory_for_not_even_one_instance_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(batch: InstanceBatch, starts: RouteBatch) -> KernelProblem:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(searching, "KernelProblem", SimpleNamespace(prepare=run_out))

    with pytest.raises(UnsupportedError, match="memory"):
        search([draw_instance(20), draw_instance(30)])


def test_too_little_memory_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="GPU's memory"):
        search([draw_instance(100)], device=CrampedDevice(device_of().library, free=1000))


def test_too_many_customers_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "LARGEST", 9)

    with pytest.raises(UnsupportedError, match="up to 9 customers"):
        search([draw_instance(10)])


def test_where_shared_memory_is_too_small_chains_work_in_global_memory() -> None:
    problem = [draw_instance(140)]

    cramped = EmulatedDevice(device_of().library, shared_bytes=1000)

    assert are_equal(search(problem, 50, device=cramped, settings=EAGER), search(problem, 50, settings=EAGER))


# Kinds that have gone wrong elsewhere


def test_exactly_full_vehicles_are_allowed() -> None:
    random = np.random.default_rng(1)
    problem = Instance(random.random((31, 2)), np.array([0, *[3] * 30]), 9)
    ten_full_routes = [Solution(tuple((a, a + 1, a + 2) for a in range(1, 31, 3)))]

    routes = search([problem], 1000, starts=ten_full_routes)

    assert int(routes.route.max()) + 1 == 10


@BY_CHAINS_AND_ISLANDS
def test_every_customer_may_need_a_vehicle_of_its_own(rules: PopulationSettings) -> None:
    random = np.random.default_rng(2)
    search([Instance(random.random((128, 2)), np.array([0, *[7] * 127]), 7)], 30, settings=rules)


@BY_CHAINS_AND_ISLANDS
def test_demands_of_zero_and_places_that_coincide(rules: PopulationSettings) -> None:
    search([Instance(np.zeros((41, 2)), np.zeros(41, dtype=int), 1)], 30, settings=rules)


@BY_CHAINS_AND_ISLANDS
def test_largest_capacities_do_not_overflow(rules: PopulationSettings) -> None:
    largest = 2**31 - 1
    random = np.random.default_rng(3)
    demands = np.array([0, *[largest // 2] * 10, *[largest] * 5])
    search([Instance(random.random((16, 2)), demands, largest)], 200, settings=rules)


@BY_CHAINS_AND_ISLANDS
@pytest.mark.parametrize("rounding", ["nearest", "up"])
def test_rounded_costs_are_told_exactly(rules: PopulationSettings, rounding: Any) -> None:
    random = np.random.default_rng(4)
    demands = np.array([0, *random.integers(1, 10, 50)])
    problem = Instance(random.integers(0, 1000, (51, 2)).astype(float), demands, 30, rounding=rounding)
    batch, first = gather([problem])
    told: list[float] = []

    found = search_batch(
        device_of(),
        batch,
        first,
        Stopping(iterations=500),
        settings=rules,
        on_launch=lambda progress: told.append(float(progress.read_costs()[0])),
    )

    assert told[-1] == found.routes.to_solutions(batch)[0].cost(problem)


# When to stop


def test_deadline_ends_it() -> None:
    problems = [draw_instance(30), draw_instance(70), draw_instance(130)]
    batch, first = gather(problems)
    stopping = Stopping.after(1.0)  # a busy machine needs some of it before the first group begins

    found = search_batch(device_of(), batch, first, stopping)

    assert stopping.seconds_left == 0 or stopping.seconds_left < 0.1
    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) < first.lengths(batch)).all()
    assert (found.iterations > 0).all()
    assert not found.is_interrupted


def test_start_is_given_back_where_there_is_no_time_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(batch: InstanceBatch, starts: RouteBatch) -> KernelProblem:
        raise AssertionError("there is no time for it")

    batch, first = gather([draw_instance(30)])
    monkeypatch.setattr(searching, "KernelProblem", SimpleNamespace(prepare=prepare))
    monkeypatch.setattr(searching, "_OPENING_SECONDS", 60.0)

    found = search_batch(device_of(), batch, first, Stopping.after(59))

    assert are_equal(found.routes, first)
    assert found.iterations.tolist() == [0]


def test_deadline_in_the_past_gives_the_start_back() -> None:
    batch, first = gather([draw_instance(30)])

    found = search_batch(device_of(), batch, first, Stopping.after(-1))

    assert_right([draw_instance(30)], batch, found.routes)


def test_cancelling_ends_it_with_the_best_so_far() -> None:
    problems = [draw_instance(30)]
    batch, first = gather(problems)
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    found = search_batch(device_of(), batch, first, Stopping(iterations=10**9, is_cancelled=is_cancelled))

    assert found.is_interrupted
    assert_right(problems, batch, found.routes)


def test_interrupt_from_the_keyboard_ends_it_with_the_best_so_far() -> None:
    problems = [draw_instance(30)]
    batch, first = gather(problems)

    def interrupt(progress: BatchProgress) -> None:
        raise KeyboardInterrupt

    found = search_batch(device_of(), batch, first, Stopping(iterations=10**9), on_launch=interrupt)

    assert found.is_interrupted
    assert_right(problems, batch, found.routes)


def test_target_ends_it() -> None:
    batch, first = gather([draw_instance(30)])
    target = float(first.lengths(batch)[0]) * 1.001

    found = search_batch(device_of(), batch, first, Stopping(iterations=10**9, target=target))

    assert not found.is_interrupted
