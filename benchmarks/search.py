"""Compare the searches of dynaroute.search in equal time, separately and one after the other.

    python benchmarks/search.py                                        100 customers, instances of seed 99
    python benchmarks/search.py --size 50 --count 10 --seconds 0.1,1
    python benchmarks/search.py --files X/*.vrp --best X/best_known.csv --seconds 10,60 --methods ruin,relay0.2

Methods: ruin (ruin and recreate), genetic, relay0.2 (ruin and recreate for a fifth of the time, then genetic), and
search (`dynaroute.search.search`, which chooses among them). Every method starts again from savings for each instance
and time. Times are CPU times of one core, except for search, which only uses wall time. Libraries are loaded and
kernels compiled before. `dynaroute.check` verifies every result. Gaps are to the best known costs: those of --best, or
the best found by any method in this run.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import dynaroute
from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_published_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.genetic.genetic import GeneticSearch
from dynaroute.search.improvers import load_machine_code
from dynaroute.search.search import search
from dynaroute.search.searchers import Pace, Relay, Searcher
from dynaroute.search.start import build_by_near_savings

_SLICE_SECONDS = 0.003

Routes = Sequence[Sequence[int]]
Maker = Callable[[SearchProblem, Routes, int], Searcher]


def make_ruin(problem: SearchProblem, routes: Routes, seed: int) -> Searcher:
    return RuinAndRecreate(problem, routes, AnnealingSettings(), seed)


def make_relay(handover: float) -> Maker:
    def make(problem: SearchProblem, routes: Routes, seed: int) -> Searcher:
        return Relay(make_ruin(problem, routes, seed), GeneticSearch(problem, seed), handover)

    return make


def solve(instance: Instance, make: Maker | None, seconds: float, seed: int) -> float:
    """Cost after this much time, the building of distances and of the start included; by `search` without a maker."""
    if make is None:
        solution = search(instance, None, Stopping.after(seconds), seed=seed).solution
    else:
        solution = run_searcher(instance, make, seconds, seed)
    if violations := check(instance, solution):
        raise SystemExit(f"{instance.name}: {violations[0].message}")
    return float(solution.cost(instance))


def run_searcher(instance: Instance, make: Maker, seconds: float, seed: int) -> Solution:
    began = time.process_time()
    problem = SearchProblem.from_instance(instance)
    searcher = make(problem, build_by_near_savings(problem), seed)
    speed = 1 / _SLICE_SECONDS
    while (spent := time.process_time() - began) < seconds:
        count = max(1, int(min(_SLICE_SECONDS, seconds - spent) * speed))
        searcher.run(count, Pace(spent / seconds, 0.0))
        taken = time.process_time() - began - spent
        speed = min(4 * speed, 1e8, count / max(taken, 1e-9))
    return Solution(searcher.best_routes)


def read_best(path: Path | None) -> dict[str, float]:
    if path is None:
        return {}
    with path.open(newline="") as file:
        return {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(file)}


def read_instances(arguments: argparse.Namespace) -> list[Instance]:
    if not arguments.files:
        return draw_published_set(arguments.size, arguments.count, arguments.seed).instances()
    instances = []
    for path in arguments.files:
        instance = dynaroute.read(path)
        assert isinstance(instance, Instance)
        instances.append(instance)
    return instances


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--files", nargs="*", default=[], help="instances; none: random ones")
    parser.add_argument("--best", type=Path, help="CSV with the columns name and best_known_cost")
    parser.add_argument("--size", type=int, default=100, help="customers of random instances")
    parser.add_argument("--count", type=int, default=20, help="number of random instances")
    parser.add_argument("--seed", type=int, default=99, help="of random instances")
    parser.add_argument("--seconds", default="0.1,0.5,2", help="processor time an instance")
    parser.add_argument("--methods", default="ruin,genetic,search", help="which to compare")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.count, arguments.seconds = 3, "0.1"
    return arguments


def choose_method(name: str) -> Maker | None:
    if name == "search":
        return None
    if name == "ruin":
        return make_ruin
    if name == "genetic":
        return make_relay(1e-9)
    return make_relay(float(name.removeprefix("relay")))


def main() -> None:
    arguments = read_arguments()
    load_machine_code(["search", "large"])
    instances, best = read_instances(arguments), read_best(arguments.best)
    names, limits = arguments.methods.split(","), [float(limit) for limit in arguments.seconds.split(",")]
    makers = [choose_method(name) for name in names]
    costs = np.array(
        [[[solve(each, make, limit, 1) for each in instances] for limit in limits] for make in makers]
    )  # (methods, limits, instances)
    known = np.array([best.get(each.name, np.inf) for each in instances])
    gaps = 100 * (costs / np.minimum(known, costs.min(axis=(0, 1))) - 1)
    print("| search | " + " | ".join(f"{limit:g} s" for limit in limits) + " |")
    print("|---|" + "---|" * len(limits))
    for name, row in zip(names, gaps.mean(axis=2), strict=True):
        print(f"| {name} | " + " | ".join(f"{gap:.2f} %" for gap in row) + " |")
    if arguments.files:
        for index, each in enumerate(instances):
            shown = "  ".join(
                f"{name} " + " / ".join(f"{gap:.2f}" for gap in gaps[row, :, index]) for row, name in enumerate(names)
            )
            print(f"{each.name:16} {shown}")


if __name__ == "__main__":
    main()
