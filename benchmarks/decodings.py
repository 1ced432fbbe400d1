"""Measure what more attempts at each instance gain: mean length or gap, and time, of several decodings.

    python benchmarks/decodings.py [--model amd-100] [--count 10000] [--quick]
    python benchmarks/decodings.py --model amd --data FOLDER --largest 200 --seeds 3 --threads 1

It prints a Markdown table. Instances are the published ones of the size that the model was trained for, or the .vrp
files of a folder with their best known costs in best_known.csv. Times are of one pass over all instances, after a first
one that does not count; on a CPU, without one, they are CPU seconds. Sampled decodings are means over the seeds.
Greedy decoding and the best of eight orientations on a GPU are rows of `dynaroute reproduce`.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import torch
from torch import Tensor

from dynaroute.base.machine import choose_device
from dynaroute.batch import InstanceBatch
from dynaroute.construct import SGBS, Augmented, Beam, Greedy, MultiStart, Sampling, Strategy, construct
from dynaroute.draw import draw_published_set
from dynaroute.formats import read
from dynaroute.model import Policy
from dynaroute.study.reproduction import describe_hardware

DECODINGS: dict[str, Strategy] = {
    "greedy": Greedy(),
    "sample 32": Sampling(32),
    "multistart 8": MultiStart(8),
    "beam 16": Beam(16),
    "sgbs 8": SGBS.of(8),
    "x8": Augmented(Greedy()),
    "sample 128": Sampling(128),
    "beam 64": Beam(64),
    "sgbs 16": SGBS.of(16),
    "beam 4 x8": Augmented(Beam(4)),
    "sample 4 x8": Augmented(Sampling(4)),
    "sample 8 x8": Augmented(Sampling(8)),
    "multistart 8 x8": Augmented(MultiStart(8)),
    "beam 8 x8": Augmented(Beam(8)),
    "sgbs 2 x8": Augmented(SGBS.of(2)),
}


def measure(policy: Policy, batch: InstanceBatch, strategy: Strategy, seed: int) -> tuple[Tensor, float]:
    """Return the lengths and the seconds of a pass over a batch."""
    generator = torch.Generator(batch.device).manual_seed(seed)
    if batch.device.type == "cuda":
        construct(policy, batch, strategy, generator)
    began = _now(batch)
    routes = construct(policy, batch, strategy, generator)
    seconds = _now(batch) - began
    return routes.lengths(batch), seconds


def _now(batch: InstanceBatch) -> float:
    if batch.device.type == "cuda":
        torch.cuda.synchronize(batch.device)
        return time.perf_counter()
    return time.process_time()


def read_folder(folder: Path, largest: int) -> tuple[InstanceBatch, Tensor]:
    """Read the instances of a folder up to a size, and their best known costs."""
    instances = [each for path in sorted(folder.glob("*.vrp")) if (each := read(path)).size <= largest]
    with (folder / "best_known.csv").open() as table:
        best = {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(table)}
    costs = [best[instance.name] for instance in instances]
    return InstanceBatch.from_instances(instances), torch.tensor(costs, dtype=torch.float64)


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="amd-100", help="a shipped model or a folder")
    parser.add_argument("--count", type=int, default=10_000, help="fewer than 10,000 are different instances")
    parser.add_argument("--data", type=Path, help="a folder of .vrp files with best_known.csv")
    parser.add_argument("--largest", type=int, default=1000, help="customers of the largest instance of the folder")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of sampled decodings")
    parser.add_argument("--threads", type=int, help="threads on a CPU")
    parser.add_argument("--only", help="names of some decodings, with commas between")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    device = choose_device("auto")
    policy = Policy.from_pretrained(arguments.model).to(device).eval()
    best = None
    if arguments.data is not None:
        batch, best = read_folder(arguments.data, arguments.largest)
        what = f"instances of up to {arguments.largest} customers"
    else:
        size = policy.card.size or 100
        drawn = draw_published_set(size, 4 if arguments.quick else arguments.count)
        batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity)
        what = f"instances of n={size}"
    batch = batch.to(device)
    names = list(DECODINGS) if arguments.only is None else arguments.only.split(",")
    print(f"{describe_hardware(device)}, {arguments.model}, {len(batch):,} {what}\n")
    print(f"| decoding | {'length' if best is None else 'mean gap, %'} | of each seed | seconds |\n|---|---|---|---|")
    construct(policy, batch[:1], Greedy())  # loads what is loaded on first use
    for name in names:
        has_seeds = "sample" in name or "sgbs" in name
        runs = [
            measure(policy, batch, DECODINGS[name], 1 + seed) for seed in range(arguments.seeds if has_seeds else 1)
        ]
        figures = [float((each.cpu() if best is None else 100 * (each.cpu() / best - 1)).mean()) for each, _ in runs]
        seconds = sum(each for _, each in runs) / len(runs)
        several = ", ".join(f"{figure:.3f}" for figure in figures) if len(figures) > 1 else ""
        print(f"| `{name}` | {sum(figures) / len(figures):.3f} | {several} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
