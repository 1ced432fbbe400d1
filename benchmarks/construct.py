"""Measure the building of routes on one CPU thread.

    python benchmarks/construct.py                      speed of AM-D and AM
    python benchmarks/construct.py --kool FOLDER        and the greedy lengths of the published AM weights in
                                                        FOLDER/cvrp_20.pt, cvrp_50.pt and cvrp_100.pt

Each figure is shown with its target. Without trained weights, random ones follow the routes of the savings heuristic,
because on their own they would return to the depot far more often than a trained policy, which is different work.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import Greedy, Strategy, construct
from dynaroute.construct.choose import Chooser, Follow
from dynaroute.draw import InstanceArrays, draw_paper_set, draw_published_set
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.kool import import_kool
from dynaroute.search.savings import build_by_savings
from dynaroute.weights import nearest_shipped_model

PUBLISHED_LENGTHS = {20: 6.377, 50: 10.972, 100: 16.748}  # greedy, of all 10,000 instances
VERDICTS = {True: "yes", False: "NO", None: "-"}


@dataclass(frozen=True)
class Row:
    """One measured figure and its target."""

    what: str
    weights: str
    value: float
    unit: str
    bar: str
    is_met: bool | None  # None: cannot be judged


@dataclass(frozen=True)
class Contender:
    """A policy; a trained one chooses its own routes, an untrained one follows given routes."""

    name: str
    policy: Policy
    weights: str
    is_trained: bool

    def strategy_for(self, batch: InstanceBatch, arrays: InstanceArrays) -> Strategy:
        """What this policy does with these instances."""
        return Greedy() if self.is_trained else AlongSavings.of(batch, arrays)


@dataclass(frozen=True)
class AlongSavings(Greedy):
    """Follow the routes of savings, with all the work of the policy."""

    keys: Tensor
    routes: RouteBatch

    @classmethod
    def of(cls, batch: InstanceBatch, arrays: InstanceArrays) -> AlongSavings:
        """Solve by savings first."""
        solutions = [build_by_savings(instance) for instance in arrays.instances()]
        order = batch.keys.argsort()
        return cls(batch.keys[order], RouteBatch.from_solutions(solutions, batch)[order])

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """The next stop of each instance, which is known by its key."""
        return Follow(self.routes[torch.searchsorted(self.keys, batch.keys)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30, help="single instances timed for the median (30)")
    parser.add_argument("--kool", type=Path, metavar="FOLDER", help="published AM weights")
    parser.add_argument("--count", type=int, default=10_000, help="published instances of each size (10000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    options = parser.parse_args(arguments)
    if options.quick:
        options.repeats, options.count = 3, 100
    torch.set_num_threads(1)

    rows = measure_speed(choose_amd(), limit=60, repeats=options.repeats)
    rows += measure_speed(choose_am(options.kool), limit=25, repeats=options.repeats)
    if options.kool is not None:
        rows += [measure_length(options.kool, size, options.count) for size in PUBLISHED_LENGTHS]
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else draw_table(rows))


def choose_amd() -> Contender:
    name = nearest_shipped_model(100)
    if name is not None:
        return Contender("AM-D", Policy.from_pretrained(name), name, is_trained=True)
    return Contender("AM-D", make_random(PolicyConfig()), "random, along savings", is_trained=False)


def choose_am(folder: Path | None) -> Contender:
    if folder is not None:
        return Contender("AM", import_kool(folder / "cvrp_100.pt"), "published, n = 100", is_trained=True)
    return Contender("AM", make_random(PolicyConfig.am()), "random, along savings", is_trained=False)


def make_random(config: PolicyConfig) -> Policy:
    return Policy(config, generator=torch.Generator().manual_seed(0)).eval()


def measure_speed(contender: Contender, limit: float, repeats: int) -> list[Row]:
    generator = np.random.default_rng(1)
    singles = [draw_paper_set(100, 1, generator) for _ in range(repeats)]
    time_construction(contender, singles[0])  # the first call is slower
    milliseconds = statistics.median(1000 * time_construction(contender, arrays) for arrays in singles)
    seconds = time_construction(contender, draw_paper_set(20, 1000, generator))
    return [
        Row(
            f"{contender.name}, one instance of n = 100, median",
            contender.weights,
            milliseconds,
            "ms",
            f"at most {limit:g}",
            milliseconds <= limit,
        ),
        Row(
            f"{contender.name}, 1,000 instances of n = 20 in one call",
            contender.weights,
            seconds,
            "s",
            "at most 3",
            seconds <= 3,
        ),
    ]


def time_construction(contender: Contender, arrays: InstanceArrays) -> float:
    batch = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)
    strategy = contender.strategy_for(batch, arrays)
    start = time.perf_counter()
    construct(contender.policy, batch, strategy)
    return time.perf_counter() - start


def measure_length(folder: Path, size: int, count: int) -> Row:
    arrays = draw_published_set(size)
    batch = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)[:count]
    start = time.perf_counter()
    routes = construct(import_kool(folder / f"cvrp_{size}.pt"), batch, Greedy())
    seconds = time.perf_counter() - start
    length, expected = float(routes.lengths(batch).mean()), PUBLISHED_LENGTHS[size]
    what = f"AM, greedy length, n = {size}, {len(batch):,} instances of seed 1234 in {seconds:.1f} s"
    is_met = abs(length - expected) <= 0.003 if len(batch) == 10_000 else None
    return Row(what, f"published, n = {size}", length, "", f"{expected} within 0.003", is_met)


def draw_table(rows: Sequence[Row]) -> str:
    cells = [("what", "weights", "measured", "bar", "met")]
    for row in rows:
        measured = f"{row.value:.3f} {row.unit}".strip()
        cells.append((row.what, row.weights, measured, row.bar, VERDICTS[row.is_met]))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


if __name__ == "__main__":
    main()
