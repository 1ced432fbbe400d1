"""Train several kinds of policy with the same recipe, and compare them in a table: what re-encoding is worth.

    python benchmarks/ablation.py FOLDER                    AM-D and AM, ten minutes at each of 20, 50 and 100 customers
    python benchmarks/ablation.py FOLDER --policies rl      the pointer network

The first size starts from random parameters, and each other size from the model of the size before it; all use the same
seed. Every run has its own folder, such as FOLDER/am-50. Ctrl-C saves a checkpoint; run the command again to continue.
Finished runs are only measured. Lengths are greedy: best validation (seed 4321), and the published sets (seed 1234).
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch

from dynaroute.base.machine import choose_device
from dynaroute.base.vocabulary import PolicyName
from dynaroute.batch import InstanceBatch
from dynaroute.cli.shared.progress import note_interrupt
from dynaroute.cli.training.options import make_policy
from dynaroute.construct import Greedy, construct
from dynaroute.draw import draw_published_set
from dynaroute.model import Policy
from dynaroute.study.reference_lengths import PUBLISHED_COUNT
from dynaroute.study.reproduction import describe_hardware
from dynaroute.training.plan.plan import TrainingPlan, read_plan, write_plan
from dynaroute.training.plan.recipes import RATES, make_plan, suit_policy
from dynaroute.training.run.trainer import LAST, Trainer


@dataclass(frozen=True)
class Settings:
    """Settings that all runs share."""

    folder: Path
    seed: int
    count: int  # instances of each published set
    budgets: dict[int, dict[str, Any]]  # limits of the plan for each size
    most_instances: int = 1024  # per update
    init: str | None = None  # model that the first size starts from


def plan_runs(policies: list[PolicyName], settings: Settings) -> Iterator[tuple[Path, TrainingPlan]]:
    """List the runs, size by size; each starts from the same policy at the size before it."""
    before: dict[PolicyName, str | None] = dict.fromkeys(policies, settings.init)
    for size, budget in settings.budgets.items():
        for policy in policies:
            run = settings.folder / f"{policy}-{size}"
            plan = suit_policy(make_plan("fast", [size], init=before[policy]), policy)
            most, rates = settings.most_instances, RATES[policy]
            rate = rates.random if before[policy] is None else rates.grown
            stages = tuple(replace(stage, instances=min(stage.instances, most), rate=rate) for stage in plan.stages)
            yield run, replace(plan, stages=stages, seed=settings.seed, **budget)
            before[policy] = str(run)


def train(plan: TrainingPlan, run: Path, device: str, is_interrupted: Callable[[], bool]) -> None:
    """Train, or continue an interrupted run."""
    run.mkdir(parents=True, exist_ok=True)
    is_begun = (run / LAST).exists()
    if is_begun:
        plan = read_plan(run / "plan.toml")
    write_plan(plan, run / "plan.toml")
    policy = make_policy(plan, plan.init).to(device)
    tell = partial(print, run.name, flush=True)
    trainer = Trainer(policy, plan, run, on_event=tell, is_interrupted=is_interrupted)
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


def compare(policies: list[PolicyName], settings: Settings) -> None:
    """Train all policies, and print the table."""
    device = choose_device("auto")
    sizes = list(settings.budgets)
    lengths = " / ".join(f"n={size}" for size in sizes)
    print(f"{describe_hardware(device)}, greedy:\n")
    rows = [f"| run | minutes | updates | trajectories | validation | {lengths} |", "|---|---|---|---|---|---|"]
    with note_interrupt(signal.SIGINT, signal.SIGTERM) as is_interrupted:
        for run, plan in plan_runs(policies, settings):
            train(plan, run, device, is_interrupted)
            if is_interrupted():
                break
            rows.append(describe(run, plan, sizes, settings.count, device))
            print(rows[-1], flush=True)
    print("\n" + "\n".join(rows))


def read_minutes(text: str, sizes: list[int]) -> list[float]:
    """Read one number for all sizes, or one for each."""
    minutes = [float(part) for part in text.split(",")]
    return minutes * len(sizes) if len(minutes) == 1 else minutes


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder for the runs")
    parser.add_argument("--policies", default="amd,am", help=f"some of {', '.join(get_args(PolicyName))}")
    parser.add_argument("--sizes", default="20,50,100")
    parser.add_argument("--minutes", default="10", help="training time per run: one number, or one for each size")
    parser.add_argument("--validations", type=int, default=10, help="validations per run")
    parser.add_argument("--init", help="model that the first size starts from; random parameters by default")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--count", type=int, default=PUBLISHED_COUNT, help="instances per set")
    parser.add_argument("--quick", action="store_true", help="a check: two updates of each policy, 5 and 6 customers")
    given = parser.parse_args()
    if given.quick:
        with TemporaryDirectory() as folder:
            budget = {"minutes": None, "updates": 2, "validations": 1, "validation_count": 20}
            compare(["amd", "am", "rl"], Settings(Path(folder), given.seed, 20, {5: budget, 6: budget}, 8))
        return
    if given.folder is None:
        parser.error("give a folder for the runs")
    sizes = [int(size) for size in given.sizes.split(",")]
    budgets = {
        size: {"minutes": minutes, "validations": given.validations, "checkpoint_seconds": 30.0}
        for size, minutes in zip(sizes, read_minutes(given.minutes, sizes), strict=True)
    }
    compare(given.policies.split(","), Settings(given.folder, given.seed, given.count, budgets, init=given.init))


if __name__ == "__main__":
    main()
