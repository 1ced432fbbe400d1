from __future__ import annotations

import pytest
import torch
from kernel_devices import device_of, needs_compiler
from policies import SMALL_AM, make_policy

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Chooser
from dynaroute.construct.fused import construct_fused
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.packing import Packing
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.kernel_rules import KernelRules
from dynaroute.study import kernel_comparisons as comparisons
from dynaroute.training.step.instances import TrainingTask


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Policy:
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    return Policy(PolicyConfig(layers=1), generator=torch.Generator().manual_seed(2))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # the interpreter's exp of large numbers
def test_every_comparison_is_right(policy: Policy) -> None:
    outcomes = list(comparisons.compare_all(policy, [6], 2, "cpu"))
    assert {outcome.what for outcome in outcomes} >= {"greedy routes", "sampled routes", "replay, gradient"}
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_wrong_kernel_is_found(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap_customers(policy: Policy, batch: InstanceBatch, chooser: Chooser, precision: torch.dtype) -> RouteBatch:
        routes = construct_fused(policy, batch, chooser, precision=precision)
        order = [0, 2, 1, *range(3, batch.nodes)]
        return RouteBatch(routes.route[:, order], routes.position[:, order])

    monkeypatch.setattr(comparisons, "construct_fused", swap_customers)
    wrong = next(outcome.what for outcome in comparisons.compare_all(policy, [6], 2, "cpu") if not outcome.is_right)
    assert wrong == "greedy routes"


def test_a_layer_that_is_off_by_little_is_found(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def shift(layer: AttentionLayer, hidden: torch.Tensor, packing: Packing, by_kernels: bool) -> torch.Tensor:
        shifted: torch.Tensor = layer(hidden, packing) * 1.001
        return shifted

    monkeypatch.setattr(comparisons, "run_layer", shift)
    batch = TrainingTask(6, (20,)).draw(2, torch.Generator().manual_seed(6), first_key=0)
    wrong = [outcome.what for outcome in comparisons.compare_layers(policy, batch, 6) if not outcome.is_right]
    assert wrong == ["encoder's layers", "encoder's layers, gradient"]


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_static_policy_is_compared_in_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    outcomes = list(comparisons.compare_all(make_policy(SMALL_AM), [5], 2, "cpu"))
    assert {outcome.what for outcome in outcomes} >= {"replay, log p", "replay, gradient"}
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


def test_nan_is_never_right() -> None:
    assert not comparisons.Comparison("any", 1, float("nan"), 1.0).is_right


@needs_compiler
def test_search_of_32_lanes_is_compared_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "_ITERATIONS", 200)

    outcomes = list(comparisons.compare_search(device_of(32), 9, 2))

    kinds = {f"{what}, share {of}" for what in ("chains", "islands") for of in ("of wrong routes", "that differs")}
    assert {outcome.what for outcome in outcomes} >= kinds
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


@needs_compiler
def test_search_with_rules_of_32_lanes_is_compared_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "_ITERATIONS", 40)
    monkeypatch.setattr(KernelRules, "switches", property(lambda rules: 63 if rules.has_kinds else 31))

    outcomes = list(comparisons.compare_search_with_rules(device_of(32), 9, 2))

    assert len(outcomes) == 6
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


@needs_compiler
def test_a_search_that_goes_another_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "_ITERATIONS", 200)
    usual = search_batch
    seeds = iter((1, 2, 3, 4))
    monkeypatch.setattr(comparisons, "search_batch", lambda *given, **more: usual(*given, seed=next(seeds), **more))

    wrong = [outcome.what for outcome in comparisons.compare_search(device_of(1), 50, 4) if not outcome.is_right]

    assert wrong == ["chains, share that differs", "islands, share that differs"]


def test_routes_of_a_pointer_network_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynaroute.study.kernel_comparisons import compare_pointer_routes

    assert compare_pointer_routes(4, 1, "cpu").is_right
    monkeypatch.setattr(comparisons, "construct_fused", lambda policy, batch, *_, **__: RouteBatch.alone(batch))
    assert not compare_pointer_routes(4, 1, "cpu").is_right


def test_scores_of_a_pointer_network_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynaroute.kernels.pointer_score import PointerScore
    from dynaroute.study.kernel_comparisons import compare_pointer_scores

    assert all(outcome.is_right for outcome in compare_pointer_scores(5, 2, "cpu"))
    plain = PointerScore.apply
    monkeypatch.setattr(PointerScore, "apply", lambda *parts: 1.01 * plain(*parts))  # type: ignore[no-untyped-call]
    assert not any(outcome.is_right for outcome in compare_pointer_scores(5, 2, "cpu"))
