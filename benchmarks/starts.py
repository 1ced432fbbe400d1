"""Compare searches of one core that start from savings with searches that start from a policy's greedy routes.

    python benchmarks/starts.py FOLDER [--iterations 300000,1000000,3000000] [--hottest 0.1,0.25] [--sizes 300,1000]
    python benchmarks/starts.py FOLDER --seconds 10 [--hottest 0.25] [--sizes 150,1000] [--seed 3]
    python benchmarks/starts.py --quick

FOLDER holds .vrp files and best_known.csv (name, best_known_cost). The numbers of iterations are equal, so that a busy
machine does not matter; the seconds are process time, and tell what building takes of them. With --seconds the time is
equal, building included, which needs an idle core. `hottest` is the temperature at which the search begins from the
policy's routes, in mean legs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_published_set
from dynaroute.formats.collection import find_best_costs, read_best_costs, read_collection
from dynaroute.problem.instance import Instance
from dynaroute.search import search as searching
from dynaroute.search.annealing.annealing import AnnealingSettings
from dynaroute.search.improvers import load_machine_code
from dynaroute.solving.small import load_small_policy
from dynaroute.weights.choice import choose_model


def list_problems(arguments: argparse.Namespace) -> list[tuple[Instance, float]]:
    """Read the instances of the sizes asked for, with their best known costs; made-up ones for a quick check."""
    if arguments.quick:
        return [(instance, 10.0) for instance in draw_published_set(30, 2).instances()]
    folder = Path(arguments.folder)
    collection = read_collection(folder)
    table = find_best_costs(folder)
    assert table is not None, f"{folder} has no table of best known costs"
    smallest, largest = map(int, arguments.sizes.split(","))
    pairs = zip(collection.instances, read_best_costs(table, collection).costs, strict=True)
    return [(instance, best) for instance, best in pairs if smallest <= instance.size <= largest]


def measure(
    instance: Instance, best: float, stop: Callable[[], Stopping], hottest: list[float], seed: int
) -> Iterator[tuple[float, float]]:
    """Gaps in percent and seconds: of the policy's own routes, from savings, and from the policy's."""
    policy = load_small_policy(choose_model(instance).name)
    assert policy is not None
    began = time.process_time()
    built = policy.build(instance)
    yield 100 * (built.cost(instance) / best - 1), time.process_time() - began
    for heat in [None, *hottest]:
        began = time.process_time()
        stopping = stop()
        if heat is not None:
            searching._FROM_A_POLICY = AnnealingSettings(hottest=heat)
        start = None if heat is None else policy.build(instance)
        found = searching.search(instance, start, stopping, seed=seed, is_by_policy=heat is not None)
        yield 100 * (found.cost / best - 1), time.process_time() - began


def list_limits(arguments: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Stopping]]]:
    """Name each limit of a search, and what begins it."""
    if arguments.seconds is not None:
        yield f"{arguments.seconds:g} s", lambda: Stopping(deadline=time.perf_counter() + arguments.seconds)
        return
    for iterations in [2000] if arguments.quick else map(int, arguments.iterations.split(",")):
        yield f"{iterations:,} iterations", partial(Stopping, iterations=iterations)


def main() -> None:
    """Print a line for each instance, and mean gaps with the standard error of their difference to savings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--iterations", default="300000,1000000,3000000")
    parser.add_argument("--seconds", type=float, help="equal time instead of equal iterations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hottest", default="0.1,0.25")
    parser.add_argument("--sizes", default="300,1000", help="smallest and largest number of customers")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    load_machine_code(["search"])
    hottest = [float(heat) for heat in arguments.hottest.split(",")]
    for limit, stop in list_limits(arguments):
        rows = []
        for instance, best in list_problems(arguments):
            row = list(measure(instance, best, stop, hottest, arguments.seed))
            rows.append([gap for gap, _ in row])
            cells = [f"{gap:.3f} % {seconds:.2f} s" for gap, seconds in row]
            print(instance.name or "-", limit, *cells, flush=True)
        for heat, gaps in zip(hottest, list(zip(*rows, strict=True))[2:], strict=True):
            apart = [gap - row[1] for gap, row in zip(gaps, rows, strict=True)]
            error = statistics.stdev(apart) / len(apart) ** 0.5
            by_savings, by_policy = statistics.fmean(row[1] for row in rows), statistics.fmean(gaps)
            print(
                f"{limit}, {len(rows)} instances: savings {by_savings:.3f} %, policy at {heat:g} "
                f"{by_policy:.3f} %, difference {by_policy - by_savings:.3f} +- {error:.3f}"
            )


if __name__ == "__main__":
    main()
