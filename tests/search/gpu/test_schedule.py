from __future__ import annotations

from itertools import pairwise

import pytest

from dynaroute.search.gpu.launches import BREEDING_WARPS
from dynaroute.search.gpu.schedule import LEVELS, GeneticSettings, PopulationSettings, plan_search


@pytest.mark.parametrize("iterations", [0, 100, 1e4, 1e5, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("size", [1, 20, 100, 1000])
def test_generations_follow_each_other_from_beginning_to_end(iterations: float, size: int) -> None:
    plan = plan_search(iterations, size)

    assert plan.generations[0].begins == 0
    assert plan.generations[-1].ends == plan.breeds_from
    assert (plan.breeds_from < 1) == (plan.islands > 0)
    assert all(one.ends == other.begins for one, other in pairwise(plan.generations))
    assert all(one.begins < one.ends and one.hottest > one.coolest for one in plan.generations)


def test_short_searches_have_one_chain_and_long_ones_of_large_instances_a_population() -> None:
    assert plan_search(1_000, 100).chains == 1
    assert plan_search(40_000_000, 1000).chains == PopulationSettings().most_chains
    assert len(plan_search(20_000_000, 1000).generations) > 1


def test_long_searches_of_small_instances_breed() -> None:
    assert plan_search(1_000, 100).breeds_from == 1
    assert plan_search(10_000, 100).breeds_from == GeneticSettings().first_share
    assert plan_search(4_000_000, 100).breeds_from == GeneticSettings().first_most / 4_000_000
    assert plan_search(40_000_000, 1000).breeds_from == 1


def test_long_searches_have_larger_populations() -> None:
    rules = GeneticSettings()

    assert plan_search(1.01 * rules.least, 100).survivors == rules.fewest
    assert rules.fewest < plan_search(40_000, 100).survivors < rules.most
    assert plan_search(4_000_000, 100).survivors == rules.most


def test_gpu_is_kept_busy_by_islands() -> None:
    assert plan_search(10_000_000, 100).islands == 1
    assert plan_search(10_000_000, 100, least_chains=40 * BREEDING_WARPS).islands == 40


def test_gpu_is_kept_busy() -> None:
    assert plan_search(10_000, 100, least_chains=40).chains == 40


def test_temperatures_fall_from_the_hottest_to_the_coolest() -> None:
    generation = plan_search(10_000, 100).generations[0]

    temperatures = generation.list_temperatures()

    assert len(temperatures) == LEVELS
    assert temperatures[0] == pytest.approx(generation.hottest)
    assert temperatures[-1] == pytest.approx(generation.coolest)
    assert (temperatures[1:] < temperatures[:-1]).all()
