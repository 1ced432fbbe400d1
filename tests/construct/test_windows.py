"""Routes of large instances, built in windows of near customers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from policies import SMALL_AMD, draw_instances, make_policy
from strategies import instances

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import Augmented, Greedy, Sampling, construct
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.construct.windows import LARGEST_WHOLE, construct_in_windows
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check

LOCATED = instances(
    sizes=st.integers(1, 40), placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe"))
)
POLICY = make_policy()


def build(windows: InstanceBatch) -> RouteBatch:
    return construct_once(POLICY, windows, MostLikely())


def draw_large(size: int = LARGEST_WHOLE + 1, seed: int = 0) -> Instance:
    return draw_instances(size, seed=seed)[0]


@given(LOCATED, st.integers(1, 12))
def test_every_solution_is_right(instance: Instance, window: int) -> None:
    batch = InstanceBatch.from_instances([instance])

    solution = construct_in_windows(batch, build, window).to_solutions(batch)[0]

    assert check(instance, solution) == []


@given(LOCATED, st.integers(1, 12))
def test_no_window_is_larger_than_asked_for(instance: Instance, window: int) -> None:
    sizes: list[int] = []

    def build_and_count(windows: InstanceBatch) -> RouteBatch:
        sizes.extend(windows.sizes.tolist())
        return RouteBatch.alone(windows)  # so no two customers belong together when routes are built again

    construct_in_windows(InstanceBatch.from_instances([instance]), build_and_count, window)

    assert max(sizes) <= window


def test_customers_of_a_window_are_near_each_other() -> None:
    rows: list[torch.Tensor] = []

    def build_and_look(windows: InstanceBatch) -> RouteBatch:
        rows.extend(windows.coordinates[row, 1 : size + 1] for row, size in enumerate(windows.sizes.tolist()))
        return RouteBatch.alone(windows)

    construct_in_windows(InstanceBatch.from_instances([draw_large(400)]), build_and_look, 25)

    assert np.mean([float((places.amax(0) - places.amin(0)).max()) for places in rows[:16]]) < 0.4


def test_each_window_fills_the_square_that_the_policy_sees() -> None:
    def build_and_look(windows: InstanceBatch) -> RouteBatch:
        extent = windows.locations.amax(1) - windows.locations.amin(1)
        assert torch.allclose(extent.amax(1), torch.ones(len(windows), dtype=extent.dtype))
        assert bool((windows.locations >= 0).all() and (windows.locations <= 1).all())
        return RouteBatch.alone(windows)

    construct_in_windows(InstanceBatch.from_instances([draw_large(200)]), build_and_look, 20)


def test_customers_whose_vehicle_is_not_full_come_together_in_new_windows() -> None:
    corners = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 3, axis=0)
    corners += np.linspace(0, 0.01, 12)[:, None]
    instance = Instance(np.vstack([[0.5, 0.5], corners]), np.array([0, *[1] * 12]), 2)
    batch = InstanceBatch.from_instances([instance])

    def pair_up(windows: InstanceBatch) -> RouteBatch:
        place = torch.arange(windows.nodes).expand(len(windows), -1) - 1
        inside = windows.is_customer
        return RouteBatch(torch.where(inside, place // 2, -1).int(), torch.where(inside, place % 2, -1).int())

    routes = construct_in_windows(batch, pair_up, 3).to_solutions(batch)[0].routes

    assert sorted(map(len, routes)) == [2] * 6  # four windows alone would have needed eight vehicles


def test_what_is_built_again_is_kept_only_if_it_is_shorter() -> None:
    batch = InstanceBatch.from_instances([draw_large(120)])
    lengths: list[float] = []

    def build_worse_later(windows: InstanceBatch) -> RouteBatch:
        routes = build(windows) if not lengths else RouteBatch.alone(windows)
        lengths.append(float(routes.lengths(windows)[0]))
        return routes

    found = construct_in_windows(batch, build_worse_later, 120)

    first, again = lengths
    assert first < again
    assert float(found.lengths(batch)[0]) == pytest.approx(first)


@pytest.mark.parametrize("strategy", [Greedy(), Sampling(2), Augmented(Greedy())], ids=repr)
def test_large_instances_are_built_in_windows_whatever_the_strategy(strategy: Sampling) -> None:
    large, small = draw_large(), draw_large(7)
    batch = InstanceBatch.from_instances([small, large, small])
    done: list[int] = []

    routes = construct(POLICY, batch, strategy, torch.Generator().manual_seed(1), progress=done.append)

    solutions = routes.to_solutions(batch)
    assert [check(each, found) for each, found in zip([small, large, small], solutions, strict=True)] == [[]] * 3
    assert sum(done) == 3
    assert solutions[0].routes == solutions[2].routes


def test_routes_of_a_large_instance_do_not_depend_on_the_rest_of_the_batch() -> None:
    large, other = draw_large(), draw_large(30, seed=5)
    policy = make_policy(SMALL_AMD)
    alone, beside = (InstanceBatch.from_instances(each) for each in ([large], [other, large]))

    routes = construct(policy, alone, Greedy())[0:1]

    assert torch.equal(routes.route[0], construct(policy, beside, Greedy()).route[1])
