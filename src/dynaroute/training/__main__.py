"""Train from the command line: ``python -m dynaroute.training --size 20 --minutes 4 --out RUN``."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from dynaroute.model import Policy
from dynaroute.training.trainer import Trainer, TrainingPlan, measure_greedy_length


def main() -> None:
    """Read the options, train, and print the learning curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, required=True, help="customers")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for the best policy")
    parser.add_argument("--init", help="a model to start from; random parameters otherwise")
    parser.add_argument("--rate", type=float, default=TrainingPlan.rate, help="peak learning rate")
    parser.add_argument("--instances", type=int, default=TrainingPlan.instances)
    parser.add_argument("--samples", type=int, default=TrainingPlan.samples)
    parser.add_argument("--seed", type=int, default=TrainingPlan.seed)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if options.init is None:
        policy = Policy(generator=torch.Generator().manual_seed(options.seed))
    else:
        policy = Policy.from_pretrained(options.init)
    plan = TrainingPlan(
        size=options.size,
        minutes=options.minutes,
        rate=options.rate,
        instances=options.instances,
        samples=options.samples,
        seed=options.seed,
    )
    Trainer(policy.to(device), plan, options.out, lambda line: print(line, flush=True)).run()
    best = Policy.from_pretrained(options.out).to(device)
    for size in (20, 50, 100):
        print(f"n={size}: test (seed 1234) {measure_greedy_length(best, size, 1234):.4f}", flush=True)


if __name__ == "__main__":
    main()
