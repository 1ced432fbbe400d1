from __future__ import annotations

from pathlib import Path

import pytest
import torch
from policies import draw_instances, make_policy

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.draw.distribution import Distribution, Part
from dynaroute.formats import write
from dynaroute.search.savings import build_by_savings
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.run.validation import draw_validation, read_validation
from dynaroute.training.step.instances import DistributionTask

TASK = DistributionTask(Distribution((Part((3, 9)), Part((12, 15), ("clustered",), route_lengths="x"))))


def test_drawn_instances_are_compared_with_savings() -> None:
    validation = draw_validation(TASK, 12, torch.device("cpu"))
    policy = make_policy()
    lengths = construct(policy, validation.batch, Greedy()).lengths(validation.batch)
    assert validation.measure(policy) == pytest.approx(float((lengths / validation.known).mean()))
    assert policy.training is False
    assert bool((validation.known > 0.1).all())


def test_a_validation_is_the_same_each_time() -> None:
    first, second = (draw_validation(TASK, 5, torch.device("cpu")) for _ in range(2))
    assert torch.equal(first.batch.locations, second.batch.locations)
    assert torch.equal(first.known, second.known)


def test_files_without_known_costs_are_compared_with_savings(tmp_path: Path) -> None:
    instances = draw_instances(6, 9)
    write(instances, tmp_path / "set.json")
    validation = read_validation(InstanceFiles.at(tmp_path / "set.json"), torch.device("cpu"))
    assert validation.known.tolist() == [build_by_savings(each).cost(each) for each in instances]
    policy, batch = make_policy(), InstanceBatch.from_instances(instances)
    lengths = construct(policy, batch, Greedy()).lengths(batch)
    assert validation.measure(policy) == pytest.approx(float((lengths / validation.known).mean()))
