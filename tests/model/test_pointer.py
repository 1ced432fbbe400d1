"""RL: each equation against a transcription in loops, and that it builds, replays, saves, loads and learns."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from policies import draw_batch, draw_instances
from torch import Tensor

from dynaroute.base.errors import ModelError, OptionError
from dynaroute.batch import InstanceBatch
from dynaroute.cli.training.options import make_policy as make_policy_of_plan
from dynaroute.construct import Greedy, Sampling, construct, log_probabilities
from dynaroute.construct.choose import MostLikely
from dynaroute.construct.eager import decide
from dynaroute.model import PointerConfig, PointerNetwork, Policy
from dynaroute.model.changes import ModelWarning, find_change
from dynaroute.problem.solution import check
from dynaroute.training.plan.recipes import make_plan
from dynaroute.training.replay.replay import find_fixed_size, replay_log_probabilities
from dynaroute.training.run.trainer import Trainer
from dynaroute.training.step.baselines import greedy_lengths


def make_pointer(dimension: int = 8, seed: int = 3) -> PointerNetwork:
    policy = PointerNetwork(PointerConfig(dimension=dimension), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(3.0)  # the usual initial weights leave the logits almost equal
    return policy.double().eval()


def sigmoid(value: Tensor) -> Tensor:
    return 1 / (1 + (-value).exp())


def remember(policy: PointerNetwork, visited: list[Tensor]) -> Tensor:
    """h_t by the equations of the LSTM, gate by gate, from the static elements of what was visited."""
    weights = dict(policy.recurrent.named_parameters())
    hidden = cell = torch.zeros(policy.config.dimension, dtype=torch.float64)
    for place in visited:
        embedded = policy.embed_static.weight @ place + policy.embed_static.bias
        gates = (
            weights["weight_ih_l0"] @ embedded
            + weights["bias_ih_l0"]
            + weights["weight_hh_l0"] @ hidden
            + weights["bias_hh_l0"]
        )
        enter, forget, new, leave = gates.chunk(4)
        cell = sigmoid(forget) * cell + sigmoid(enter) * new.tanh()
        hidden = sigmoid(leave) * cell.tanh()
    return hidden


def point(policy: PointerNetwork, places: Tensor, demands: list[float], load: float, hidden: Tensor) -> list[float]:
    """ũ_t of eq 6 for all nodes, node by node."""
    embedded = []
    for place, demand in zip(places, demands, strict=True):
        static = policy.embed_static.weight @ place + policy.embed_static.bias
        dynamic = (
            policy.embed_dynamic.weight @ torch.tensor([demand, load], dtype=torch.float64) + policy.embed_dynamic.bias
        )
        embedded.append(torch.cat([static, dynamic]))  # x̄
    scores = [
        float(policy.attention_score.weight[0] @ (policy.attention.weight @ torch.cat([node, hidden])).tanh())
        for node in embedded
    ]  # eq 5
    shares = [math.exp(score) for score in scores]
    context = torch.stack([share / sum(shares) * node for share, node in zip(shares, embedded, strict=True)]).sum(0)
    return [
        float(policy.pointer_score.weight[0] @ (policy.pointer.weight @ torch.cat([node, context])).tanh())
        for node in embedded
    ]  # eqs 4 and 6


@pytest.mark.parametrize("sizes", [(6,), (3, 7)])
def test_every_step_is_that_of_the_equations(sizes: tuple[int, ...]) -> None:
    policy, batch = make_pointer(), draw_batch(*sizes, capacity=9)
    visited = {row: [batch.locations[row, 0]] for row in range(len(batch))}
    loads = batch.capacity.tolist()
    is_served = torch.zeros(len(batch), batch.nodes, dtype=torch.bool)
    steps = 0
    with torch.no_grad():
        for decision in decide(policy, batch, MostLikely()):
            for number, row in enumerate(decision.info.trajectory.tolist()):
                if not decision.is_driving[number]:
                    continue
                size, full = int(batch.sizes[row]), int(batch.capacity[row])
                left = torch.where(is_served[row], 0, batch.demands[row])[: size + 1]
                expected = point(
                    policy,
                    batch.locations[row, : size + 1],
                    [int(demand) / full for demand in left],
                    loads[row] / full,
                    remember(policy, visited[row]),
                )
                for node in range(size + 1):
                    at_depot = torch.equal(visited[row][-1], batch.locations[row, 0])
                    is_possible = 0 < int(left[node]) <= loads[row] if node else not at_depot
                    found = float(decision.logits[number, node])
                    assert found == (pytest.approx(expected[node], abs=1e-9) if is_possible else -math.inf)
                chosen = int(decision.chosen[number])
                loads[row] = full if chosen == 0 else loads[row] - int(batch.demands[row, chosen])
                is_served[row, chosen] = chosen > 0
                visited[row].append(batch.locations[row, chosen])
                steps += 1
    assert steps > sum(sizes)


def test_all_steps_at_once_have_the_probability_and_the_gradient_of_one_after_the_other() -> None:
    policy, batch = make_pointer(), draw_batch(4, 9, 12).repeat_each(2)
    routes = construct(policy, batch, Sampling(1), torch.Generator().manual_seed(5))
    weights = torch.linspace(-1, 1, len(batch), dtype=torch.float64)
    found = []
    for log_probability in (
        replay_log_probabilities(policy, batch, routes, 2),
        log_probabilities(policy, batch, routes),
    ):
        gradients = torch.autograd.grad((weights * log_probability).sum(), list(policy.parameters()))
        found.append([log_probability.detach(), *gradients])
    for together, apart in zip(*found, strict=True):
        torch.testing.assert_close(together, apart, rtol=1e-9, atol=1e-9)


def test_a_replay_in_parts_is_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, batch = make_pointer(), draw_batch(5, 5, 8)
    routes = construct(policy, batch, Greedy())
    whole = replay_log_probabilities(policy, batch, routes)
    monkeypatch.setattr("dynaroute.training.replay.whole._NUMBERS_AT_ONCE", {"cpu": 1})
    torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), whole)


def test_its_routes_are_solutions() -> None:
    policy, instances = make_pointer(), draw_instances(1, 5, 11)
    batch = InstanceBatch.from_instances(instances)
    for strategy in (Greedy(), Sampling(3)):
        routes = construct(policy, batch, strategy, torch.Generator().manual_seed(1))
        for instance, solution in zip(instances, routes.to_solutions(batch), strict=True):
            assert check(instance, solution) == []


def test_it_is_saved_and_loaded_as_itself(tmp_path: Path) -> None:
    policy, batch = make_pointer().float(), draw_batch(7)
    policy.save_pretrained(tmp_path)
    loaded = Policy.from_pretrained(tmp_path)
    assert type(loaded) is PointerNetwork
    assert torch.equal(construct(loaded, batch, Greedy()).route, construct(policy, batch, Greedy()).route)
    assert "pointer network (RL), dimension 8" in (tmp_path / "README.md").read_text()


def test_steps_are_not_recorded_without_a_gpu() -> None:
    assert find_fixed_size(make_pointer(128).float(), 21, has_one_size=True) is None


def test_a_change_is_noticed_and_replayed_step_by_step() -> None:
    policy, batch = make_pointer(), draw_batch(6)
    routes = construct(policy, batch, Greedy())
    expected = replay_log_probabilities(policy, batch, routes)
    assert find_change(policy) == ""
    policy.recurrent.register_forward_hook(lambda module, given, made: None)
    assert "recurrent" in find_change(policy)
    with pytest.warns(ModelWarning, match="recurrent"):
        torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), expected)


def test_what_a_pointer_network_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="layers is 3"):
        PointerConfig(layers=3)
    with pytest.raises(ModelError, match="dynamic"):
        PointerConfig(dynamic=True)


def test_a_plan_names_it(tmp_path: Path) -> None:
    plan = replace(make_plan("fast", [20]), policy="rl")
    policy = make_policy_of_plan(plan, None)
    assert type(policy) is PointerNetwork
    policy.save_pretrained(tmp_path)
    with pytest.raises(OptionError, match="--policy rl"):
        make_policy_of_plan(make_plan("fast", [20]), str(tmp_path))


def test_a_few_updates_shorten_its_routes(tmp_path: Path) -> None:
    plan = make_plan("fast", [6], capacities=[20])
    stages = tuple(replace(stage, instances=32, rate=3e-3) for stage in plan.stages)
    plan = replace(plan, policy="rl", stages=stages, minutes=None, updates=24, validations=1, validation_count=200)
    policy = PointerNetwork(PointerConfig(dimension=64), generator=torch.Generator().manual_seed(1))
    before = float(greedy_lengths(policy, draw_batch(*[6] * 200)).mean())
    outcome = Trainer(policy, plan, tmp_path).run()
    assert outcome.step == 24
    assert float(greedy_lengths(policy, draw_batch(*[6] * 200)).mean()) < 0.95 * before
