"""Train several kinds of policy with the same recipe, and compare them in a table: what re-encoding is worth.

    python benchmarks/ablation.py FOLDER                    AM-D and AM, ten minutes at each of 20, 50 and 100 customers
    python benchmarks/ablation.py FOLDER --policies rl      the pointer network

The first size starts from random parameters, and each other size from the model of the size before it; all use the same
seed. Every run has its own folder, such as FOLDER/am-50. Run the command again to continue interrupted runs; finished
ones are only measured. Lengths are greedy: the best validation (seed 4321), and the published sets (seed 1234).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch

from dynaroute.batch import InstanceBatch
from dynaroute.cli.train_plan import make_policy
from dynaroute.construct import Greedy, construct
from dynaroute.device import choose_device
from dynaroute.distributions import draw_published_set
from dynaroute.model import Policy
from dynaroute.reference_lengths import PUBLISHED_COUNT
from dynaroute.reproduction import describe_hardware
from dynaroute.training.names import PolicyName
from dynaroute.training.plan import TrainingPlan, read_plan, write_plan
from dynaroute.training.recipes import make_plan, suit_policy
from dynaroute.training.trainer import LAST, Trainer


@dataclass(frozen=True)
class Settings:
    """Settings that all runs share."""

    folder: Path
    seed: int
    count: int  # instances of each published set
    budget: dict[str, Any]  # limits of a plan
    most_instances: int = 1024  # per update


def plan_runs(policy: PolicyName, sizes: list[int], settings: Settings) -> Iterator[tuple[Path, TrainingPlan]]:
    """List the runs of one kind of policy; each starts from the one before it."""
    before: str | None = None
    for size in sizes:
        run = settings.folder / f"{policy}-{size}"
        plan = suit_policy(make_plan("fast", [size], init=before), policy)
        stages = tuple(replace(stage, instances=min(stage.instances, settings.most_instances)) for stage in plan.stages)
        yield run, replace(plan, stages=stages, seed=settings.seed, **settings.budget)
        before = str(run)


def train(plan: TrainingPlan, run: Path, device: str) -> None:
    """Train, or continue an interrupted run."""
    run.mkdir(parents=True, exist_ok=True)
    is_begun = (run / LAST).exists()
    if is_begun:
        plan = read_plan(run / "plan.toml")
    write_plan(plan, run / "plan.toml")
    trainer = Trainer(make_policy(plan, plan.init).to(device), plan, run, on_event=lambda event: print(run.name, event))
    if is_begun:
        trainer.restore()
    trainer.run()


def measure(model: Path, size: int, count: int, device: str) -> float:
    """Return the mean greedy length on a published set."""
    drawn = draw_published_set(size, count)
    batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity).to(device)
    return float(construct(Policy.from_pretrained(model).to(device), batch, Greedy()).lengths(batch).double().mean())


def describe(run: Path, plan: TrainingPlan, sizes: list[int], count: int, device: str) -> str:
    """Format a row of the table."""
    state = torch.load(run / LAST, map_location="cpu", weights_only=True)
    lengths = " / ".join(f"{measure(run, size, count, device):.4f}" for size in sizes)
    begin = "random parameters" if plan.init is None else Path(plan.init).name
    return (
        f"| {run.name}, from {begin} | {state['seconds'] / 60:.1f} | {state['step']:,} | "
        f"{state['trajectories'] / 1e6:.1f} M | {state['best_length']:.4f} | {lengths} |"
    )


def compare(policies: list[PolicyName], sizes: list[int], settings: Settings) -> None:
    """Train all policies, and print the table."""
    device = choose_device("auto")
    rows = []
    for policy in policies:
        for run, plan in plan_runs(policy, sizes, settings):
            train(plan, run, device)
            rows.append(describe(run, plan, sizes, settings.count, device))
            print(rows[-1], flush=True)
    lengths = " / ".join(f"n={size}" for size in sizes)
    print(f"\n{describe_hardware(device)}, greedy:\n")
    print(f"| run | minutes | updates | trajectories | validation | {lengths} |\n|---|---|---|---|---|---|")
    print("\n".join(rows))


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder for the runs")
    parser.add_argument("--policies", default="amd,am", help=f"some of {', '.join(get_args(PolicyName))}")
    parser.add_argument("--sizes", default="20,50,100")
    parser.add_argument("--minutes", type=float, default=10.0, help="training time per run")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--count", type=int, default=PUBLISHED_COUNT, help="instances per set")
    parser.add_argument("--quick", action="store_true", help="a check: two updates of each policy, 5 and 6 customers")
    given = parser.parse_args()
    if given.quick:
        with TemporaryDirectory() as folder:
            budget = {"minutes": None, "updates": 2, "validations": 1, "validation_count": 20}
            compare(["amd", "am", "rl"], [5, 6], Settings(Path(folder), given.seed, 20, budget, 8))
        return
    if given.folder is None:
        parser.error("give a folder for the runs")
    settings = Settings(given.folder, given.seed, given.count, {"minutes": given.minutes})
    compare(given.policies.split(","), [int(size) for size in given.sizes.split(",")], settings)


if __name__ == "__main__":
    main()
