"""Variants of one day on an emulated GPU, judged by the checker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_devices import device_of, needs_compiler

from dynaroute.desk import trying
from dynaroute.desk.trying import SearchTime, what_if
from dynaroute.desk.variants import Wishes, list_variants
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.plans.plan import Plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.solving import variants
from dynaroute.solving.result import Result
from dynaroute.solving.variants import VariantSearch, solve_variants

pytestmark = needs_compiler


def draw_day() -> tuple[Instance, Solution]:
    day = draw_variant_set(VARIANTS["vrptw"], 12, 1).instances()[0]
    return day, Solution(tuple((customer,) for customer in range(1, 13)))


def test_every_window_of_a_plan_is_priced_in_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    day, alone = draw_day()
    asked: list[int] = []
    usual = solve_variants

    def note(instances: Any, starts: Any, search: Any) -> list[Result]:
        asked.append(len(instances))
        return usual(instances, starts, search, device_of())

    monkeypatch.setattr(trying, "choose_device", lambda device: "cuda")
    monkeypatch.setattr(variants, "solve_variants", note)

    tried = what_if(Plan(day, alone), list_variants(day, Wishes(promises=True)), SearchTime(seconds=1.0))

    assert asked == [13]
    assert all(trial.plan is not None and trial.cost <= tried.base.cost for trial in tried.trials)
    assert tried.base.cost < alone.cost(day)


def test_customers_who_wait_get_a_vehicle_before_the_search() -> None:
    day, alone = draw_day()
    later = replace(alone, routes=alone.routes[:-2], statements=replace(alone.statements, waiting=(11, 12)))

    (found,) = solve_variants([day], [later], VariantSearch(0.3), device_of())

    assert check(day, found.solution) == []
    assert found.start.kind == "given"


def test_what_the_gpu_does_not_know_is_searched_on_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    day, alone = draw_day()
    plain = Instance(day.coordinates, day.demands, day.capacity)
    asked: list[tuple[int, Any]] = []

    def note(instances: Any, options: Any, observers: Any) -> list[Result]:
        asked.append((len(instances), options.device))
        return [Result(each, alone, alone.cost(each), 0.0, found[0].start) for each in instances]

    found = solve_variants([plain], [alone], VariantSearch(0.2), device_of())
    monkeypatch.setattr(variants, "solve_all", note)
    stops = replace(plain, vehicles=(VehicleType(plain.capacity, max_stops=2),))
    few = replace(plain, vehicles=(VehicleType(plain.capacity, count=1),))

    results = solve_variants([stops, plain, few], [alone, alone, Solution(())], VariantSearch(0.2), device_of())

    assert asked == [(2, "cpu")]
    assert [result.instance for result in results] == [stops, plain, few]
    assert np.isfinite(results[1].cost)
