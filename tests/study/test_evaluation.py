from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policies import SMALL_AM, SMALL_AMD, draw_instances, make_policy

from dynaroute.base.errors import InstanceError, ModelError, OptionError, UnsupportedError
from dynaroute.batch import RouteBatch
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.model import ModelCard
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.savings import build_by_savings
from dynaroute.solving.solve import solve
from dynaroute.study.evaluation import evaluate
from dynaroute.weights import shipped_models

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize("count", [2, 3, 40])
def test_policy_is_summed_up_over_mixed_sizes(count: int) -> None:
    instances = draw_instances(*(1 + index % 9 for index in range(count)))
    policy = make_policy(card=ModelCard(name="tiny"))
    costs = [result.cost for result in solve(instances, model=policy)]

    evaluation = evaluate(instances, model=policy)

    assert evaluation.count == count
    assert evaluation.mean_length == pytest.approx(statistics.fmean(costs))
    assert evaluation.standard_error == pytest.approx(statistics.stdev(costs) / math.sqrt(count))
    assert evaluation.seconds_per_instance > 0
    assert evaluation.gap is None
    assert evaluation.methods == {"tiny (greedy)": count}


def test_settings_reach_the_policy() -> None:
    instances, policy = draw_instances(9, 7), make_policy(SMALL_AM)
    costs = [result.cost for result in solve(instances, model=policy, decode="sample", samples=3, seed=5)]
    finished: list[int] = []

    evaluation = evaluate(
        instances, model=policy, decode="sample", samples=3, seed=5, device="cpu", progress=finished.append
    )

    assert evaluation.mean_length == pytest.approx(statistics.fmean(costs))
    assert evaluation.methods == {"unnamed (sample 3)": 2}
    assert sum(finished) == 2


def test_automatic_choice_counts_who_was_better(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_policy(card=ModelCard(name="amd-9", size=9)).save_pretrained(shelf / "amd-9")
    shipped_models.cache_clear()

    def build_well_for_seven_customers(instance: Instance, is_time_up: Callable[[], bool]) -> Solution:
        one_by_one = tuple((customer,) for customer in range(1, instance.size + 1))
        return build_by_savings(instance) if instance.size == 7 else Solution(one_by_one)

    monkeypatch.setattr("dynaroute.solving.building.build_by_savings", build_well_for_seven_customers)

    evaluation = evaluate(draw_instances(9, 8, 7), model="auto", decode="sample", samples=2)

    assert evaluation.methods == {"amd-9 (sample 2)": 2, "savings": 1}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"improve": "2opt"}, "2opt"),
        ({"improve": "local", "threads": 2}, "local search"),
        ({"iterations": 20}, "search 20 iterations"),
    ],
)
@pytest.mark.parametrize("model", ["policy", "savings"])
def test_improved_routes_are_those_of_solve(model: str, settings: Any, words: str) -> None:
    instances = draw_instances(9, 30, 12, 25)
    settings["model"] = make_policy(card=ModelCard(name="tiny")) if model == "policy" else model
    costs = [result.cost for result in solve(instances, **settings)]

    evaluation = evaluate(instances, **settings)

    assert evaluation.mean_length == pytest.approx(statistics.fmean(costs))
    assert evaluation.mean_length <= evaluate(instances, model=settings["model"]).mean_length
    assert evaluation.methods == {f"tiny (greedy + {words})" if model == "policy" else f"savings + {words}": 4}


def test_search_that_was_cancelled_gives_no_figures() -> None:
    with pytest.raises(KeyboardInterrupt):
        evaluate(draw_instances(9, 7), model="savings", iterations=10**12, is_cancelled=lambda: True)


def test_a_total_time_is_for_the_whole_set() -> None:
    instances = draw_instances(*[9] * 20)

    evaluation = evaluate(instances, model="savings", total_time=0.2, device="cpu", threads=1)

    assert evaluation.seconds_per_instance * 20 < 2  # not 4
    assert evaluation.methods == {"savings + search 0.2 s in all": 20}


def test_savings_is_evaluated_without_a_policy() -> None:
    instances = draw_instances(9, 7)

    evaluation = evaluate(instances, model="savings")

    assert evaluation.methods == {"savings": 2}
    assert evaluation.mean_length == statistics.fmean(result.cost for result in solve(instances, model="savings"))


@pytest.mark.parametrize("reference", [4.0, [3.0, 5.0]])
def test_gap_is_to_the_mean_of_the_reference(reference: float | list[float]) -> None:
    evaluation = evaluate(draw_instances(9, 7), model="savings", reference=reference)

    assert evaluation.gap == pytest.approx(evaluation.mean_length / 4 - 1)
    assert evaluation.to_json()["gap"] == evaluation.gap


def test_one_instance_has_no_standard_error() -> None:
    document = evaluate(draw_instances(9), model="savings").to_json()

    assert list(document) == ["count", "mean_length", "standard_error", "seconds_per_instance"]
    assert document["standard_error"] is None


@pytest.mark.parametrize("reference", [0.0, -1.0, math.inf, math.nan, [1.0], [1.0, 2.0, 3.0], [0.0, 0.0], [3.0, -1.0]])
def test_reference_that_is_no_length_is_refused(reference: float | list[float]) -> None:
    with pytest.raises(OptionError) as caught:
        evaluate(draw_instances(9, 7), model="savings", reference=reference)

    assert caught.value.where.field == "reference"
    assert caught.value.remedy


def test_no_instance_is_refused() -> None:
    with pytest.raises(InstanceError):
        evaluate([], model="savings")


def test_model_that_is_not_there_is_refused() -> None:
    with pytest.raises(ModelError):
        evaluate(draw_instances(3), model="absent")


def test_wrong_routes_are_never_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    instances = draw_instances(*[9] * 40)
    monkeypatch.setattr(RouteBatch, "lengths", lambda self, batch: batch.sizes * 0.5)

    with pytest.raises(AssertionError, match="the routes cost"):
        evaluate(instances, model=make_policy())


def test_gaps_to_best_known_costs_are_summed_up_in_per_cent() -> None:
    instances = draw_instances(9, 7, 8)
    costs = [result.cost for result in solve(instances, model="savings")]
    best = [costs[0], costs[1] / 1.1, costs[2] / 1.5]

    evaluation = evaluate(instances, model="savings", best=best)

    assert evaluation.gaps == pytest.approx((0.0, 10.0, 50.0))
    document = evaluation.to_json()
    assert list(document)[4:] == ["mean_gap", "median_gap", "worst_gap"]
    assert [document[key] for key in list(document)[4:]] == pytest.approx([20.0, 10.0, 50.0])


@pytest.mark.parametrize("best", [[1.0], [1.0, 0.0], [1.0, math.nan]])
def test_best_known_costs_that_do_not_fit_are_refused(best: list[float]) -> None:
    with pytest.raises(OptionError) as caught:
        evaluate(draw_instances(9, 7), model="savings", best=best)

    assert caught.value.where.field == "best"


def test_a_policy_with_rules_is_measured_where_there_are_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(replace(SMALL_AMD, rules=("windows",)))
    instances = draw_variant_set(VARIANTS["vrptw"], 8, 20).instances()
    evaluation = evaluate(instances, model=policy, augment=True)
    assert evaluation.mean_length == pytest.approx(
        statistics.fmean(result.cost for result in solve(instances, model=policy, augment=True))
    )
    judged = []
    monkeypatch.setattr("dynaroute.study.evaluation.require_right", lambda *given: judged.append(given))
    evaluate(instances, model=policy)
    assert len(judged) == 20  # all of them
    with pytest.raises(UnsupportedError, match="only handles capacities"):
        evaluate(instances, model=policy, improve="2opt")
