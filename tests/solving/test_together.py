from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_devices import device_of, draw_instance, needs_compiler

from dynaroute.batch import InstanceBatch
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.gpu.parts import search_in_parts
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import Improvement
from dynaroute.solving import choose, together
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result
from dynaroute.solving.solve import solve

pytestmark = needs_compiler

RANDOM = np.random.default_rng(5)
MATRIX = Instance(None, np.array([0, *[1] * 8]), 3, distances=np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
GLOBE = Instance(RANDOM.uniform(40, 50, (12, 2)), np.array([0, *[2] * 11]), 6, metric="great_circle", rounding="up")


def search(
    instances: Sequence[Instance],
    starts: Sequence[Solution] | None = None,
    observers: Observers | None = None,
    **options: Any,
) -> list[Result]:
    entered = time.perf_counter()
    chosen = SolveOptions(**options)
    results = together.search_together(instances, starts, chosen, observers or Observers(), entered, device_of())
    for instance, result in zip(instances, results, strict=True):
        assert result.instance is instance
        assert check(instance, result.solution) == []
        assert result.cost == result.solution.cost(instance)
        assert result.cost == result.trace[-1][1] <= result.trace[0][1]
    return results


def test_instances_of_all_kinds_are_searched_together(model: Path) -> None:
    kinds = [draw_instance(20), MATRIX, GLOBE, draw_instance(140), draw_instance(20, 1)]

    results = search(kinds, model=model, iterations=200)

    assert [result.start.kind for result in results] == ["policy", "savings", "policy", "policy", "policy"]
    assert all(result.iterations == 200 for result in results)


def test_instances_with_rules_begin_with_insertion_beside_plain_ones() -> None:
    windows = draw_variant_set(VARIANTS["ovrptw"], 15, 2).instances()

    results = search([windows[0], draw_instance(18), windows[1]], model="savings", iterations=300)

    assert [result.start.kind for result in results] == ["insertion", "savings", "insertion"]
    assert all(
        result.trace[-1][1] < 0.6 * sum(result.instance.leg_lengths(0, np.arange(1, 16))) for result in results[::2]
    )


def test_fleets_are_searched_with_their_own_types_named() -> None:
    depots = draw_variant_set(VARIANTS["mdvrptw"], 15, 1).instances()[0]
    plain = draw_instance(20)
    fleet = (VehicleType(9, "bike", count=2), VehicleType(20, "van", count=30))
    told: list[Improvement] = []
    observers = Observers(on_improvement=lambda _, found: told.append(found))

    one, two = search([replace(plain, vehicles=fleet), depots], observers=observers, iterations=500)

    assert one.start.kind == two.start.kind == "insertion"
    assert one.solution.vehicles is not None
    assert two.solution.vehicles is not None
    for found in told:
        assert not check(one.instance, found.solution) or not check(two.instance, found.solution)


def test_fleet_without_room_for_everybody_is_left_to_the_cores() -> None:
    plain = draw_instance(12)
    few = replace(plain, vehicles=(VehicleType(20, count=1),))
    enough = replace(plain, vehicles=(VehicleType(20, count=9),))

    left, found = together.search_together(
        [few, enough], None, SolveOptions(total_time=0.5), Observers(), time.perf_counter(), device_of()
    )

    assert left.unserved
    assert "the CPU searched instead" in left.messages[0]
    assert not found.unserved
    assert check(enough, found.solution) == []


def test_shipped_model_of_the_nearest_size_begins_in_all_orientations() -> None:
    small, medium = search([draw_instance(18), draw_instance(55)], total_time=3.0)

    assert small.model_and_method == "amd-20 (greedy x8 + search 3 s in all)"
    assert medium.model == "amd-50"


def test_large_instances_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    asked: list[int] = []
    usual = search_in_parts

    def note(device: Any, batch: InstanceBatch, *given: Any, **more: Any) -> Any:
        asked.append(len(batch))
        return usual(device, batch, *given, **more)

    monkeypatch.setattr(together, "search_in_parts", note)
    large, small = draw_instance(260), draw_instance(30)

    search([large], [build_by_savings(large)], total_time=0.8)
    search([small], [build_by_savings(small)], total_time=0.1)
    search([large], [build_by_savings(large)], iterations=50)

    assert asked == [1]


def test_known_routes_are_improved() -> None:
    instances = [draw_instance(30), MATRIX]
    starts = [build_by_savings(instance) for instance in instances]

    results = search(instances, starts, iterations=500)

    assert [result.start.kind for result in results] == ["given", "given"]
    assert results[0].first_cost == pytest.approx(starts[0].cost(instances[0]))
    assert results[0].cost < results[0].first_cost


def test_total_time_is_for_all_of_them(model: Path) -> None:
    began = time.perf_counter()

    results = search([draw_instance(20, seed) for seed in range(40)], model=model, total_time=0.5)

    assert time.perf_counter() - began < 10  # not 20
    assert sum(result.seconds for result in results) < 10


def test_improvements_are_told_with_the_number_of_their_instance(model: Path) -> None:
    instances = [draw_instance(30), draw_instance(60), MATRIX]
    told: list[tuple[int, Improvement]] = []
    observers = Observers(on_improvement=lambda index, found: told.append((index, found)))

    results = search(instances, observers=observers, model=model, iterations=3000)

    for row, result in enumerate(results):
        costs = [found.cost for index, found in told if index == row]
        assert costs == sorted(costs, reverse=True)
        assert costs[0] == pytest.approx(result.first_cost)
        assert costs[-1] == pytest.approx(result.cost)
    for index, found in told:
        assert check(instances[index], found.solution) == []


def test_cancelling_ends_it_with_routes_for_all(model: Path) -> None:
    results = search(
        [draw_instance(20), draw_instance(90)],
        observers=Observers(is_cancelled=lambda: True),
        model=model,
        total_time=99,
    )

    assert all(result.is_interrupted for result in results)


def test_progress_counts_every_instance_once(model: Path) -> None:
    finished: list[int] = []

    search([draw_instance(20), MATRIX], observers=Observers(finished.append), model=model, iterations=10)

    assert sum(finished) == 2


def test_batch_of_tensors_is_searched_without_instances(model: Path) -> None:
    instances = [draw_instance(30, seed) for seed in range(3)]
    batch = InstanceBatch.from_instances(instances)

    found = together.search_routes(batch, SolveOptions(model=model, iterations=300), kernels=device_of())

    for instance, solution in zip(instances, found.routes.to_solutions(batch), strict=True):
        assert check(instance, solution) == []
    assert (found.routes.lengths(batch).numpy() <= found.looks[0][1] + 1e-9).all()


def test_a_total_time_asks_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    monkeypatch.setattr(choose, "choose_device", lambda device: "cuda")
    monkeypatch.setattr(together, "choose_device", lambda device: "cuda")
    monkeypatch.setattr(together, "find_device", lambda name: device_of())

    one, two = solve([draw_instance(20), draw_instance(30)], total_time=0.5, model=model)

    assert one.method == two.method == "greedy x8 + search 0.5 s in all"


def test_without_a_gpu_the_time_of_the_cores_is_shared_out() -> None:
    instances = [draw_instance(20, seed) for seed in range(50)]
    solve(instances[:2], iterations=1)  # compiled before the clock starts
    began = time.perf_counter()

    results = solve(instances, total_time=0.5, device="cpu", threads=2)

    assert time.perf_counter() - began < 5  # not 12
    assert all(check(result.instance, result.solution) == [] for result in results)
    assert results[0].method == "savings + search 0.5 s in all"
