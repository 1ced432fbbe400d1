"""Compare Dynaroute with PyVRP and OR-Tools on time windows, limits and open routes: one core each, the same time.

    python benchmarks/fleets.py                                         eight kinds of 50 customers, 5 of each, 2 s
    python benchmarks/fleets.py --files VRPTW/*.txt --limits 10,60
    python benchmarks/fleets.py --files VRPTW/*.txt --solvers ours --json ours.json       on one machine
    python benchmarks/fleets.py --files VRPTW/*.txt --solvers pyvrp --add ours.json       on another, compared

The eight kinds are those on which neural solvers are compared (Zhou et al., "MVMoE", 2024): the unit square, demands 1
to 9, capacity 40; routes that end at their last customer or at the depot; routes of length at most 3 or of any length;
with or without windows on [0, 4.6] and service. `dynaroute.check` verifies every result. Lengths are exact, although
the other solvers compute with integers. peers.py explains how runs are made and counted.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from peers import CONTENDERS, Run, Task, perform_all

import dynaroute
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_LONGEST_ROUTE, _DAY = 3.0, 4.6


def make_kinds(count: int, size: int) -> Iterator[Instance]:
    """The eight kinds, so many of each."""
    for is_open, is_limited, has_windows in product((False, True), repeat=3):
        name = f"{'O' * is_open}VRP{'L' * is_limited}{'TW' * has_windows}"
        for seed in range(count):
            instance = make_kind(is_open, is_limited, has_windows, size, np.random.default_rng(seed))
            yield replace(instance, name=f"{name}-{seed}")


def make_kind(
    is_open: bool, is_limited: bool, has_windows: bool, size: int, generator: np.random.Generator
) -> Instance:
    """Make one problem, in which a separate vehicle can serve each customer."""
    points, demands = generator.uniform(size=(size + 1, 2)), np.r_[0, generator.integers(1, 10, size)]
    limit = _LONGEST_ROUTE if is_limited else None
    vehicle = VehicleType(40, max_distance=limit, end="open" if is_open else "depot")
    given: dict[str, Any] = {}
    if has_windows:
        away = np.hypot(*(points - points[0]).T)
        service, width = generator.uniform(0.15, 0.18, size + 1), generator.uniform(0.18, 0.2, size + 1)
        opens = away + (_DAY - service - width - 2 * away) * generator.uniform(size=size + 1)
        windows = np.stack([opens, opens + width], axis=1)
        windows[0], service[0] = (0.0, _DAY), 0.0
        given = {"windows": windows, "service": service, "speed": 1.0}
    return Instance(points, demands, 40, vehicles=(vehicle,), **given)


def name_set(instance: str) -> str:
    """What instances are counted together: the eight kinds by name; Solomon's; Gehring and Homberger's by size."""
    if "-" in instance:
        return instance.rsplit("-", 1)[0]
    homberger = re.fullmatch(r"[A-Z]+[12]_(\d+)_\d+", instance.upper())
    return f"Gehring-Homberger {homberger[1]}00" if homberger else "Solomon"


def print_tables(runs: Sequence[Run], solvers: Sequence[str]) -> None:
    """For each set and time: the mean length of each solver, over the instances that all of them solved."""
    groups: defaultdict[tuple[str, float], list[Run]] = defaultdict(list)
    for run in runs:
        groups[name_set(run.instance), run.limit].append(run)
    print("\n| set | time | solver | instances | mean length | beside PyVRP | failed |\n|---|---|---|---|---|---|---|")
    for (name, limit), group in sorted(groups.items()):
        costs = {solver: {run.instance: run.cost for run in group if run.solver == solver} for solver in solvers}
        common = [
            instance
            for instance in sorted({run.instance for run in group})
            if all(costs[solver].get(instance) is not None for solver in solvers if costs[solver])
        ]
        means = {
            solver: statistics.fmean(found[instance] or 0.0 for instance in common)
            for solver, found in costs.items()
            if found and common
        }
        for solver, mean in means.items():
            beside = f"{100 * (mean / means['pyvrp'] - 1):+.3f} %" if "pyvrp" in means else ""
            failed = sum(cost is None for cost in costs[solver].values())
            title = CONTENDERS[solver].name
            print(f"| {name} | {limit:g} s | {title} | {len(common)} | {mean:.4f} | {beside} | {failed} |")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="*", type=Path, help="instance files, instead of the eight kinds")
    parser.add_argument("--size", type=int, default=50, help="customers of the eight kinds")
    parser.add_argument("--count", type=int, default=5, help="how many of each kind")
    parser.add_argument("--limits", default="2", help="time limits in seconds, with commas")
    parser.add_argument("--solvers", default="ours,pyvrp,ortools", help="some of ours, pyvrp, ortools")
    parser.add_argument("--processes", type=int, default=1, help="runs at a time, each on a core of its own")
    parser.add_argument("--json", type=Path, help="write every run there as it ends")
    parser.add_argument("--add", nargs="*", type=Path, default=[], help="earlier runs to compare with")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    options = parser.parse_args()
    if options.quick:
        options.files, options.count, options.size, options.limits = None, 1, 20, "0.2"
    return options


def main() -> None:
    options = read_options()
    solvers, limits = options.solvers.split(","), [float(limit) for limit in options.limits.split(",")]
    instances = [dynaroute.read(file) for file in options.files or ()] or list(make_kinds(options.count, options.size))
    # solvers side by side, so that whatever else the machine does hits all of them alike
    tasks = [
        Task(instance, solver, limit, seed)
        for limit in limits
        for seed, instance in enumerate(instances)
        for solver in solvers
    ]
    runs = []
    for run in perform_all(tasks, solvers, options.processes, list(make_kinds(1, 10))):
        runs.append(run)
        if options.json is not None:  # as they end, so that what is cut short is not lost
            options.json.write_text(json.dumps([asdict(each) for each in runs], indent=1))
    earlier = [Run(**entry) for file in options.add for entry in json.loads(file.read_text())]
    everyone = [solver for solver in CONTENDERS if solver in {run.solver for run in (*runs, *earlier)}]
    print_tables([*runs, *earlier], everyone)


if __name__ == "__main__":
    main()
