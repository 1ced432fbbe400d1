"""Measure how much the samples of an instance differ, and how noisy the gradient is that a policy learns from.

    python benchmarks/gradients.py samples amd          samples and greedy solutions, by size
    python benchmarks/gradients.py norms amd            gradients of single instances, by size

Instances are uniform, of seed 4321; prints Markdown tables, on a CPU in minutes. A gradient is that of 16 samples of an
instance, of which the 4 are replayed whose lengths differ most from their mean, in percent of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model import Policy
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.run.validation import VALIDATION_SEED
from dynaroute.training.step.baselines import subtract_relatively
from dynaroute.training.step.instances import TrainingTask
from dynaroute.training.step.reinforce import sample_solutions
from dynaroute.training.step.update_input import UpdateInput

CAPACITIES = {20: 30, 50: 40, 100: 50, 200: 80, 500: 100, 800: 160}
COUNTS = {20: 64, 50: 48, 100: 32, 200: 12, 500: 6, 800: 3}  # instances of each size; large ones take long
SAMPLES, REPLAYED = 16, 4


def draw(size: int, count: int, generator: torch.Generator) -> InstanceBatch:
    return TrainingTask(size, (CAPACITIES[size],)).draw(count, generator, 0)


def sample(policy: Policy, batch: InstanceBatch, samples: int, step: int) -> tuple[InstanceBatch, UpdateInput, Tensor]:
    """Sample solutions, with their relative differences in percent from the mean of their instance."""
    copies = batch.repeat_each(samples)
    routes = sample_solutions(policy, copies, samples, step)
    lengths = routes.lengths(copies).view(len(batch), samples)
    differences = 100 * subtract_relatively(lengths, lengths.mean(1, keepdim=True))
    return copies, UpdateInput(copies, routes, differences.flatten(), samples), lengths


def compute_gradient(policy: Policy, given: UpdateInput) -> Tensor:
    """Return the gradient of the mean over solutions of advantage times log p, as one vector."""
    policy.zero_grad()
    log_p = replay_log_probabilities(policy, given.batch, given.routes, given.samples, precision=torch.float32)
    (given.advantages * log_p).mean().backward()  # type: ignore[no-untyped-call]
    parts = [each.grad.flatten() for each in policy.parameters() if each.grad is not None]
    return torch.cat(parts)


def list_sample_rows(policy: Policy, sizes: Iterable[int], counts: dict[int, int]) -> Iterator[Sequence[str]]:
    """Compare eight samples of every instance with each other and with its greedy solution."""
    generator = torch.Generator().manual_seed(VALIDATION_SEED)
    for size in sizes:
        batch = draw(size, counts[size], generator)
        with torch.no_grad():
            copies, given, lengths = sample(policy, batch, 8, size)
            greedy = construct_once(policy, batch, MostLikely()).lengths(batch)
            log_p = replay_log_probabilities(policy, copies, given.routes, 8, precision=torch.float32).view(-1, 8)
        longer = 100 * (lengths.mean(1) / greedy - 1).mean()
        deviation = given.advantages.view(-1, 8).std(1).mean()
        pairs = torch.stack([given.advantages, (log_p - log_p.mean(1, keepdim=True)).flatten()])
        yield (
            f"{size}, {CAPACITIES[size]}",
            str(len(batch)),
            f"{longer:.2f} %",
            f"{deviation:.2f} %",
            f"{-log_p.mean():.1f}",
            f"{torch.corrcoef(pairs)[0, 1]:.2f}",
        )


def list_norm_rows(policy: Policy, sizes: Iterable[int], counts: dict[int, int]) -> Iterator[Sequence[str]]:
    """Measure the gradient of each instance by itself, from 4 of 16 samples."""
    generator = torch.Generator().manual_seed(VALIDATION_SEED)
    for size in sizes:
        norms = []
        for step in range(counts[size]):
            with torch.no_grad():
                _, given, _ = sample(policy, draw(size, 1, generator), SAMPLES, step)
            gradient = compute_gradient(policy, given.keep_most_instructive(REPLAYED))
            norms.append(float(gradient.square().sum()))
        squared = torch.tensor(norms)
        yield f"{size}, {CAPACITIES[size]}", str(len(norms)), f"{squared.median():.3g}", f"{squared.mean():.3g}"


HEADINGS = {
    "samples": ("customers, capacity", "instances", "samples are longer by", "deviation", "entropy", "correlation"),
    "norms": ("customers, capacity", "instances", "median squared norm", "mean"),
}


def main() -> None:
    """Read the options, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=HEADINGS, default="samples")
    parser.add_argument("model", nargs="?", default="amd", help="a shipped model or a folder")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    policy = Policy.from_pretrained(arguments.model).eval()
    sizes = [20] if arguments.quick else list(CAPACITIES)
    counts = dict.fromkeys(CAPACITIES, 2) if arguments.quick else COUNTS
    rows = {
        "samples": lambda: list_sample_rows(policy, sizes, counts),
        "norms": lambda: list_norm_rows(policy, [size for size in sizes if size <= 500], counts),
    }
    heading = HEADINGS[arguments.what]
    print(f"{arguments.model}, CPU\n\n| {' | '.join(heading)} |\n{'|---' * len(heading)}|")
    for row in rows[arguments.what]():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
