"""Time the engine on one GPU: construction, replay and whole training steps; prints Markdown tables.

    python benchmarks/engine.py --augment --scaling scaling.png --out RESULTS.json [--models MODELS]

MODELS has the folders n20, n50 and n100 with trained policies, for realistic numbers of routes; by default, the shipped
models are used. Sizes above 100 use the policy for 100, and steps of sizes above 200 an eighth of the instances.

--rules also times steps where instances have all rules beyond capacity, each its own, by the same policy with new
weights at 0: the column "beside plain" is the rate as a part of that of plain steps.

The floor is the time for the operations at the rate of the tensor cores, or for the bytes at the rate of the memory,
whichever is longer. Work that samples share counts once, and the backward pass counts as two forward passes. Bytes
are those that the backward pass needs again, written once and read once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dynaroute.batch import InstanceBatch
from dynaroute.cli.training.options import make_policy
from dynaroute.construct import Augmented, Greedy, construct
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model import Policy
from dynaroute.training.plan.recipes import make_rules_plan
from dynaroute.training.ranks import Ranks
from dynaroute.training.replay.layout import ReplayLayout, ReplaySize
from dynaroute.training.step.baselines import SharedBaseline, SharedByKindBaseline
from dynaroute.training.step.instances import RuledTask, TrainingTask
from dynaroute.training.step.optimiser import AdamOptimiser
from dynaroute.training.step.recording import record_if_possible
from dynaroute.training.step.reinforce import (
    Learner,
    PolicyUpdate,
    Replay,
    sample_solutions,
    train_step,
)
from dynaroute.training.step.update_input import UpdateInput

CAPACITY = {20: 30, 50: 40, 100: 50, 200: 70, 500: 100, 1000: 150}
TENSOR_RATE = 790e12  # FLOP/s in half precision, measured on an H200 with a product of 8192 x 8192 matrices
MEMORY_RATE = 4.8e12  # bytes per second, from the H200's specification


def measure(action: Callable[[], object], repeats: int) -> float:
    """Return the median seconds of an action, including the wait for the device; the first call does not count."""
    action()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def load(size: int, models: Path | None, *, with_rules: bool = False) -> Policy:
    """Load a policy; with rules, it knows all of them and acts as before on plain instances."""
    trained = min(size, 100)
    name = f"amd-{trained}" if models is None else str(models / f"n{trained}")
    policy = make_policy(make_rules_plan(name), name) if with_rules else Policy.from_pretrained(name)
    return policy.to("cuda")


def make_update(policy: Policy, rate: float = 1e-6) -> PolicyUpdate:
    """Make an update with a tiny learning rate, so that the policy hardly changes while its steps are timed."""
    optimiser = AdamOptimiser(list(policy.parameters()), torch.tensor(rate, device="cuda"))
    return PolicyUpdate(Replay(policy, torch.float16, has_one_size=True), optimiser, Ranks())


def measure_greedy(policy: Policy, size: int, count: int) -> dict[str, float]:
    batch = TrainingTask(size, (CAPACITY[size],)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
    lengths = [torch.zeros(())]

    def job() -> None:
        lengths[0] = construct_once(policy, batch, MostLikely()).lengths(batch)

    seconds = measure(job, 7)
    return {"count": count, "seconds": seconds, "us_each": 1e6 * seconds / count, "length": float(lengths[0].mean())}


def measure_augmented(policy: Policy, size: int, count: int) -> dict[str, float]:
    """Time the best of eight orientations of every instance."""
    batch = TrainingTask(size, (CAPACITY[size],)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
    lengths = [torch.zeros(())]

    def job() -> None:
        lengths[0] = construct(policy, batch, Augmented(Greedy())).lengths(batch)

    return {"count": count, "seconds": measure(job, 3), "length": float(lengths[0].mean())}


def write(results: dict[str, Any], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=1))


def measure_step(
    policy: Policy, size: int, instances: int, samples: int, variants: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Time the parts and the whole of a training step."""
    plain_task, generator = TrainingTask(size, (CAPACITY[size],)), torch.Generator("cuda").manual_seed(2)
    task = RuledTask(plain_task, variants) if variants else plain_task
    count = instances * samples
    copies = task.draw(instances, generator, 0).repeat_each(samples)
    routes = sample_solutions(policy, copies, samples, 3)
    plain = make_update(policy)
    baseline = SharedByKindBaseline(Ranks()) if variants else SharedBaseline(Ranks())
    advantages = baseline.advantages(copies[::samples], routes.lengths(copies))
    given = UpdateInput(copies, routes, advantages, samples)
    needed = ReplaySize.of(given.find_starts())
    torch.cuda.reset_peak_memory_stats()
    construct_seconds = measure(lambda: sample_solutions(policy, copies, samples, 3), 7)
    replay_seconds = measure(lambda: plain(given), 7)
    graphed = record_if_possible(make_update(policy), copies.nodes)
    learner = Learner(policy, graphed, baseline, task, instances, samples, samples, generator, Ranks())
    steps = iter(range(10**9))

    def step() -> None:
        train_step(learner, next(steps))

    for _ in range(25):  # until the common sizes are recorded
        step()
    torch.cuda.synchronize()
    repeats = 40
    began = time.perf_counter()
    for _ in range(repeats):
        step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / repeats
    busy = measure_busy_fraction(step)
    of_operations, of_bytes = compute_floor(policy, given)
    return {
        "instances": instances,
        "trajectories": count,
        "construct_us": 1e6 * construct_seconds / count,
        "replay_us": 1e6 * replay_seconds / count,
        "step_ms": 1e3 * seconds,
        "per_second": count / seconds,
        "routes_each": needed.occurrences / count,
        "different_routes_each": needed.routes / count,
        "state_tokens_each": needed.state_tokens / count,
        "operations_us": 1e6 * of_operations / count,
        "bytes_us": 1e6 * of_bytes / count,
        "floor_ratio": seconds / max(of_operations, of_bytes),
        "busy": busy,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def compute_floor(policy: Policy, given: UpdateInput) -> tuple[float, float]:
    """Return the least seconds for a step's operations and for its bytes, as explained at the top."""
    config, starts = policy.config, given.find_starts()
    needed = ReplaySize.of(starts)
    layout = ReplayLayout.of_starts(starts, needed)
    width, inner, layers = config.dimension, config.feed_forward, config.layers
    projections = 6 if config.edge_scores else 5
    per_token = layers * (4 * width * width + 2 * width * inner) + projections * width * width
    attention = 2 * layers * width * float((layout.states.lengths.double() ** 2).sum())
    decoding = 3 * width * float(((layout.route_lengths + 1) * layout.routes.lengths).double().sum())
    forward = 2 * (per_token * needed.state_tokens + attention + decoding)
    kept = (layers * (6 * width + inner) + width) * needed.state_tokens + projections * width * needed.route_tokens
    # construction 1, replay 1, backward pass 2; each number has two bytes, written once and read once
    return 4 * forward / TENSOR_RATE, 4 * kept / MEMORY_RATE


def measure_busy_fraction(step: Callable[[], None]) -> float:
    """Return the fraction of time in which the GPU computes, from PyTorch's profiler over a few steps."""
    steps = 5
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    computing: float = sum(event.self_device_time_total for event in profile.key_averages()) / 1e6
    return computing / seconds


def measure_scaling(models: Path | None, picture: Path) -> dict[str, Any]:
    """Draw the greedy time per instance against the number of customers, with the exponent of a power law."""
    from matplotlib.figure import Figure

    sizes = [20, 50, 100, 127, 200, 350, 500, 700, 1000]
    seconds = []
    for size in sizes:
        count = max(64, 200_000 // size if size <= 127 else 100_000 // size)
        capacity = round(30 + 0.12 * size)
        batch = TrainingTask(size, (capacity,)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
        policy = load(min((20, 50, 100), key=lambda trained: abs(trained - size)), models)

        def job(policy: Policy = policy, batch: InstanceBatch = batch) -> None:
            construct_once(policy, batch, MostLikely()).lengths(batch)

        seconds.append(measure(job, 3) / count)
        print(f"scaling n={size}: {1e6 * seconds[-1]:.2f} us per instance ({count} at once)", flush=True)
    logs = np.log(np.array([sizes, seconds]))
    exponent = float(np.polyfit(logs[0], logs[1], 1)[0])
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(sizes, 1e6 * np.array(seconds), "o-")
    axes.set_xlabel("customers")
    axes.set_ylabel("microseconds per instance, greedy")
    axes.set_title(f"Greedy construction grows as n^{exponent:.2f}")
    axes.grid(alpha=0.3, which="both")
    figure.savefig(picture, dpi=120)
    return {"sizes": sizes, "seconds": seconds, "exponent": exponent}


def format_tables(results: dict[str, Any]) -> str:
    """Format the results as Markdown tables."""
    lines = [
        f"{results['device']}, torch {results['torch']}",
        "",
        "| greedy | instances | seconds | µs per instance | mean length |",
        "|---|---|---|---|---|",
    ]
    for size, entry in results["greedy"].items():
        measured = f"{entry['seconds']:.4f} | {entry['us_each']:.2f} | {entry['length']:.3f}"
        lines.append(f"| n={size} | {entry['count']:,} | {measured} |")
    if "augmented" in results:
        entry = results["augmented"]
        lines.append(f"| n=100, x8 | {entry['count']:,} | {entry['seconds']:.4f} | | {entry['length']:.3f} |")
    lines += [
        "",
        "| step | trajectories per second | construct / replay, µs per trajectory | operations / bytes, µs "
        "| over the floor | GPU busy | peak memory | beside plain |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, entry in results["steps"].items():
        beside = f"{100 * entry['beside_plain']:.0f} %" if "beside_plain" in entry else ""
        lines.append(
            f"| n={name} | {entry['per_second']:,.0f} | {entry['construct_us']:.1f} / {entry['replay_us']:.1f} "
            f"| {entry['operations_us']:.2f} / {entry['bytes_us']:.2f} | {entry['floor_ratio']:.0f} "
            f"| {100 * entry['busy']:.0f} % | {entry['peak_gb']:.1f} GB | {beside} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--sizes", default="20,50,100,200,500", help=f"some of {', '.join(map(str, CAPACITY))}")
    parser.add_argument("--batches", default="64x8,512x8", help="instances x samples")
    parser.add_argument("--greedy", type=int, default=10_000, help="instances to solve greedily; a tenth above n=100")
    parser.add_argument("--scaling", type=Path, help="file for a plot of time against size, 20 to 1000")
    parser.add_argument("--augment", action="store_true", help="also time 10,000 of n=100 in eight orientations")
    parser.add_argument("--rules", action="store_true", help="also time steps with all rules beyond capacity")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sizes, arguments.batches, arguments.greedy, arguments.rules = "20", "64x8", 1000, True
    if arguments.quick and not torch.cuda.is_available():
        print("Skipped: this needs a GPU, and PyTorch finds none.")
        return 0
    if not torch.cuda.is_available():
        print("This needs a CUDA device. To time the engine on the CPU, use benchmarks/construct.py.", file=sys.stderr)
        return 2
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "greedy": {},
        "steps": {},
    }
    sizes = list(filter(None, arguments.sizes.split(",")))
    if unknown := [size for size in sizes if size not in map(str, CAPACITY)]:
        parser.error(f"--sizes: {unknown[0]} is not one of {', '.join(map(str, CAPACITY))}.")
    for size in map(int, sizes):
        policy = load(size, arguments.models)
        entry = measure_greedy(policy, size, arguments.greedy if size <= 100 else max(1, arguments.greedy // 10))
        results["greedy"][f"{size}"] = entry
        print(f"greedy n={size}: {entry['us_each']:.2f} µs per instance", flush=True)
        for batch in arguments.batches.split(","):
            instances, samples = map(int, batch.split("x"))
            if size > 200:  # else the steps would take minutes
                instances = max(1, instances // 8)
            entry = measure_step(policy, size, instances, samples)
            name = f"{size}, {instances} x {samples}"
            results["steps"][name] = entry
            print(f"step n={name}: {entry['per_second']:,.0f} trajectories per second", flush=True)
            if arguments.rules:
                ruled = measure_step(load(size, arguments.models, with_rules=True), size, instances, samples, ("all",))
                ruled["beside_plain"] = ruled["per_second"] / entry["per_second"]
                results["steps"][f"{name}, all rules"] = ruled
                print(f"step n={name}, all rules: {ruled['per_second']:,.0f} trajectories per second", flush=True)
        if arguments.augment and size == 100:
            results["augmented"] = measure_augmented(policy, size, 10_000)
        write(results, arguments.out)
    if arguments.scaling is not None:
        results["scaling"] = measure_scaling(arguments.models, arguments.scaling)
        write(results, arguments.out)
    print("\n" + format_tables(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
