"""Trains small policies as one of several processes, and saves what each of them has in the end."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from policies import SMALL_AM, SMALL_AMD
from test_ranks import UPDATES, make_plan

from dynaroute.model import Policy
from dynaroute.training.ranks import Ranks
from dynaroute.training.run.trainer import Trainer


def main() -> None:
    folder = Path(sys.argv[1])
    ranks = Ranks.join("cpu")
    for name, config, plan in (
        ("shared", SMALL_AMD, make_plan(instances=4)),
        ("rollout", SMALL_AM, replace(make_plan(instances=4), baseline="rollout", updates_per_epoch=UPDATES)),
    ):
        run = folder / name
        run.mkdir(exist_ok=True)
        policy = Policy(config, generator=torch.Generator().manual_seed(1))
        trainer = Trainer(policy, plan, run, ranks)
        trainer.run()
        torch.save(policy.state_dict(), folder / f"{name}{ranks.rank}.pt")
        del trainer
    ranks.leave()


if __name__ == "__main__":
    main()
