"""Several types of vehicles and several depots in the batched search, judged by the checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_devices import EAGER, device_of, needs_compiler

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.fleet import find_kinds, list_kinds, name_types
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place
from dynaroute.problem.solution import Solution, check
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.emulation import EmulatedDevice, emulate
from dynaroute.search.gpu.kernel_problem import KernelProblem
from dynaroute.search.gpu.kernel_rules import RULES_ON_GPU, KernelRules, can_search
from dynaroute.search.gpu.schedule import PopulationSettings

pytestmark = needs_compiler

ALL_RULES = 63
DEPOTS = sorted(name for name in VARIANTS if name.startswith("md"))


@pytest.fixture(autouse=True)
def compile_all_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use one version of the kernels throughout: compiling each combination would take long."""
    monkeypatch.setattr(KernelRules, "switches", ALL_RULES)
    yield


def draw(name: str, size: int, count: int = 2, seed: int = 1) -> list[Instance]:
    return draw_variant_set(VARIANTS[name], size, count, seed).instances()


def with_fleet(instance: Instance, seed: int) -> Instance:
    """Draw types of vehicles beside the given ones: smaller, cheaper, elsewhere, faster or limited in number."""
    random = np.random.default_rng(seed)
    usual = instance.fleet[0]
    fleet = [replace(usual, fixed_cost=float(random.integers(0, 3)))]
    places = tuple(Place(f"home {number}", *random.random(2)) for number in range(2))
    for number in range(int(random.integers(0, 4))):
        start = places[number].name if number < 2 and random.random() < 0.5 else usual.start
        fleet.append(
            replace(
                usual,
                name=f"type {number}",
                capacity=int(random.integers(1, instance.capacity + 1)),
                count=int(random.integers(1, 4)) if random.random() < 0.6 else None,
                start=start,
                end="open" if usual.end == "open" else start,
                fixed_cost=float(random.choice([0.0, 0.3, 2.0])),
                distance_cost=float(random.choice([0.5, 1.0, 1.5])),
                speed_factor=float(random.choice([1.0, 1.25])),
            )
        )
    assert instance.coordinates is not None
    return replace(
        instance,
        coordinates=instance.coordinates[: instance.size + 1],
        places=(*instance.places, *places),
        vehicles=tuple(fleet),
    )


def gather(problems: Sequence[Instance]) -> tuple[InstanceBatch, RouteBatch]:
    batch = InstanceBatch.from_instances(problems, RULES_ON_GPU)
    return batch, RouteBatch.alone(batch)


def search(
    problems: Sequence[Instance],
    iterations: int = 60,
    device: EmulatedDevice | None = None,
    rules: PopulationSettings | None = None,
    first: RouteBatch | None = None,
) -> RouteBatch:
    """Search from one vehicle for each customer, and judge every answer."""
    batch, alone = gather(problems)
    start = first or alone
    found = search_batch(device or device_of(), batch, start, Stopping(iterations=iterations), settings=rules).routes
    for problem, solution in zip(problems, found.to_solutions(batch), strict=True):
        assert solution.vehicles is not None
        named = replace(solution, vehicles=name_types(problem, solution.vehicles))
        assert check(problem, named) == []  # its cost too
    assert (found.lengths(batch) <= start.lengths(batch) * (1 + 1e-12)).all()
    return found


@pytest.mark.parametrize("name", DEPOTS)
def test_every_variant_with_several_depots_is_searched_rightly(name: str) -> None:
    problems = [*draw(name, 12), *draw(name, 40, seed=2)]

    found = search(problems, 300)

    batch, alone = gather(problems)
    assert (found.lengths(batch).sum() < 0.75 * alone.lengths(batch).sum()).all()


@given(st.sampled_from(sorted(VARIANTS)), st.integers(1, 25), st.integers(0, 2**31), st.integers(0, 2**31))
@settings(max_examples=60)
def test_no_rule_is_ever_broken_with_any_fleet(name: str, size: int, seed: int, fleet: int) -> None:
    drawn = (draw(name, size, 1, seed)[0] for seed in (seed, seed // 2))
    problems = [with_fleet(problem, fleet + number) for number, problem in enumerate(drawn)]
    assert all(map(can_search, problems))
    batch, alone = gather(problems)
    solutions = [limit(*pair) for pair in zip(problems, alone.to_solutions(batch), strict=True)]
    first = RouteBatch.from_solutions(solutions, batch)

    search(problems, 40, first=first)
    search(problems, 40, rules=EAGER, first=first)


def limit(problem: Instance, alone: Solution) -> Solution:
    """Leave to the first type, of which there are as many as needed, what the others have too few vehicles for."""
    assert alone.vehicles is not None
    counts = [problem.fleet[members[0]].count for _, members in list_kinds(problem)]
    left = [len(alone.routes) if count is None else count for count in counts]
    chosen = []
    for kind in alone.vehicles:
        left[kind] -= 1
        chosen.append(kind if left[kind] >= 0 else find_kinds(problem, [0])[0])
    return replace(alone, stated_cost=None, vehicles=tuple(chosen))


@pytest.mark.parametrize("name", ["mdvrptw", "mdovrpmbl"])
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
        assert together.kind is not None and alone.kind is not None
        assert torch.equal(together.kind, alone.kind)
    assert lanes.with_rules(ALL_RULES).faults == faults == 0


def test_cheap_vehicles_are_used_up_before_dear_ones() -> None:
    plain = draw("cvrp", 30, 1)[0]
    cheap, dear = VehicleType(plain.capacity, "cheap", count=2), VehicleType(plain.capacity, "dear", fixed_cost=50.0)
    problem = replace(plain, vehicles=(dear, cheap))
    batch, _ = gather([problem])
    kinds = find_kinds(problem, [0] * 30)
    first = RouteBatch.from_solutions([Solution(tuple((node,) for node in range(1, 31)), vehicles=kinds)], batch)

    found = search([problem], 3000, first=first)

    (solution,) = found.to_solutions(batch)
    assert solution.vehicles is not None
    assert name_types(problem, solution.vehicles).count(1) == 2


def test_small_vehicles_serve_what_fits_where_they_are_cheaper() -> None:
    plain = draw("cvrp", 20, 1)[0]
    large = VehicleType(plain.capacity, "large", fixed_cost=100.0)
    problem = replace(plain, vehicles=(large, VehicleType(int(plain.demands.max()), "small")))

    (solution,) = search([problem], 300).to_solutions(gather([problem])[0])

    assert solution.vehicles is not None
    assert set(name_types(problem, solution.vehicles)) == {1}


def test_slots_stay_within_the_vehicles_and_within_a_byte() -> None:
    plain = draw("cvrp", 120, 1)[0]
    few = VehicleType(plain.capacity, "few", count=2, distance_cost=3.0)
    problem = replace(plain, vehicles=(VehicleType(plain.capacity), few))
    batch, alone = gather([problem])

    prepared = KernelProblem.prepare(batch, alone)

    assert prepared.layout.is_small
    assert prepared.layout.slots == int(prepared.slots[0]) <= 127
    assert int((prepared.slot_kinds == 1).sum()) <= 2
    assert sorted(prepared.routes[0, 1:].tolist()) == list(range(120))


def test_a_batch_of_fleets_keeps_them_when_rows_are_chosen() -> None:
    problems = [with_fleet(problem, seed) for seed, problem in enumerate(draw("vrptw", 12, 3))]
    batch, alone = gather(problems)

    chosen = batch[torch.tensor([2, 0])]

    assert torch.allclose(alone[torch.tensor([2, 0])].lengths(chosen), alone.lengths(batch)[[2, 0]])


def test_what_kinds_cannot_show_is_left_to_the_cores() -> None:
    plain = draw("cvrp", 5)[0]
    places = (Place("home", 0.1, 0.2),)
    kind = VehicleType(plain.capacity)
    assert can_search(replace(plain, vehicles=(kind, replace(kind, fixed_cost=10.0, count=2))))
    assert can_search(replace(plain, places=places, vehicles=(replace(kind, start="home", end="home"),)))
    others: tuple[dict[str, Any], ...] = (
        {"places": places, "vehicles": (replace(kind, start="home", end="depot"),)},
        {"vehicles": (replace(kind, time_cost=1.0),), "speed": 1.0},
        {"vehicles": (kind, replace(kind, max_stops=3))},
        {"vehicles": (replace(kind, skills=frozenset({"lift"})), kind), "skills": [set(), {"lift"}, *[set()] * 4]},
    )
    for other in others:
        assert not can_search(replace(plain, **other))
