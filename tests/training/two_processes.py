"""Trains a small policy as one of several processes, and saves what each of them has in the end."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from policies import SMALL_AMD
from test_ranks import make_plan

from dynaroute.model import Policy
from dynaroute.training.ranks import Ranks
from dynaroute.training.trainer import Trainer


def main() -> None:
    folder = Path(sys.argv[1])
    ranks = Ranks.join("cpu")
    policy = Policy(SMALL_AMD, generator=torch.Generator().manual_seed(1))
    trainer = Trainer(policy, make_plan(instances=4), folder, ranks)
    trainer.run()
    torch.save(policy.state_dict(), folder / f"rank{ranks.rank}.pt")
    del trainer
    ranks.leave()


if __name__ == "__main__":
    main()
