from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from policies import SMALL_AMD

from dynaroute.model import Policy
from dynaroute.training.plan.plan import Stage, TrainingPlan
from dynaroute.training.ranks import Ranks
from dynaroute.training.run.trainer import Trainer

PROGRAM = Path(__file__).with_name("two_processes.py")
UPDATES = 6


def make_plan(instances: int) -> TrainingPlan:
    stage = Stage(size=6, capacities=(20,), instances=instances, samples=4, rate=1e-3, entropy=0.1)
    return TrainingPlan((stage,), updates=UPDATES, validations=1, validation_count=20)


def test_alone_there_is_nothing_to_sum_or_agree_on() -> None:
    ranks = Ranks()
    assert ranks.sum(torch.tensor(3.0)) == 3.0
    assert ranks.agree([0.5, 1.0]) == [0.5, 1.0]
    assert ranks.part(4) == slice(0, 4)


@pytest.fixture(scope="module")
def trained_by_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what two processes had in the end."""
    folder = tmp_path_factory.mktemp("two")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*launcher, str(PROGRAM), str(folder)], check=True, capture_output=True, env=environment)
    return folder


def load(folder: Path, name: str) -> list[dict[str, torch.Tensor]]:
    return [torch.load(folder / f"{name}{rank}.pt", weights_only=True) for rank in (0, 1)]


def test_at_the_end_of_an_epoch_both_processes_judge_by_the_same_statistics_of_batches(trained_by_two: Path) -> None:
    first, second = load(trained_by_two, "rollout")
    assert any("running" in name for name in first)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_two_processes_are_equal_to_each_other_and_to_one_with_twice_the_batch(
    trained_by_two: Path, tmp_path: Path
) -> None:
    first, second = load(trained_by_two, "shared")
    assert all(torch.equal(first[name], second[name]) for name in first)

    policy = Policy(SMALL_AMD, generator=torch.Generator().manual_seed(1))
    start = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    Trainer(policy, make_plan(instances=8), tmp_path).run()
    for name, tensor in policy.state_dict().items():
        torch.testing.assert_close(first[name], tensor, rtol=0, atol=2e-5)
    moved = max(float((tensor - start[name]).abs().max()) for name, tensor in policy.state_dict().items())
    assert moved > 2e-3  # much more than the tolerance
