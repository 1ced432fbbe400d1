from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from kernel_devices import BREEDING, are_equal, assert_right, device_of, draw_instance, gather, needs_compiler, search

from dynaroute.base.stopping import Stopping
from dynaroute.batch import RouteBatch
from dynaroute.problem.instance import Instance
from dynaroute.search.core.legs import place_around_depot
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.emulation import emulate
from dynaroute.search.gpu.islands import _place_around_depot
from dynaroute.search.gpu.kernel_problem import KernelProblem
from dynaroute.search.gpu.schedule import GeneticSettings, PopulationSettings

pytestmark = needs_compiler


def test_seeds_differ() -> None:
    problem = [draw_instance(100)]

    assert not are_equal(search(problem, 40, seed=1, settings=BREEDING), search(problem, 40, seed=2, settings=BREEDING))


def test_islands_improve_what_chains_found() -> None:
    problems = [draw_instance(100, seed, capacity=50) for seed in range(4)]
    always, never = (PopulationSettings(genetic=GeneticSettings(least=least)) for least in (1, np.inf))

    bred = search(problems, 40_000, settings=always)

    batch, _ = gather(problems)
    chained = search(problems, 10_000, settings=never)
    assert bred.lengths(batch).sum() < 0.999 * chained.lengths(batch).sum()


def test_islands_begin_with_all_starts_that_are_known() -> None:
    problem = draw_instance(40)
    batch, by_savings = gather([problem])
    alone = RouteBatch.alone(batch)
    starts = RouteBatch(torch.cat([by_savings.route, alone.route]), torch.cat([by_savings.position, alone.position]))
    rules = replace(BREEDING, genetic=replace(BREEDING.genetic, drawn=0, chains=1))
    lanes = emulate(32)
    faults = lanes.faults
    stopping = Stopping(iterations=40)

    found = search_batch(device_of(), batch, starts, stopping, settings=rules).routes
    by_lanes = search_batch(lanes, batch, starts, stopping, settings=rules).routes

    assert_right([problem], batch, found)
    assert found.lengths(batch) <= by_savings.lengths(batch)
    assert are_equal(by_lanes, found)
    assert lanes.faults == faults
    assert not are_equal(search([problem], 40, settings=rules), found)


def test_iterations_count_what_children_take() -> None:
    batch, first = gather([draw_instance(64)])
    genetic = replace(BREEDING.genetic, child_iterations=1.0, chains=1)

    found = search_batch(
        device_of(), batch, first, Stopping(iterations=2000), settings=PopulationSettings(genetic=genetic)
    )

    assert 2000 - 3 * 64 < int(found.iterations[0]) <= 2000


def test_without_a_deadline_it_goes_on_until_it_is_cancelled() -> None:
    batch, first = gather([draw_instance(30)])
    looks = iter(range(12))
    rules = replace(BREEDING, genetic=replace(BREEDING.genetic, first_share=1e-9))

    found = search_batch(device_of(), batch, first, Stopping(is_cancelled=lambda: next(looks) > 10), settings=rules)

    assert found.is_interrupted
    assert found.routes.lengths(batch) < first.lengths(batch)


def test_deadline_ends_it() -> None:
    problems = [draw_instance(30), draw_instance(70)]
    batch, first = gather(problems)
    stopping = Stopping.after(0.4)

    found = search_batch(device_of(), batch, first, stopping, settings=BREEDING)

    assert stopping.seconds_left < 0.1
    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) < first.lengths(batch)).all()


# Kinds that have gone wrong elsewhere


def test_exactly_full_vehicles_are_allowed() -> None:
    random = np.random.default_rng(1)
    problem = Instance(random.random((31, 2)), np.array([0, *[3] * 30]), 9)

    routes = search([problem], 200, settings=BREEDING)

    assert int(routes.route.max()) + 1 == 10


def test_one_route_takes_all() -> None:
    random = np.random.default_rng(5)
    search([Instance(random.random((101, 2)), np.array([0, *[1] * 100]), 2**31 - 1)], 60, settings=BREEDING)


def test_places_around_the_depot_are_those_of_the_search_on_cores() -> None:
    instance = draw_instance(60)
    problem = KernelProblem.prepare(*gather([instance]))

    places = _place_around_depot(problem.lengths)[0].double().numpy() / float(problem.scale[0])

    assert places == pytest.approx(place_around_depot(instance.distance_matrix), abs=1e-3)
