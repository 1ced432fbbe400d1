"""Time windows, limits, pickups and open routes in the batched search, judged by the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_devices import EAGER, device_of, needs_compiler

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.emulation import EmulatedDevice, emulate
from dynaroute.search.gpu.kernel_rules import RULES_ON_GPU, KernelRules, can_search
from dynaroute.search.gpu.parts import PartSettings, search_in_parts
from dynaroute.search.gpu.schedule import PopulationSettings

pytestmark = needs_compiler

ALL_RULES = 31
KNOWN = sorted(name for name in VARIANTS if not name.startswith("md"))


@pytest.fixture(autouse=True)
def compile_all_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use one version of the kernels throughout: compiling each combination would take long."""
    monkeypatch.setattr(KernelRules, "switches", ALL_RULES)
    yield


def draw(name: str, size: int, count: int = 2, seed: int = 1) -> list[Instance]:
    return draw_variant_set(VARIANTS[name], size, count, seed).instances()


def with_longest_duration(instance: Instance, share: float) -> Instance:
    """Limit durations so that every customer can still be served alone."""
    kind = instance.fleet[0]
    service = np.zeros(instance.size + 1) if instance.service is None else instance.service
    customers = np.arange(1, instance.size + 1)
    alone = 2 * instance.leg_lengths(0, customers) + service[1:]
    limit = float(alone.max()) * (1 + share) + 1e-6
    return replace(instance, speed=1.0, vehicles=(replace(kind, max_duration=limit),))


def search(
    problems: list[Instance],
    iterations: int = 60,
    device: EmulatedDevice | None = None,
    rules: PopulationSettings | None = None,
) -> RouteBatch:
    """Search from one route for each customer, and judge every answer."""
    batch = InstanceBatch.from_instances(problems, RULES_ON_GPU)
    first = RouteBatch.alone(batch)
    found = search_batch(device or device_of(), batch, first, Stopping(iterations=iterations), settings=rules).routes
    for problem, solution in zip(problems, found.to_solutions(batch), strict=True):
        assert check(problem, solution) == []
    assert (found.lengths(batch) <= first.lengths(batch)).all()
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_every_variant_is_searched_rightly(name: str) -> None:
    problems = [*draw(name, 12), *draw(name, 40, seed=2)]

    found = search(problems, 300)

    batch = InstanceBatch.from_instances(problems, RULES_ON_GPU)
    assert (found.lengths(batch) < 0.7 * RouteBatch.alone(batch).lengths(batch)).all()


@given(st.sampled_from(KNOWN), st.integers(1, 25), st.integers(0, 2**31), st.one_of(st.none(), st.floats(0.0, 2.0)))
@settings(max_examples=60)
def test_no_rule_is_ever_broken(name: str, size: int, seed: int, share: float | None) -> None:
    problems = draw(name, size, seed=seed)
    if share is not None:
        problems = [with_longest_duration(problem, share) for problem in problems]

    search(problems, 40)
    search(problems, 40, rules=EAGER)


@pytest.mark.parametrize("name", ["vrptw", "ovrpmbltw", "vrpbl"])
@pytest.mark.parametrize("size", [33, 140])
def test_32_lanes_agree_with_one(name: str, size: int) -> None:
    problems, lanes = draw(name, size, count=1), emulate(32)
    faults = lanes.faults

    alone = search(problems, 40, rules=EAGER)

    for order in (0, 1, 5):
        lanes.with_rules(ALL_RULES).set_lane_order(order)
        together = search(problems, 40, lanes, EAGER)
        assert torch.equal(together.route, alone.route)
        assert torch.equal(together.position, alone.position)
    assert lanes.faults == faults


def test_longest_durations_are_kept_where_waiting_counts() -> None:
    problems = [with_longest_duration(problem, 0.5) for problem in draw("vrptw", 40)]

    found = search(problems, 2000)

    lengths = found.lengths(InstanceBatch.from_instances(problems, RULES_ON_GPU))
    assert (
        lengths > search(draw("vrptw", 40), 2000).lengths(InstanceBatch.from_instances(problems, RULES_ON_GPU))
    ).all()


def test_what_is_not_needed_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    rules = {
        name: KernelRules.prepare(InstanceBatch.from_instances(draw(name, 10), RULES_ON_GPU))
        for name in ("vrptw", "ovrp", "vrpl", "vrpmb", "ovrpbltw")
    }

    assert {name: each.switches for name, each in rules.items() if each is not None} == {
        "vrptw": 1,
        "ovrp": 16,
        "vrpl": 4,
        "vrpmb": 8,
        "ovrpbltw": 29,
    }
    assert KernelRules.prepare(InstanceBatch.from_instances(draw("cvrp", 10))) is None


def test_kernels_for_windows_alone_find_the_same_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = draw("vrptw", 30)

    with_all = search(problems, 200)
    monkeypatch.setattr(KernelRules, "switches", 1)

    assert torch.equal(search(problems, 200).route, with_all.route)


def test_large_instances_are_searched_in_parts() -> None:
    problems = draw("ovrptw", 260, count=1)
    batch = InstanceBatch.from_instances(problems, RULES_ON_GPU)
    first = search(problems, 400)

    found = search_in_parts(device_of(), batch, first, Stopping.after(1.0), settings=PartSettings(shortest=0.1))

    assert check(problems[0], found.routes.to_solutions(batch)[0]) == []
    assert (found.routes.lengths(batch) < first.lengths(batch)).all()


def test_what_the_kernels_do_not_know_is_left_to_the_cores() -> None:
    plain = draw("cvrp", 5)[0]
    assert can_search(plain)
    assert all(can_search(draw(name, 5)[0]) for name in KNOWN)
    assert not can_search(replace(plain, vehicles=(VehicleType(plain.capacity, max_stops=3),)))
    assert not can_search(replace(plain, prizes=np.full(6, 9.0)))
