"""Measure what more attempts at each instance gain: mean length and time of several decodings; prints a Markdown table.

    python benchmarks/decodings.py [--model amd-100] [--count 10000] [--quick]

Instances are the published ones of the size that the model was trained for. Times are of one pass over all of them,
after a first pass that does not count. On a CPU the whole table takes hours. Greedy decoding and the best of eight
orientations are rows of `dynaroute reproduce`.
"""

from __future__ import annotations

import argparse
import time

import torch

from dynaroute.base.machine import choose_device
from dynaroute.batch import InstanceBatch
from dynaroute.construct import Augmented, MultiStart, Sampling, Strategy, construct
from dynaroute.draw import draw_published_set
from dynaroute.model import Policy
from dynaroute.study.reproduction import describe_hardware

ATTEMPTS = 8
DECODINGS: dict[str, Strategy] = {
    f"`--decode multistart --samples {ATTEMPTS}`": MultiStart(ATTEMPTS),
    f"`--augment --decode multistart --samples {ATTEMPTS}`": Augmented(MultiStart(ATTEMPTS)),
    f"`--augment --decode sample --samples {ATTEMPTS}`": Augmented(Sampling(ATTEMPTS)),
}


def measure(policy: Policy, batch: InstanceBatch, strategy: Strategy) -> tuple[float, float]:
    """Return the mean length and the seconds of a pass over a batch."""
    generator = torch.Generator(batch.device).manual_seed(1)
    construct(policy, batch, strategy, generator)
    began = _now(batch)
    routes = construct(policy, batch, strategy, generator)
    seconds = _now(batch) - began
    return float(routes.lengths(batch).mean()), seconds


def _now(batch: InstanceBatch) -> float:
    if batch.device.type == "cuda":
        torch.cuda.synchronize(batch.device)
    return time.perf_counter()


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="amd-100", help="a shipped model or a folder")
    parser.add_argument("--count", type=int, default=10_000, help="fewer than 10,000 are different instances")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    device = choose_device("auto")
    policy = Policy.from_pretrained(arguments.model).to(device).eval()
    size = policy.card.size or 100
    drawn = draw_published_set(size, 4 if arguments.quick else arguments.count)
    batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity).to(device)
    print(f"{describe_hardware(device)}, {arguments.model}, {len(batch):,} instances of n={size}\n")
    print("| decoding | length | seconds |\n|---|---|---|")
    with torch.no_grad():
        for name, strategy in DECODINGS.items():
            length, seconds = measure(policy, batch, strategy)
            print(f"| {name} | {length:.3f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
