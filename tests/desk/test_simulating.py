"""A plan on many days on which driving and service vary."""

from __future__ import annotations

import numpy as np
import pytest
from desk_days import make_day_plan
from hypothesis import given, settings
from hypothesis import strategies as some
from rich_problems import RULE_MAKERS, draw_problem, draw_routes

from dynaroute.base.errors import OptionError
from dynaroute.desk.simulating import simulate
from dynaroute.plans import Plan
from dynaroute.problem.solution import make_timetable


@settings(max_examples=60)
@given(some.integers(0, 10**6), some.sets(some.sampled_from(sorted(RULE_MAKERS)), max_size=3))
def test_a_day_without_chance_is_the_timetable(seed: int, rules: set[str]) -> None:
    random = np.random.default_rng(seed)
    instance = draw_problem(random, rules)
    plan = Plan(instance, draw_routes(random, instance))
    simulated = simulate(plan, travel=0, service=0, days=2)
    by_id = {stop.id: stop for stop in simulated.stops}
    for times in make_timetable(instance, plan.solution):
        for stop in times.stops:
            if not 0 < stop.customer <= instance.size:
                continue
            found = by_id[instance.customer_name(stop.customer)]
            windows = instance.windows_of(stop.customer)
            late = max(0.0, stop.start - windows[-1][1]) if windows else 0.0
            assert found.mean_lateness == pytest.approx(late if late > 1e-6 else 0.0, abs=1e-6)
            assert found.promise[0] <= stop.start + 1e-6
            assert stop.start - 1e-6 <= found.promise[1]


def test_the_same_seed_gives_the_same_days() -> None:
    assert simulate(make_day_plan(), days=50, seed=3) == simulate(make_day_plan(), days=50, seed=3)


def test_promised_windows_are_kept_on_other_days() -> None:
    plan = make_day_plan()
    promised = {stop.id: stop.promise for stop in simulate(plan, days=4000).stops}
    windows = [["08:00", "18:00"]] * 7
    customers = [
        {**customer, "window": [first, last]}
        for customer, (first, last) in zip(
            make_day_document(windows), (promised[name] for name in promised_order(plan)), strict=True
        )
    ]
    kept = simulate(make_day_plan(customers=customers), days=4000, seed=9)
    assert min(stop.on_time for stop in kept.stops) > 0.92


def make_day_document(windows: list[list[str]]) -> list[dict[str, object]]:
    from desk_days import DAY

    return [{**customer, "window": window} for customer, window in zip(DAY["customers"], windows, strict=True)]


def promised_order(plan: Plan) -> list[str]:
    return [plan.instance.customer_name(node) for node in range(1, plan.instance.size + 1)]


def test_a_stop_served_at_the_end_of_its_window_is_risky() -> None:
    plan = make_day_plan([[2, 1, 3], [4, 5, 6], [7]])  # the bakery is late anyway
    bakery = simulate(plan, days=200).stops[0]

    assert (bakery.id, bakery.is_risky, bakery.on_time < 0.2) == ("Bakery", True, True)


@pytest.mark.parametrize(("name", "value"), [("travel", -0.1), ("service", 11), ("days", 0)])
def test_numbers_out_of_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"field {name}"):
        simulate(make_day_plan(), **{name: value})  # type: ignore[arg-type]
