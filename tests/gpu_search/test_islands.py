from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_devices import are_equal, assert_right, device_of, draw_instance, gather, needs_compiler
from strategies import instances, solutions_of

from dynaroute.batch import RouteBatch
from dynaroute.gpu_search import batched_search as searching
from dynaroute.gpu_search.batched_search import search_batch
from dynaroute.gpu_search.emulation import EmulatedDevice, emulate
from dynaroute.gpu_search.islands import _place_around_depot
from dynaroute.gpu_search.kernel_problem import KernelProblem
from dynaroute.gpu_search.schedule import GeneticSettings, PopulationSettings
from dynaroute.improve.genetic import place_around_depot
from dynaroute.improve.stopping import Stopping
from dynaroute.instance import Instance
from dynaroute.solution import Solution

pytestmark = needs_compiler

# small populations from the first iteration on, that are renewed every few children
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
PLACED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


def search(
    problems: list[Instance],
    iterations: int = 60,
    *,
    device: EmulatedDevice | None = None,
    starts: list[Solution] | None = None,
    **more: Any,
) -> RouteBatch:
    batch, first = gather(problems, starts)
    rules = {"settings": BREEDING, **more}
    found = search_batch(device or device_of(), batch, first, Stopping(iterations=iterations), **rules)
    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) <= first.lengths(batch)).all()
    return found.routes


@given(st.data())
@settings(max_examples=25)
def test_any_problem_is_solved_rightly_and_never_worse_than_its_start(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=4))

    search(problems, 120, starts=[data.draw(solutions_of(problem)) for problem in problems])


@given(st.data())
@settings(max_examples=4)
def test_32_lanes_that_take_turns_in_any_order_agree_with_one(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=2))
    starts = [data.draw(solutions_of(problem)) for problem in problems]
    lanes = emulate(32)
    faults = lanes.faults

    alone = search(problems, 20, starts=starts)

    for order in (0, 1, 7):
        lanes.set_lane_order(order)
        assert are_equal(search(problems, 20, device=lanes, starts=starts), alone)
    assert lanes.faults == faults


@pytest.mark.parametrize("size", [20, 31, 33, 100, 127])
def test_32_lanes_agree_with_one_whatever_the_size(size: int) -> None:
    problem, lanes = [draw_instance(size)], emulate(32)
    faults = lanes.faults

    alone = search(problem, 40)

    for order in (0, 1, 3):
        lanes.set_lane_order(order)
        assert are_equal(search(problem, 40, device=lanes), alone)
    assert lanes.faults == faults


def test_what_is_found_does_not_depend_on_the_batch() -> None:
    problems = [draw_instance(size, size) for size in (5, 31, 64, 70, 100, 127, 130)]

    together = search(problems, 80)

    for row, problem in enumerate(problems):
        alone = search([problem], 80)
        nodes = problem.size + 1
        assert torch.equal(alone.route[0], together.route[row, :nodes])
        assert torch.equal(alone.position[0], together.position[row, :nodes])


def test_what_is_found_does_not_depend_on_the_length_of_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [draw_instance(40), draw_instance(50)]
    usual = search(problems, 200)

    monkeypatch.setattr(searching, "_LAUNCH_SECONDS", 1e-6)  # one generation each

    assert are_equal(search(problems, 200), usual)


def test_seeds_differ() -> None:
    problem = [draw_instance(100)]

    assert not are_equal(search(problem, 40, seed=1), search(problem, 40, seed=2))


def test_islands_improve_what_chains_found() -> None:
    problems = [draw_instance(100, seed, capacity=50) for seed in range(4)]
    genetic = GeneticSettings(least=1, first_share=0.5)

    bred = search(problems, 40_000, settings=PopulationSettings(genetic=genetic))

    batch, _ = gather(problems)
    chained = search(problems, 20_000, settings=PopulationSettings())
    assert bred.lengths(batch).sum() < 0.999 * chained.lengths(batch).sum()


def test_iterations_count_what_children_take() -> None:
    batch, first = gather([draw_instance(64)])
    genetic = replace(BREEDING.genetic, child_iterations=1.0, chains=1)

    found = search_batch(
        device_of(), batch, first, Stopping(iterations=2000), settings=PopulationSettings(genetic=genetic)
    )

    assert 2000 - 3 * 64 < int(found.iterations[0]) <= 2000


def test_deadline_ends_it() -> None:
    problems = [draw_instance(30), draw_instance(70)]
    batch, first = gather(problems)
    stopping = Stopping.after(0.4)

    found = search_batch(device_of(), batch, first, stopping, settings=BREEDING)

    assert stopping.seconds_left < 0.1
    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) < first.lengths(batch)).all()


@pytest.mark.parametrize("rounding", ["nearest", "up"])
def test_rounded_costs_are_told_exactly(rounding: Any) -> None:
    random = np.random.default_rng(4)
    demands = np.array([0, *random.integers(1, 10, 50)])
    problem = Instance(random.integers(0, 1000, (51, 2)).astype(float), demands, 30, rounding=rounding)
    batch, first = gather([problem])
    told: list[float] = []

    found = search_batch(
        device_of(),
        batch,
        first,
        Stopping(iterations=300),
        settings=BREEDING,
        on_launch=lambda progress: told.append(float(progress.read_costs()[0])),
    )

    assert told[-1] == found.routes.to_solutions(batch)[0].cost(problem)


# Kinds that have gone wrong elsewhere


def test_exactly_full_vehicles_are_allowed() -> None:
    random = np.random.default_rng(1)
    problem = Instance(random.random((31, 2)), np.array([0, *[3] * 30]), 9)

    routes = search([problem], 200)

    assert int(routes.route.max()) + 1 == 10


def test_every_customer_may_need_a_vehicle_of_its_own() -> None:
    random = np.random.default_rng(2)
    search([Instance(random.random((128, 2)), np.array([0, *[7] * 127]), 7)], 30)


def test_demands_of_zero_and_places_that_coincide() -> None:
    search([Instance(np.zeros((41, 2)), np.zeros(41, dtype=int), 1)], 30)


def test_one_route_takes_all() -> None:
    random = np.random.default_rng(5)
    search([Instance(random.random((101, 2)), np.array([0, *[1] * 100]), 2**31 - 1)], 60)


def test_largest_demands_are_left_to_chains() -> None:
    largest = 2**31 - 1
    random = np.random.default_rng(3)
    demands = np.array([0, *[largest // 2] * 10, *[largest] * 5])
    search([Instance(random.random((16, 2)), demands, largest)], 100)


def test_places_around_the_depot_are_those_of_the_search_on_cores() -> None:
    instance = draw_instance(60)
    problem = KernelProblem.prepare(*gather([instance]))

    places = _place_around_depot(problem.lengths)[0].double().numpy() / float(problem.scale[0])

    assert places == pytest.approx(place_around_depot(instance.distance_matrix), abs=1e-3)
