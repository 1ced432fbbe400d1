"""How fast the engine is on one GPU: construction, replay, whole training steps; prints Markdown tables.

    python benchmarks/engine.py --models MODELS --out RESULTS.json

MODELS holds folders n20, n50, n100 (trained policies, for realistic route counts); the shipped models are used where
it is not given. Sizes above 100 use the policy of 100.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Augmented, Greedy, construct
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model import Policy
from dynaroute.training.baselines import SharedBaseline
from dynaroute.training.instances import TrainingTask
from dynaroute.training.optimiser import AdamOptimiser
from dynaroute.training.ranks import Ranks
from dynaroute.training.reinforce import Learner, sample_solutions, train_step
from dynaroute.training.replay_layout import ReplaySize
from dynaroute.training.update import GraphedUpdate, PolicyUpdate, Replay, UpdateInput

CAPACITY = {20: 30, 50: 40, 100: 50, 200: 70, 500: 100, 1000: 150}
TOKEN_FLOPS = 2 * (3 * (4 * 128 * 128 + 2 * 128 * 512) + 5 * 128 * 128)  # encoder and projections, one token
TENSOR_RATE = 790e12  # bf16 FLOP/s, measured on such a machine with an 8192^3 product


def measure(action: Callable[[], object], repeats: int) -> float:
    """Median seconds of an action, the device waited for before and after; the first call is not counted."""
    action()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def load(size: int, models: Path | None) -> Policy:
    trained = min(size, 100)
    name: str | Path = f"amd-{trained}" if models is None else models / f"n{trained}"
    return Policy.from_pretrained(name).to("cuda")


def make_update(policy: Policy, rate: float = 1e-6) -> PolicyUpdate:
    """Adam with a tiny rate: the policy stays as trained while its steps are timed."""
    optimiser = AdamOptimiser(list(policy.parameters()), torch.tensor(rate, device="cuda"))
    return PolicyUpdate(Replay(policy, torch.float16), optimiser, Ranks())


def measure_greedy(policy: Policy, size: int, count: int) -> dict[str, float]:
    batch = TrainingTask(size, (CAPACITY[size],)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
    lengths = [torch.zeros(())]

    def job() -> None:
        lengths[0] = construct_once(policy, batch, MostLikely()).lengths(batch)

    seconds = measure(job, 7)
    return {"seconds": seconds, "us_each": 1e6 * seconds / count, "length": float(lengths[0].mean())}


def measure_augmented(policy: Policy, size: int, count: int) -> dict[str, float]:
    """Eight orientations of every instance, the best kept."""
    batch = TrainingTask(size, (CAPACITY[size],)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
    lengths = [torch.zeros(())]

    def job() -> None:
        lengths[0] = construct(policy, batch, Augmented(Greedy())).lengths(batch)

    return {"seconds": measure(job, 3), "length": float(lengths[0].mean())}


def write(results: dict[str, Any], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=1))


def measure_step(policy: Policy, size: int, instances: int, samples: int) -> dict[str, Any]:
    """Time the parts and the whole of a training step."""
    task, generator = TrainingTask(size, (CAPACITY[size],)), torch.Generator("cuda").manual_seed(2)
    count = instances * samples
    copies = task.draw(instances, generator, 0).repeat_each(samples)
    routes = sample_solutions(policy, copies, samples, 3)
    plain = make_update(policy)
    baseline = SharedBaseline(Ranks())
    given = UpdateInput(copies, routes, baseline.advantages(copies[::samples], routes.lengths(copies)), samples)
    needed = ReplaySize.of(given.starts)
    torch.cuda.reset_peak_memory_stats()
    construct_seconds = measure(lambda: sample_solutions(policy, copies, samples, 3), 7)
    replay_seconds = measure(lambda: plain(given), 7)
    graphed = GraphedUpdate(make_update(policy))
    learner = Learner(policy, graphed, baseline, task, instances, samples, generator, Ranks())
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
    # construct once, replay forward and backward, each state once
    floor = 4 * needed.state_tokens / count * TOKEN_FLOPS / TENSOR_RATE
    return {
        "trajectories": count,
        "construct_us": 1e6 * construct_seconds / count,
        "replay_us": 1e6 * replay_seconds / count,
        "step_ms": 1e3 * seconds,
        "per_second": count / seconds,
        "routes_each": needed.occurrences / count,
        "different_routes_each": needed.routes / count,
        "state_tokens_each": needed.state_tokens / count,
        "floor_ratio": seconds / count / floor,
        "busy": busy,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def measure_busy_fraction(step: Callable[[], None]) -> float:
    """The part of the time in which the GPU computes, over a few steps, by PyTorch's profiler."""
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
    """Greedy time per instance against the number of customers, drawn with the exponent of a power law."""
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
        print(f"scaling n={size}: {1e6 * seconds[-1]:.2f} us an instance ({count} at once)", flush=True)
    logs = np.log(np.array([sizes, seconds]))
    exponent = float(np.polyfit(logs[0], logs[1], 1)[0])
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(sizes, 1e6 * np.array(seconds), "o-")
    axes.set_xlabel("customers")
    axes.set_ylabel("microseconds an instance, greedy")
    axes.set_title(f"Greedy construction grows as n^{exponent:.2f}")
    axes.grid(alpha=0.3, which="both")
    figure.savefig(picture, dpi=120)
    return {"sizes": sizes, "seconds": seconds, "exponent": exponent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--sizes", default="20,50,100,200,500")
    parser.add_argument("--batches", default="64x8,512x8", help="instances x samples")
    parser.add_argument("--greedy", default="10000", help="instances solved greedily")
    parser.add_argument("--scaling", type=Path, help="picture of time against size, 20 to 1000")
    parser.add_argument("--augment", action="store_true", help="also time 10,000 of n=100 in eight orientations")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    properties = torch.cuda.get_device_properties(0)
    results: dict[str, Any] = {"device": properties.name, "torch": torch.__version__, "greedy": {}, "steps": {}}
    for size in map(int, filter(None, arguments.sizes.split(","))):
        policy = load(size, arguments.models)
        for count in map(int, arguments.greedy.split(",")):
            entry = measure_greedy(policy, size, count if size <= 100 else max(1, count // 10))
            results["greedy"][f"{size}"] = entry
            print(f"greedy n={size}: {entry}", flush=True)
        for batch in arguments.batches.split(","):
            instances, samples = map(int, batch.split("x"))
            if size > 100:
                instances = max(1, 100 * instances // (size * 8))
            entry = measure_step(policy, size, instances, samples)
            results["steps"][f"{size} {batch}"] = entry
            print(f"step n={size} {instances}x{samples}: {entry}", flush=True)
        if arguments.augment and size == 100:
            results["augmented"] = measure_augmented(policy, size, 10_000)
            print(f"greedy x8 n={size}: {results['augmented']}", flush=True)
        write(results, arguments.out)
    if arguments.scaling is not None:
        results["scaling"] = measure_scaling(arguments.models, arguments.scaling)
        write(results, arguments.out)


if __name__ == "__main__":
    main()
