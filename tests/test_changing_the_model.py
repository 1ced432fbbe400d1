"""The examples of docs/changing-the-model.md run as they stand, and agree with a plain implementation."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import SMALL_AMD, draw_batch, draw_instances, make_policy
from torch import Tensor

from dynaroute.base.errors import InstanceError, ModelError, UnsupportedError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import SGBS, Augmented, Beam, Greedy, Sampling, construct, log_probabilities
from dynaroute.construct.choose import Departures
from dynaroute.construct.eager import Stretch, first_log_probabilities
from dynaroute.construct.strategies import SYMMETRIES, reflect
from dynaroute.model import Policy
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Left
from dynaroute.model.state import RouteState
from dynaroute.problem.solution import check
from dynaroute.training.plan.recipes import make_plan
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.run.trainer import Trainer
from dynaroute.training.step.reinforce import Replay, sample_solutions
from dynaroute.training.step.update_input import UpdateInput

PAGE = (Path(__file__).parents[1] / "docs" / "changing-the-model.md").read_text(encoding="utf-8")
SECTIONS = dict(section.split("\n", 1) for section in PAGE.split("\n## ")[1:])
EXAMPLES = {
    title: text.split("```python\n")[1].split("```")[0] for title, text in SECTIONS.items() if "```python" in text
}
LONGEST = 20  # lines, imports and blank ones aside
LONGEST_OF = {"A network of your own": 32}

pytestmark = pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")


def run(title: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(EXAMPLES[title], title, "exec", dont_inherit=True), names)
    return names


def add_up(policy: Policy, batch: InstanceBatch, routes: RouteBatch) -> Tensor:
    """log p by the four calls of the protocol, one instance and one route after the other: nothing is shared."""
    total = []
    folded = policy.fold()
    for row, solution in enumerate(routes.to_solutions(batch)):
        left, log_p = list(range(1, int(batch.sizes[row]) + 1)), torch.zeros((), dtype=policy.dtype)
        for route in solution.routes:
            nodes = torch.tensor([0, *left])
            features = batch.features(torch.full_like(nodes, row), nodes, policy.dtype)
            packing = Packing(torch.tensor([len(nodes)]), len(nodes))
            memory = policy.begin(Left(features, nodes == 0, packing), folded)
            demands = batch.demands[row, nodes][None]
            state = RouteState.at_depot(demands, batch.capacity[row : row + 1], nodes[None] > 0)
            for stop in (*route, 0):
                chosen = (nodes == stop).nonzero()[0]
                log_p = log_p + policy.logits(memory, state).log_softmax(1)[0, chosen[0]]
                memory = policy.advance(memory, state, chosen)
                state = state.update(chosen)
            left = [customer for customer in left if customer not in route]
        total.append(log_p)
    return torch.stack(total)


def assert_agrees_with_a_plain_implementation(policy: Policy, batch: InstanceBatch) -> None:
    policy = policy.double()
    for strategy in (Greedy(), Sampling(1)):
        routes = construct(policy, batch, strategy, torch.Generator().manual_seed(3))
        plain = add_up(policy, batch, routes)
        weights = torch.linspace(-1, 1, len(batch), dtype=torch.float64)
        expected = torch.autograd.grad((weights * plain).sum(), list(policy.parameters()), allow_unused=True)
        replayed = replay_log_probabilities(policy, batch, routes)
        torch.testing.assert_close(replayed, plain, rtol=1e-7, atol=1e-7)
        found = torch.autograd.grad((weights * replayed).sum(), list(policy.parameters()), allow_unused=True)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("title", sorted(EXAMPLES))
def test_an_example_is_short(title: str) -> None:
    lines = [line for line in EXAMPLES[title].splitlines() if line.strip() and not re.match(r"(from|import) ", line)]
    assert len(lines) <= LONGEST_OF.get(title, LONGEST)


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 11


@pytest.mark.parametrize(
    "title", ["Another normalisation", "A normalisation over an instance", "Another encoder", "Another decoder"]
)
def test_a_changed_policy_builds_and_replays_what_was_written(title: str) -> None:
    assert_agrees_with_a_plain_implementation(run(title)["policy"], draw_batch(4, 6))


class TestExtraFeature:
    @pytest.fixture(scope="class")
    @classmethod
    def names(cls) -> dict[str, Any]:
        return run("An extra node feature")

    def test_it_agrees_with_a_plain_implementation(self, names: dict[str, Any]) -> None:
        assert_agrees_with_a_plain_implementation(names["policy"], names["batch"][:2])

    def test_its_weights_receive_gradients(self, names: dict[str, Any]) -> None:
        policy, batch = names["policy"].double(), names["batch"]
        routes = construct(policy, batch, Greedy())
        policy.zero_grad()
        replay_log_probabilities(policy, batch, routes).sum().backward()  # type: ignore[no-untyped-call]
        assert bool((policy.encoder.embed_customer.weight.grad[:, 3] != 0).any())

    def test_shuffling_it_changes_routes(self, names: dict[str, Any]) -> None:
        policy, batch, values = names["policy"].double(), names["batch"], names["urgency"]
        with torch.no_grad():
            policy.encoder.embed_customer.weight[:, 3] *= 20
        shuffled = names["plain"].with_node_features(values[:, torch.randperm(values.shape[1])])
        assert not torch.equal(construct(policy, shuffled, Greedy()).route, construct(policy, batch, Greedy()).route)
        assert not torch.equal(shuffled.keys, batch.keys)

    def test_a_policy_that_does_not_see_it_refuses(self, names: dict[str, Any]) -> None:
        with pytest.raises(ModelError, match="node features"):
            construct(make_policy(), names["batch"], Greedy())

    def test_another_number_of_nodes_is_refused(self, names: dict[str, Any]) -> None:
        with pytest.raises(InstanceError, match="node features"):
            names["plain"].with_node_features(torch.zeros(8, 20))

    def test_padding_is_not_read(self) -> None:
        batch = draw_batch(3, 6)
        noisy = torch.ones(2, 7)
        noisy[0, 4:] = 9.0
        assert torch.equal(batch.with_node_features(noisy).keys, batch.with_node_features(torch.ones(2, 7)).keys)

    def test_a_feature_that_stays_when_turned_is_that_of_the_instance_in_every_orientation(
        self, names: dict[str, Any]
    ) -> None:
        batch = names["batch"].repeat_each(SYMMETRIES)
        placed = Augmented(Greedy()).place(batch, torch.arange(SYMMETRIES).repeat(len(names["batch"])))
        assert placed.node_features is not None
        assert torch.equal(placed.node_features, batch.node_features)


class TestFeatureOfPositions:
    @pytest.fixture(scope="class")
    @classmethod
    def names(cls) -> dict[str, Any]:
        return run("A feature that depends on positions")

    def test_every_orientation_is_built_like_an_instance_that_was_turned_by_hand(self, names: dict[str, Any]) -> None:
        policy, plain, find_angles = names["policy"].double(), names["plain"], names["find_angles"]
        lengths = []
        for symmetry in range(SYMMETRIES):
            turned = reflect(plain.locations, torch.full_like(plain.sizes, symmetry))
            by_hand = replace(plain, locations=turned, coordinates=turned).with_node_features(find_angles)
            lengths.append(construct(policy, by_hand, Greedy()).lengths(by_hand))
        best = construct(policy, names["batch"], Augmented(Greedy())).lengths(plain)
        torch.testing.assert_close(best, torch.stack(lengths).amin(0), rtol=1e-9, atol=0)

    def test_numbers_that_cannot_be_computed_again_are_refused(self, names: dict[str, Any]) -> None:
        batch = names["plain"].with_node_features(names["find_angles"](names["plain"]))
        with pytest.raises(UnsupportedError, match="node features") as caught:
            construct(names["policy"], batch, Augmented(Greedy()))
        assert "function" in caught.value.remedy

    def test_a_rule_never_sees_own_units_or_turned_padding(self) -> None:
        seen: list[InstanceBatch] = []

        def note(batch: InstanceBatch) -> Tensor:
            seen.append(batch)
            return batch.locations.sum(-1)

        small = draw_batch(3, 6)
        far = replace(small, coordinates=1000 * small.coordinates)
        batch = far.with_node_features(note).repeat_each(SYMMETRIES)
        Augmented(Greedy()).place(batch, torch.arange(SYMMETRIES).repeat(2))
        assert len(seen) == 2
        for shown in seen:
            assert torch.equal(shown.coordinates, shown.locations)
            assert not shown.locations[shown.sizes == 3, 4:].any()


def make_small_run(folder: Path, policy: Policy | None = None, **own: Any) -> Trainer:
    plan = make_plan("fast", [20])
    stages = tuple(replace(stage, instances=4, samples=2) for stage in plan.stages)
    plan = replace(plan, stages=stages, minutes=None, updates=2, validations=1, validation_count=4, optimiser="adam")
    return Trainer(make_policy(SMALL_AMD) if policy is None else policy, plan, folder, **own)


def test_own_instances_are_trained_and_validated_on(tmp_path: Path) -> None:
    ring = run("Your own instances")["Ring"]()
    batch = ring.draw(3, torch.Generator().manual_seed(1), first_key=5)
    radius = (batch.coordinates[:, 1:] - batch.coordinates[:, :1]).norm(dim=-1)
    torch.testing.assert_close(radius, torch.full_like(radius, 0.5))
    trainer = make_small_run(tmp_path, task=ring)
    outcome = trainer.run()
    assert outcome.step == 2
    assert trainer.learner.task is ring
    assert outcome.best_length is not None
    assert outcome.best_length < 5  # over the length of savings, not a length


class TestOwnNetwork:
    def test_it_builds_solutions_and_its_probabilities_agree(self) -> None:
        assert_agrees_with_a_plain_implementation(run("A network of your own")["policy"], draw_batch(4, 6))

    def test_it_works_with_every_strategy(self) -> None:
        policy, (instance,) = run("A network of your own")["policy"], draw_instances(8)
        batch = InstanceBatch.from_instances([instance])
        for strategy in (Beam(3), SGBS(2, 2), Augmented(Sampling(2))):
            assert check(instance, construct(policy, batch, strategy).to_solutions(batch)[0]) == []

    def test_our_trainer_trains_it(self, tmp_path: Path) -> None:
        policy = run("A network of your own")["policy"]
        before = [parameter.clone() for parameter in policy.parameters()]
        assert make_small_run(tmp_path, policy).run().step == 2
        assert any(not torch.equal(now, then) for now, then in zip(policy.parameters(), before, strict=True))


class TestOneStep:
    @pytest.fixture(scope="class")
    @classmethod
    def names(cls) -> dict[str, Any]:
        return run("One step as a graph")

    def test_the_graph_computes_what_the_policy_does_on_its_way(self, names: dict[str, Any]) -> None:
        policy, batch = names["step"].policy, draw_batch(20, 20, 20, 20, capacity=30)
        drive = Stretch(policy, policy.begin, batch, policy.fold(), torch.arange(4), Departures.of(batch))
        for _ in range(4):
            logits, state = drive.look()[1], drive.state
            places = batch.locations.float()
            inputs = (places, state.demands, state.capacity, state.remaining, state.previous, state.is_open)
            torch.testing.assert_close(names["step"](*inputs), logits, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(names["graph"](*inputs), logits, rtol=1e-4, atol=1e-4)
            drive.move(logits.argmax(1), torch.ones(4, dtype=torch.bool))


def test_an_own_baseline_is_used_and_kept(tmp_path: Path) -> None:
    baseline = run("Your own baseline")["MovingAverage"]()
    make_small_run(tmp_path, baseline=baseline).run()
    again = run("Your own baseline")["MovingAverage"]()
    make_small_run(tmp_path, baseline=again).restore()
    assert float(again.average) == float(baseline.average) > 0


def test_an_own_loop_learns_from_routes_and_probabilities() -> None:
    names = run("Your own loop")
    batch, routes, rollout = names["batch"], names["routes"], names["rollout"]
    assert len({tuple(row) for row in routes.route[:4].tolist()}) > 1  # samples of an instance differ
    rollout.eval()
    greedy, log_probability = rollout(batch)
    torch.testing.assert_close(log_probability, log_probabilities(rollout.policy, batch, greedy), rtol=1e-4, atol=1e-3)


class TestForcedStarts:
    def test_the_kth_sample_begins_with_the_kth_customer(self) -> None:
        copies = draw_batch(5, 3).repeat_each(5)
        routes = sample_solutions(make_policy(), copies, 5, seed=0, forces_starts=True)
        assert routes.visits()[:, 0].tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 1, 2]

    def test_what_was_forced_has_no_probability(self) -> None:
        policy, batch = make_policy().double(), draw_batch(5, 6)
        routes = construct(policy, batch, Greedy())
        given = UpdateInput(batch, routes, torch.zeros(2), 1)
        whole, first = log_probabilities(policy, batch, routes), first_log_probabilities(policy, batch, routes)
        found = Replay(policy, torch.float64, forces_starts=True)(given, None, None)
        torch.testing.assert_close(found, whole - first, rtol=1e-6, atol=1e-6)
        assert bool((first < 0).all())

    def test_the_recipe_has_a_sample_for_each_customer(self, tmp_path: Path) -> None:
        plan = make_plan("pomo", [5], capacities=[20])
        assert plan.forced_starts
        assert plan.stages[0].samples == 5
        plan = replace(plan, epochs=None, updates=1, validation_count=4)
        policy = make_policy(SMALL_AMD)
        before = [parameter.clone() for parameter in policy.parameters()]
        Trainer(policy, plan, tmp_path).run()
        assert any(not torch.equal(now, then) for now, then in zip(policy.parameters(), before, strict=True))


def test_routes_of_changed_policies_are_solutions() -> None:
    policy, batch = run("Another decoder")["policy"], draw_batch(9)
    (solution,) = construct(policy, batch, Greedy()).to_solutions(batch)
    assert check(draw_instances(9)[0], solution) == []
