"""One instance on an emulated GPU and on cores at the same time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from kernel_devices import device_of, draw_instance, needs_compiler

from dynaroute.base.stopping import Stopping
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.exchange import Exchange
from dynaroute.search.gpu import rounds
from dynaroute.search.gpu.kernel_problem import KernelProblem
from dynaroute.search.gpu.parts import PartSettings
from dynaroute.search.gpu.rounds import RoundSearch, RoundSettings
from dynaroute.search.many import BatchSearchRequest
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import SearchOutcome
from dynaroute.solving import beside, choose, searching
from dynaroute.solving.beside import search_beside_cores
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.solve import solve

pytestmark = needs_compiler

QUICK = RoundSettings(PartSettings(least_size=60, shortest=0.05, rounds=4), most_whole=100)


def search_rounds(instance: Instance, seconds: float = 0.6, settings: RoundSettings = QUICK) -> Exchange:
    """Search in rounds from savings alone, and judge the answer."""
    exchange = Exchange()
    start = build_by_savings(instance)
    exchange.leave(start, start.cost(instance))
    RoundSearch(device_of(), instance, 1, settings).run(exchange, Stopping.after(seconds))
    plan, price = exchange.best
    assert check(instance, plan) == []
    assert price == plan.cost(instance) <= start.cost(instance)
    return exchange


class Cores:
    """Plays the cores: leaves a plan, and waits until the time is up."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def __call__(self, request: BatchSearchRequest, threads: int) -> list[SearchOutcome]:
        (instance,), stopping, exchange = request.instances, request.begin(), request.exchange
        assert exchange is not None
        first = build_by_savings(instance)
        exchange.leave(first, first.cost(instance))
        if self.error is not None:
            raise self.error
        while not stopping.is_time_up():
            time.sleep(0.01)
        is_interrupted = stopping.seconds_left > 0
        plan, price = exchange.best
        return [SearchOutcome(plan, price, 1, ((0.0, price),), 0.0, is_interrupted)]


def request(instance: Instance, seconds: float = 0.6, **more: Any) -> BatchSearchRequest:
    stopping = Stopping(time.perf_counter() + seconds, **more)
    return BatchSearchRequest([instance], begin=lambda: stopping)


@pytest.mark.parametrize("size", [40, 80, 150])
def test_rounds_improve_the_whole_and_its_parts(size: int) -> None:
    instance = draw_instance(size)

    found = search_rounds(instance, 1.5)

    assert found.best[1] < build_by_savings(instance).cost(instance)


def test_routes_longer_than_small_parts_get_larger_ones() -> None:
    instance = draw_instance(300, capacity=400)

    assert QUICK.choose_part_size(build_by_savings(draw_instance(300))) == 127
    assert QUICK.choose_part_size(build_by_savings(instance)) > 300

    search_rounds(instance)


def test_a_large_globe_needs_no_table_of_all_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    demands = np.array([0, *[1] * 140])
    instance = Instance(random.uniform(40, 50, (141, 2)), demands, 8, metric="great_circle", rounding="nearest")
    largest: list[int] = []
    usual = KernelProblem.prepare

    def note(batch: Any, starts: Any) -> Any:
        largest.append(batch.nodes)
        return usual(batch, starts)

    monkeypatch.setattr(KernelProblem, "prepare", note)

    found = search_rounds(instance, 1.0)

    assert max(largest) <= 128
    assert found.best[1] < build_by_savings(instance).cost(instance)


def test_windows_and_depots_are_searched_in_rounds_too() -> None:
    for name in ("vrptw", "mdcvrp"):
        instance = draw_variant_set(VARIANTS[name], 70, 1).instances()[0]
        alone = Solution(tuple((customer,) for customer in range(1, 71)))
        exchange = Exchange()
        exchange.leave(alone, alone.cost(instance))
        RoundSearch(device_of(), instance, 1, QUICK).run(exchange, Stopping.after(1.0))
        plan, price = exchange.best
        assert check(instance, plan) == []
        assert price < 0.8 * alone.cost(instance)


def test_both_end_in_time_with_the_best_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "search_side_by_side", Cores())
    instance = draw_instance(80)

    found = search_beside_cores(request(instance), 3, device_of(), QUICK)

    assert found.message == "A GPU and 3 cores searched together."
    assert check(instance, found.outcome.solution) == []
    assert found.outcome.cost < build_by_savings(instance).cost(instance)
    assert found.outcome.iterations > 1
    assert not found.outcome.is_interrupted


@pytest.mark.parametrize("error", [RuntimeError("the CUDA driver refused: X"), torch.OutOfMemoryError("no memory")])
def test_an_error_of_the_gpu_leaves_the_cores_alone(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(beside, "search_side_by_side", Cores())
    monkeypatch.setattr(rounds, "search_batch", fail)

    found = search_beside_cores(request(draw_instance(30)), 1, device_of(), QUICK)

    assert found.message == f"The GPU stopped ({error}), so 1 core went on alone."
    assert np.isfinite(found.outcome.cost)


def test_an_error_of_the_cores_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "search_side_by_side", Cores(ValueError("a fault")))

    with pytest.raises(ValueError, match="a fault"):
        search_beside_cores(request(draw_instance(30), 60), 1, device_of(), QUICK)


@pytest.mark.parametrize("by", ["Ctrl-C", "is_cancelled"])
def test_an_interrupt_ends_both_with_the_best_plan(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(beside, "search_side_by_side", Cores())
    more: dict[str, Any] = {}
    if by == "Ctrl-C":
        monkeypatch.setattr(rounds, "search_batch", interrupt)
    else:
        more["is_cancelled"] = lambda: True
    began = time.perf_counter()

    found = search_beside_cores(request(draw_instance(30), 60, **more), 1, device_of(), QUICK)

    assert time.perf_counter() - began < 30
    assert found.outcome.is_interrupted
    assert check(draw_instance(30), found.outcome.solution) == []


def test_a_search_leaves_its_plan_or_adopts_a_better_one() -> None:
    exchange = Exchange(pause=0.0)
    adopted: list[Solution] = []
    one, other = Solution(((1,), (2,))), Solution(((1, 2),))

    exchange.visit(one, 5.0, adopted.append)
    exchange.visit(other, 4.0, adopted.append)
    exchange.visit(one, 5.0, adopted.append)
    exchange.settle(Solution(()), float("inf"), adopted.append)

    assert exchange.best == (other, 4.0)
    assert adopted == [other, other]


def choose_for(instances: Sequence[Instance], **options: Any) -> bool:
    return choose.choose(instances, SolveOptions(**options))[0].is_beside


def test_one_instance_is_searched_beside_the_cores_wherever_a_gpu_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "choose_device", lambda device: "cpu" if device == "cpu" else "cuda")
    plain = draw_instance(20)

    assert choose_for([plain], time_limit=2.0)
    assert choose_for([plain], total_time=2.0)
    assert not choose_for([plain], time_limit=2.0, device="cpu")
    assert not choose_for([plain], time_limit=0.2)
    assert not choose_for([plain], iterations=100)
    assert not choose_for([plain, plain], total_time=2.0)
    assert not choose_for([replace(plain, vehicles=(VehicleType(20, max_stops=3),))], time_limit=2.0)


@pytest.mark.parametrize("is_limited", [False, True])
def test_cores_and_gpu_search_one_instance_together(monkeypatch: pytest.MonkeyPatch, is_limited: bool) -> None:
    monkeypatch.setattr(choose, "choose_device", lambda device: "cuda")
    monkeypatch.setattr(searching, "choose_device", lambda device: "cuda")
    monkeypatch.setattr("dynaroute.search.gpu.devices.find_device", lambda name: device_of())
    instance = draw_instance(120)
    if is_limited:
        instance = replace(instance, vehicles=(VehicleType(20, max_distance=8.0),))

    result = solve(instance, time_limit=1.5, threads=1)

    assert check(instance, result.solution) == []
    assert result.cost <= result.first_cost
    assert result.messages[0] == "A GPU and 1 core searched together."
