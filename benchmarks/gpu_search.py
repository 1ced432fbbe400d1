"""Measure the batched search on a GPU, with one time limit for all instances together.

    python benchmarks/gpu_search.py                                    the published sets, minutes
    python benchmarks/gpu_search.py --rows 100:0.1,100:1.3,100:5 --out table.json
    python benchmarks/gpu_search.py --rows 100:30 --set long_coolest=0.07,most_chains=4
    python benchmarks/gpu_search.py --rows 100:1,100:10 --cores 16     compared with the search on cores
    python benchmarks/gpu_search.py --files XML100/*.vrp --best best.csv --seconds 3
    python benchmarks/gpu_search.py --files X/*.vrp --best best.csv --seconds 20 --each --cores 16

A row is SIZE:SECONDS. The time is measured from an `InstanceBatch` in host memory to a `RouteBatch` in host memory,
including the policy. Kernels are loaded and warm, and `dynaroute.check` verifies results outside the measured time.
--with-solve adds `dynaroute.solve` on `Instance` objects. --cores N adds the search on N cores; if there are many
instances, for a tenth of them in a tenth of the time. Gaps are to the costs of --best. Without a GPU, --quick runs the
emulation on a few instances.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

import dynaroute
from dynaroute.batch import InstanceBatch
from dynaroute.draw import draw_published_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.search.gpu.devices import KernelDevice, find_device
from dynaroute.search.gpu.emulation import emulate, find_compiler
from dynaroute.search.gpu.schedule import GeneticSettings, PopulationSettings
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.together import search_routes

_ROWS = "100:0.1,100:1.3,100:5,100:30,100:120,20:1,50:3"
_CHECKED = 200  # answers judged, spread over all


@dataclass(frozen=True)
class Row:
    """What one search came to."""

    what: str
    by: str
    count: int
    seconds: float
    taken: float
    cost: float
    gap: float | None
    iterations_a_second: float | None
    first_cost: float | None
    wrong: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=_ROWS, help="SIZE:SECONDS, of the published sets")
    parser.add_argument("--count", type=int, default=10_000, help="instances of each size")
    parser.add_argument("--drawn", type=int, default=1234, help="seed of the sets; 1234: the published ones")
    parser.add_argument("--iterations", type=int, help="instead of the seconds; without a GPU in the emulation")
    parser.add_argument("--files", nargs="*", type=Path, default=[], help="instances of your own instead")
    parser.add_argument("--seconds", default="3", help="with --files: for all of them, or for each")
    parser.add_argument("--each", action="store_true", help="with --files: one after another")
    parser.add_argument("--best", type=Path, help="CSV with name and best_known_cost or optimum")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--augment", action="store_true", help="insist on all eight orientations")
    parser.add_argument("--samples", type=int, help="of the policy, instead of its likeliest routes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", default="", help="settings of the population: NAME=VALUE,...")
    parser.add_argument("--with-solve", action="store_true", help="dynaroute.solve on instances, too")
    parser.add_argument("--cores", type=int, default=0, help="the search on so many cores, too")
    parser.add_argument("--out", type=Path, help="JSON file of the table")
    parser.add_argument("--quick", action="store_true", help="a few instances, for a moment")
    arguments = parser.parse_args()
    kernels = find_kernels(arguments.quick or arguments.iterations is not None)
    if kernels is None:
        print("There is no GPU, and nothing to emulate one with.", file=sys.stderr)
        return 0 if arguments.quick else 2
    if arguments.quick:
        arguments.rows, arguments.count = "20:1,50:1", 8 if kernels.place.type == "cpu" else 1000
    settings = _read_settings(arguments.set)
    print(
        f"{settings}\n{'what':>16} {'by':>12} {'count':>6} {'s':>6} {'taken':>7} {'start':>9} {'cost':>10} {'gap %':>7}"
        " M it/s"
    )
    rows: list[Row] = []
    for what, instances, seconds in _list_tasks(arguments):
        best = _read_best(arguments.best, instances)
        options = _make_options(arguments, seconds)
        _add(rows, _measure_batch(what, instances, options, kernels, settings, best), arguments.out)
        if arguments.with_solve:
            _add(rows, _measure_solve(what, instances, options, best), arguments.out)
        if arguments.cores:
            _add(rows, _measure_cores(what, instances, seconds, arguments.cores, best), arguments.out)
    return 1 if any(row.wrong for row in rows) else 0


def find_kernels(may_emulate: bool) -> KernelDevice | None:
    if torch.cuda.is_available():
        return find_device("cuda")
    return emulate(1) if may_emulate and find_compiler() is not None else None


def _read_settings(text: str) -> PopulationSettings:
    """Such as long_hottest=0.3,genetic.children=6."""
    settings = PopulationSettings()
    for name, value in (pair.split("=") for pair in text.split(",") if pair):
        room, _, own = name.rpartition(".")
        changed = settings.genetic if room == "genetic" else settings
        changed = replace(changed, **{own: type(getattr(changed, own))(float(value))})
        settings = replace(settings, genetic=changed) if isinstance(changed, GeneticSettings) else changed
    return settings


def _list_tasks(arguments: argparse.Namespace) -> list[tuple[str, list[Instance], float]]:
    seconds = [float(part) for part in arguments.seconds.split(",")]
    if arguments.files:
        read = [dynaroute.read(path) for path in arguments.files]
        if arguments.each:
            return [(instance.name, [instance], limit) for limit in seconds for instance in read]
        return [(f"{len(read)} files", read, limit) for limit in seconds]
    tasks = []
    sets: dict[int, list[Instance]] = {}
    for part in arguments.rows.split(","):
        size, limit = part.split(":")
        if int(size) not in sets:
            sets[int(size)] = _draw(int(size), arguments.drawn, arguments.count)
        tasks.append((f"n={size}", sets[int(size)], float(limit)))
    return tasks


def _draw(size: int, seed: int, count: int) -> list[Instance]:
    """The first instances of the published set, or as many of another seed."""
    return draw_published_set(size, 10_000 if seed == 1234 else count, seed).instances()[:count]


def _read_best(path: Path | None, instances: Sequence[Instance]) -> list[float] | None:
    if path is None:
        return None
    with path.open(encoding="utf-8") as file:
        costs = {row["name"]: float(row.get("best_known_cost") or row["optimum"]) for row in csv.DictReader(file)}
    return [costs[instance.name] for instance in instances]


def _make_options(arguments: argparse.Namespace, seconds: float) -> SolveOptions:
    sampling = {} if arguments.samples is None else {"decode": "sample", "samples": arguments.samples}
    limit = {"total_time": seconds} if arguments.iterations is None else {"iterations": arguments.iterations}
    return SolveOptions(model=arguments.model, augment=arguments.augment, seed=arguments.seed, **limit, **sampling)


def _measure_batch(
    what: str,
    instances: Sequence[Instance],
    options: SolveOptions,
    kernels: KernelDevice,
    settings: PopulationSettings,
    best: Sequence[float] | None,
) -> Row:
    batch = InstanceBatch.from_instances(instances)
    seconds = options.total_time or 0.0
    if seconds:
        warm = SolveOptions(model=options.model, total_time=min(1.5, seconds))
        search_routes(batch, warm, kernels=kernels, settings=settings)
    before = time.perf_counter()
    found = search_routes(batch, options, kernels=kernels, settings=settings)
    taken = time.perf_counter() - before
    solutions = found.routes.to_solutions(batch)
    some = range(0, len(instances), max(1, len(instances) // _CHECKED))
    wrong = sum(bool(check(instances[index], solutions[index])) for index in some)
    costs = [solution.cost(instance) for instance, solution in zip(instances, solutions, strict=True)]
    searching = taken - found.looks[0][0]
    speed = float(found.iterations.double().sum()) / max(searching, 1e-9)
    first = float(found.looks[0][1].mean())
    by = f"{kernels.place.type} {found.start}"
    return _make_row(what, by, seconds, taken, costs, best, wrong, speed, first)


def _measure_solve(
    what: str, instances: Sequence[Instance], options: SolveOptions, best: Sequence[float] | None
) -> Row:
    assert options.total_time is not None
    before = time.perf_counter()
    results = dynaroute.solve(instances, total_time=options.total_time, model=options.model, seed=options.usual_seed)
    taken = time.perf_counter() - before
    costs = [result.cost for result in results]
    return _make_row(what, "solve()", options.total_time, taken, costs, best, 0, None, results[0].first_cost)


def _measure_cores(
    what: str, instances: Sequence[Instance], seconds: float, cores: int, best: Sequence[float] | None
) -> Row:
    tenth = 10 if len(instances) >= 1000 else 1
    some = list(instances[: len(instances) // tenth])
    limit = seconds / tenth * (cores / len(some) if len(some) > 1 else 1)
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        list(pool.map(_warm_up, range(cores), chunksize=1))
        before = time.perf_counter()
        if len(some) == 1:
            costs = [dynaroute.solve(some[0], time_limit=limit, threads=cores).cost]
        else:
            costs = list(pool.map(partial(_search_one, seconds=limit), some, chunksize=1))
        taken = time.perf_counter() - before
    known = None if best is None else best[: len(some)]
    return _make_row(what, f"{cores} cores", seconds, taken * tenth, costs, known, 0, None, None)


def _warm_up(_: int) -> None:
    dynaroute.solve(draw_published_set(20, 10, 1).instances()[0], iterations=100)
    time.sleep(1.0)  # so that every process gets one


def _search_one(instance: Instance, seconds: float) -> float:
    return float(dynaroute.solve(instance, time_limit=max(seconds, 1e-4), threads=1).cost)


def _make_row(
    what: str,
    by: str,
    seconds: float,
    taken: float,
    costs: Sequence[float],
    best: Sequence[float] | None,
    wrong: int,
    speed: float | None,
    first: float | None,
) -> Row:
    gap = (
        None if best is None else 100 * float(np.mean([cost / one - 1 for cost, one in zip(costs, best, strict=True)]))
    )
    return Row(what, by, len(costs), seconds, taken, float(np.mean(costs)), gap, speed, first, wrong)


def _add(rows: list[Row], row: Row, out: Path | None) -> None:
    """Print a row, and write all of them, so that nothing is lost where the time is short."""
    rows.append(row)
    gap = "" if row.gap is None else f"{row.gap:.3f}"
    speed = "" if row.iterations_a_second is None else f"{row.iterations_a_second / 1e6:.2f}"
    first = "" if row.first_cost is None else f"{row.first_cost:.4f}"
    wrong = f"  {row.wrong} WRONG" if row.wrong else ""
    print(
        f"{row.what:>16} {row.by:>12} {row.count:6} {row.seconds:6g} {row.taken:7.3f} {first:>9} {row.cost:10.4f} "
        f"{gap:>7} {speed}{wrong}",
        flush=True,
    )
    if out is not None:
        out.write_text(json.dumps([asdict(one) for one in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
