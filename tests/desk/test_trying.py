"""Other days, each searched from the same plan."""

from __future__ import annotations

import pytest
from desk_days import DAY, make_day_plan

from dynaroute.base.errors import OptionError
from dynaroute.desk.trying import SearchTime, fit_routes, what_if
from dynaroute.desk.variants import Wishes, list_promises, list_variants
from dynaroute.problem.solution import check

QUICK = SearchTime(0.03, threads=1)


def test_every_variant_is_judged_and_named() -> None:
    plan = make_day_plan()
    wishes = Wishes(("Sprinter=1..2",), ("Bakery",), (("School", 9.5 * 3600),))
    tried = what_if(plan, list_variants(plan.instance, wishes), QUICK)

    names = [trial.variant.name for trial in tried.trials]
    assert names == ["1 x Sprinter", "2 x Sprinter", "Bakery at any time", "School until 09:30"]
    for trial in tried.trials:
        assert trial.plan is None or check(trial.variant.instance, trial.plan.solution) == []
    assert tried.base.plan is not None


def test_too_few_vehicles_are_refused_with_the_reason() -> None:
    plan = make_day_plan()
    (one, _) = what_if(plan, list_variants(plan.instance, Wishes(("Sprinter=1..2",))), QUICK).trials

    assert one.plan is None
    assert "demand 17" in one.reason


def test_every_window_skill_and_vehicle_is_a_promise() -> None:
    skilled = [{**each, "skills": "lift"} if each["id"] == "Market" else each for each in DAY["customers"]]
    vans = [{**van, "skills": "lift"} if van["name"] == "Sprinter" else van for van in DAY["vehicles"]]
    promises = list(list_promises(make_day_plan(version=3, customers=skilled, vehicles=vans).instance))

    assert len([each for each in promises if each.kind == "window"]) == 7
    assert [each.name for each in promises if each.kind != "window"] == [
        "Market without lift",
        "without one Sprinter",
        "without one Bike",
    ]


def test_dropping_a_promise_never_costs_more() -> None:
    plan = make_day_plan()
    tried = what_if(plan, list(list_promises(plan.instance)), QUICK)

    kept = [trial for trial in tried.trials if trial.variant.kind != "vehicle"]
    assert all(trial.cost <= tried.base.cost for trial in kept)


def test_routes_that_no_longer_fit_wait_for_the_search() -> None:
    plan = make_day_plan()
    (variant,) = list_variants(plan.instance, Wishes(window_until=(("Clinic", 8.5 * 3600),)))
    start = fit_routes(plan.solution, variant)

    assert start.routes == ((4, 5, 6), (7,))
    assert start.statements.waiting == (1, 2, 3)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        (Wishes(), "nothing to try"),
        (Wishes(("2..5",)), "2 types of vehicles"),
        (Wishes(("Van=2",)), "'Van'"),
        (Wishes(("Sprinter=5..2",)), "'5..2'"),
        (Wishes(("Sprinter=0",)), "'0'"),
        (Wishes(without_window=("Harbour",)), "'Harbour'"),
        (Wishes(window_until=(("Florist", 3600.0),)), "only opens at 13:00"),
    ],
)
def test_wishes_that_make_no_sense_are_refused_in_words(wishes: Wishes, words: str) -> None:
    with pytest.raises(OptionError, match=words.replace(".", r"\.")):
        list_variants(make_day_plan().instance, wishes)
