from __future__ import annotations

import pytest
import torch

from dynaroute.base.errors import OptionError
from dynaroute.batch.rules import NEVER, RuleBatch
from dynaroute.draw.distribution import find_distribution
from dynaroute.draw.ruled import find_variants, list_rules
from dynaroute.model.rules import Facts, SegmentRules, _drive, _keeps
from dynaroute.training.step.instances import DistributionTask, RuledTask, TrainingTask


def draw(*variants: str, count: int = 200, size: int = 12) -> RuleBatch:
    batch = RuledTask(TrainingTask(size, (30,)), variants).draw(count, torch.Generator().manual_seed(1), 0)
    assert batch.rules is not None
    return batch.rules


@pytest.mark.parametrize("plain", [TrainingTask(15, (30,)), DistributionTask(find_distribution("x").resize(10, 60))])
def test_every_customer_can_be_served_alone(plain: TrainingTask | DistributionTask) -> None:
    batch = RuledTask(plain, ("all",)).draw(300, torch.Generator().manual_seed(2), 0)
    assert batch.rules is not None
    nodes = torch.arange(batch.nodes).expand(len(batch), -1)
    rules = SegmentRules.of(
        batch.rules, torch.arange(len(batch)), nodes, batch.demands, batch.capacity, batch.sizes, torch.float64
    )
    legs, lengths = rules._measure(torch.zeros_like(nodes), nodes)
    facts = Facts(*(each[:, None] for each in rules.facts))
    alone = _drive(rules.begin(), legs, lengths, rules.stops)  # (B, M)
    is_allowed = _keeps(rules.begin(), alone, rules.stops, facts)
    assert bool((is_allowed | ~batch.is_customer).all())


def test_each_instance_has_the_rules_of_a_variant_of_its_own() -> None:
    rules = draw("vrptw", "ovrp", "vrpl", "vrpb")
    has_windows, has_limit = rules.has_times, rules.longest_distance < NEVER
    has_pickups = (rules.pickups > 0).any(1)
    together = torch.stack([has_windows, rules.is_open, has_limit, rules.is_last]).int()
    assert together.sum(0).tolist() == [1] * 200
    assert together.sum(1).min() > 30
    assert bool((has_pickups <= rules.is_last).all())


def test_all_are_every_combination_and_some_longest_durations() -> None:
    rules = draw("all", count=1000)
    assert len(set(rules.kinds.tolist())) > 36
    assert 60 < int((rules.longest_duration < NEVER).sum()) < 200


def test_windows_are_of_several_kinds() -> None:
    rules = draw("vrptw", count=500)
    width = ((rules.late - rules.early)[:, 1:] / rules.per_time[:, None]).double()
    is_routefinders = ((width > 0.17) & (width < 0.21)).all(1)
    assert 0.5 < is_routefinders.double().mean() < 0.7
    is_always_open = (rules.late[:, 1:] >= rules.day[:, None]).any(1)
    assert 0.1 < is_always_open.double().mean() < 0.3
    is_wide = (width > 1).any(1) & ~is_always_open
    assert 0.1 < is_wide.double().mean() < 0.35


def test_the_same_state_of_the_generator_gives_the_same_rules() -> None:
    for one, other in zip(draw("all").list_tensors(), draw("all").list_tensors(), strict=True):
        assert torch.equal(one, other)


def test_a_policy_must_know_the_rules_of_all_variants() -> None:
    assert list_rules(("vrptw", "ovrpmb")) == ("open", "pickups", "windows")
    assert list_rules(()) == ()
    assert len(list_rules(("all",))) == 8


@pytest.mark.parametrize("name", ["vrp", "mdvrp2"])
def test_an_unknown_variant_is_refused_by_name(name: str) -> None:
    with pytest.raises(OptionError, match=f"the variant '{name}' is unknown"):
        find_variants((name,))
