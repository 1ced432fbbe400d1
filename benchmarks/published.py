"""Compare Dynaroute with PyVRP on published sets of rich problems: gaps to the best known costs, one core each.

    python benchmarks/published.py --data DATA                                  every set, 60 s an instance
    python benchmarks/published.py --data DATA --sets HFVRP,VRPB --seconds 20
    python benchmarks/published.py --data DATA --sets PDPTW --instances LC1_2_1,LR1_2_1 --seeds 1,2
    python benchmarks/published.py --data DATA --sets MDVRPTW --every 4 --cpu   every fourth instance, on a busy machine

DATA has a folder for each set, with the instances and their best known solutions (.sol), or with a list of costs. Both
solvers run on each instance one after the other, in a process that has loaded (and, for ours, compiled) everything
before. With --cpu, a second is a second of the process on a core, for both solvers, so that other work on the machine
does not count; without it, run nothing else. `dynaroute.check` judges both answers, on the same rounded lengths:
PyVRP computes with whole numbers, and gets the file as its own reader reads it where it has a reader. Gaps are to the
best known routes, measured on these lengths too.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dynaroute
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

_NO_BOUND = 2**40
ROUNDINGS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "round": np.round,
    "dimacs": lambda lengths: np.floor(10 * lengths) / 10,
    "exact": lambda lengths: np.round(1000 * lengths) / 1000,
}


@dataclass(frozen=True)
class PublishedSet:
    """Where the instances of a set are, and how it is measured.

    Attributes
    ----------
    folder, pattern
        The folder in DATA, and which files in it are instances.
    rounding
        How lengths are rounded, in PyVRP's words.
    scale
        How many of PyVRP's units of cost a unit of length has.
    costs
        File with the best known costs; without one, each instance has a .sol file beside it.
    """

    folder: str
    pattern: str
    rounding: str
    scale: float = 1.0
    costs: str = ""


SETS = {
    "HFVRP": PublishedSet("HFVRP", "*.vrp", "round"),
    "MDVRPTW": PublishedSet("MDVRPTW", "*.vrp", "exact", 1000.0),
    "MDVRP": PublishedSet("MDVRP", "p*.txt", "exact", 1000.0, "BKS.json"),
    "VRPB": PublishedSet("VRPB", "*.vrp", "round"),
    "PCVRPTW": PublishedSet("PCVRPTW", "*.vrp", "dimacs", 10.0),
    "MTVRPTWR": PublishedSet("MTVRPTWR", "*.vrp", "dimacs", 10.0),
    "PDPTW100": PublishedSet("PDPTW", "l*.txt", "exact", 1000.0, "distance_only.csv"),
    "PDPTW200": PublishedSet("PDPTW", "L*_2_*.txt", "exact", 1000.0, "distance_only.csv"),
    "PDPTW400": PublishedSet("PDPTW", "L*_4_*.txt", "exact", 1000.0, "distance_only.csv"),
    "PDPTW1000": PublishedSet("PDPTW", "L*_10_*.txt", "exact", 1000.0, "distance_only.csv"),
    "GH1000": PublishedSet("GH1000", "*.vrp", "dimacs", 10.0),
    "Solomon": PublishedSet("VRPTW", "[CR]*.txt", "exact", 1000.0, "best_known.csv"),
    "GH200": PublishedSet("VRPTW", "[cr]*_2_*.txt", "exact", 1000.0, "best_known.csv"),
}


# Instances and best known costs


@dataclass(frozen=True)
class Case:
    """One instance of a set, and its best known cost: NaN if there is none."""

    set_name: str
    file: Path
    instance: Instance
    best: float


def list_cases(data: Path, names: Sequence[str], wanted: Sequence[str], every: int) -> Iterator[Case]:
    """Read the chosen instances of the chosen sets."""
    for name in names:
        folder = data / SETS[name].folder
        files = sorted(folder.glob(SETS[name].pattern), key=lambda file: (len(file.stem), file.stem))
        for file in [each for each in files if each.stem in wanted] if wanted else files[::every]:
            instance = read_rounded(file, SETS[name].rounding)
            yield Case(name, file, instance, find_best(file, instance, SETS[name]))


def read_rounded(file: Path, rounding: str) -> Instance:
    """Read an instance with lengths rounded as PyVRP rounds them; times of legs follow where they are the lengths."""
    instance = replace(dynaroute.read(file), name=file.stem)
    if rounding == instance.rounding or (rounding == "round" and instance.rounding == "nearest"):
        return instance
    plain = replace(instance, rounding="none")
    return replace(plain, distances=ROUNDINGS[rounding](plain.distance_matrix))


def find_best(file: Path, instance: Instance, origin: PublishedSet) -> float:
    """The best known cost, from routes measured on our lengths, or from a list."""
    if not origin.costs:
        return read_published_routes(file.with_suffix(".sol"), instance).cost(instance)
    costs = file.parent / origin.costs
    if costs.suffix == ".json":
        return float(json.loads(costs.read_text())[file.stem]["best_known_cost"])
    with costs.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if row["name"].lower() == file.stem.lower():
                return float(row.get("best_known_distance") or row.get("distance_only") or math.nan)
    return math.nan


def read_published_routes(file: Path, instance: Instance) -> Solution:
    """Read a .sol file of PyVRP's collection: route r is that of vehicle r, and customers come after all depots."""
    routes = {}
    for line in file.read_text().splitlines():
        if found := re.match(r"Route #(\d+): *(\d.*)", line):
            routes[int(found[1]) - 1] = [int(stop) for stop in found[2].split()]
    return number_stops(routes, instance)


def number_stops(routes: dict[int, list[int]], instance: Instance) -> Solution:
    """Turn routes by vehicle, with stops numbered after the depots, into a solution."""
    depots = 1 + (0 if instance.places is None else len(instance.places))
    kinds = [kind for kind, each in enumerate(instance.fleet) for _ in range(each.count or instance.size)]
    stops = [tuple(max(0, stop - depots + 1) for stop in route) for route in routes.values()]
    return Solution(tuple(stops), vehicles=tuple(kinds[vehicle] for vehicle in routes))


# Solvers


def solve_with_ours(case: Case, seconds: float, seed: int) -> Solution:
    return dynaroute.solve(case.instance, time_limit=seconds, threads=1, seed=seed).solution


def solve_with_pyvrp(case: Case, seconds: float, seed: int) -> Solution:
    import pyvrp
    from pyvrp.stop import MaxRuntime

    rounding = SETS[case.set_name].rounding
    data = pyvrp.read(case.file, rounding) if case.file.suffix == ".vrp" else model_for_pyvrp(case.instance)
    found = pyvrp.solve(data, stop=MaxRuntime(seconds), seed=seed, collect_stats=False, display=False).best
    free = [iter(each.name.split(",")) for each in data.vehicle_types()]
    routes = {int(next(free[each.vehicle_type()])): [locate(stop, data) for stop in each] for each in found.routes()}
    return number_stops({vehicle: route[1:-1] for vehicle, route in routes.items()}, case.instance)


def locate(activity: Any, data: Any) -> int:
    """The place of a stop of PyVRP's, where depots come first."""
    if activity.is_depot():
        return int(data.depots()[activity.idx].location)
    if activity.is_client():
        return int(data.clients()[activity.idx].location)
    shipment = data.shipments()[activity.idx]
    return int((shipment.pickup if activity.is_pickup() else shipment.delivery).location)


def model_for_pyvrp(instance: Instance) -> Any:
    """An instance whose lengths are whole thousandths, as PyVRP takes it: depots first, then customers and pairs."""
    import pyvrp

    size = instance.size
    order = np.r_[0, size + 1 : instance.node_count, 1 : size + 1]
    depots = instance.node_count - size
    lengths = np.rint(1000 * instance.distance_matrix[np.ix_(order, order)]).astype(np.int64)
    bounds = [(0.0, math.inf)] * (size + 1) if instance.windows is None else instance.windows.tolist()
    windows = [(in_thousandths(early), in_thousandths(late)) for early, late in bounds]
    service = [0] * (size + 1) if instance.service is None else [in_thousandths(each) for each in instance.service]
    partners = np.zeros(size + 1, dtype=int) if instance.partners is None else instance.partners
    pickups = [] if instance.is_pickup is None else np.flatnonzero(instance.is_pickup).tolist()
    kinds, first = [], 0
    for kind in instance.fleet:
        count = kind.count or size
        depot = instance.node_of(kind.start)
        kinds.append(
            pyvrp.VehicleType(
                count,
                capacity=list(kind.capacities),
                start_depot=max(0, depot - size),
                end_depot=max(0, depot - size),
                tw_early=windows[0][0],
                tw_late=windows[0][1],
                shift_duration=in_thousandths(math.inf if kind.max_duration is None else kind.max_duration),
                name=",".join(str(vehicle) for vehicle in range(first, first + count)),
            )
        )
        first += count
    return pyvrp.ProblemData(
        locations=[pyvrp.Location(0, 0)] * len(order),
        clients=[
            pyvrp.Client(node + depots - 1, [int(instance.demands[node])], [], service[node], *windows[node])
            for node in range(1, size + 1)
            if partners[node] == 0
        ],
        depots=[pyvrp.Depot(depot) for depot in range(depots)],
        vehicle_types=kinds,
        distance_matrices=[lengths],
        duration_matrices=[lengths],
        shipments=[
            pyvrp.Shipment(
                node + depots - 1,
                partner + depots - 1,
                *windows[node],
                service[node],
                *windows[partner],
                service[partner],
                [int(instance.demands[partner])],
            )
            for node in pickups
            for partner in [int(partners[node])]
        ],
    )


def in_thousandths(value: float) -> int:
    """Seconds in thousandths; a number that no sum reaches for infinity."""
    return _NO_BOUND if math.isinf(value) else round(1000 * value)


SOLVERS: dict[str, Callable[[Case, float, int], Solution]] = {"ours": solve_with_ours, "pyvrp": solve_with_pyvrp}


# Runs


@dataclass(frozen=True)
class Run:
    """One run: what it cost and took; no cost where the answer was wrong or missing, which the fault tells."""

    set_name: str
    instance: str
    solver: str
    seed: int
    seconds: float
    cost: float | None
    gap: float | None
    fault: str | None


def perform(case: Case, solver: str, seconds: float, seed: int) -> Run:
    """Run one solver on one instance, and judge the answer."""
    if solver == "ours":
        dynaroute.solve(case.instance, iterations=1, threads=1)  # compiles what it needs
    began = time.perf_counter()
    try:
        solution = SOLVERS[solver](case, seconds, seed)
        taken = time.perf_counter() - began
        violations = check(case.instance, solution)
        fault = violations[0].message if violations else None
    except Exception as error:  # a solver's failure is a result, not the end of the comparison
        taken, fault = time.perf_counter() - began, repr(error)
    cost = None if fault is not None else solution.cost(case.instance)
    gap = None if cost is None or math.isnan(case.best) else 100 * (cost / case.best - 1)
    return Run(case.set_name, case.file.stem, solver, seed, taken, cost, gap, fault)


def run_all(cases: Sequence[Case], options: argparse.Namespace) -> Iterator[Run]:
    """Run all, each in one of the processes, which count time as asked; runs come as they end."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    choices = product(cases, options.seeds, options.solvers)
    tasks = [(case, solver, options.seconds, seed) for case, seed, solver in choices]
    with multiprocessing.get_context("spawn").Pool(options.processes, prepare, (options.cpu,)) as pool:
        for run in pool.imap(perform_task, tasks):
            if run.fault is not None:
                print(f"{run.solver} on {run.instance}: {run.fault}", file=sys.stderr)
            yield run


def perform_task(task: tuple[Case, str, float, int]) -> Run:
    return perform(*task)


def prepare(is_cpu_time: bool) -> None:
    if is_cpu_time:
        count_cpu_time()


def count_cpu_time() -> None:
    """Let both solvers of this process see the time that it has spent on a core, instead of the time that went by."""
    from dynaroute.search import search

    time.perf_counter = time.process_time  # both solvers ask this clock
    search.Timer = CpuTimer  # type: ignore[attr-defined, assignment]


class CpuTimer(threading.Thread):
    """Calls a function once the process has spent so many seconds on a core; stands in for `threading.Timer`."""

    def __init__(self, seconds: float, function: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._end = time.process_time() + seconds
        self._function = function
        self._is_over = threading.Event()

    def run(self) -> None:
        """Wait, and look at the clock now and then."""
        while not self._is_over.wait(max(0.001, self._end - time.process_time())):
            if time.process_time() >= self._end:
                self._function()
                return

    def cancel(self) -> None:
        """Do not call the function any more."""
        self._is_over.set()


# Tables


def print_tables(cases: Sequence[Case], runs: Sequence[Run], options: argparse.Namespace) -> None:
    """The gap of each solver on each instance, and their means for each set."""
    clock = "CPU seconds of the process" if options.cpu else "seconds of one core"
    versions = f"Dynaroute {version('dynaroute')}, PyVRP {version('pyvrp')}"
    print(f"{options.seconds:g} {clock}, {len(options.seeds)} seed(s), {options.processes} at a time. {versions}.\n")
    titles = [f"{solver}, gap" for solver in options.solvers]
    print(f"| set | instance | customers | best known | {' | '.join(titles)} |\n|{'---|' * (4 + len(titles))}")
    for case in cases:
        cells = [tell_gap(runs, solver, case.set_name, case.file.stem) for solver in options.solvers]
        print(f"| {case.set_name} | {case.file.stem} | {case.instance.size} | {case.best:.10g} | {' | '.join(cells)} |")
    for name in dict.fromkeys(case.set_name for case in cases):
        count = sum(case.set_name == name for case in cases)
        cells = [tell_gap(runs, solver, name) for solver in options.solvers]
        print(f"| {name} | mean of {count} | | | {' | '.join(cells)} |")


def tell_gap(runs: Sequence[Run], solver: str, set_name: str, instance: str | None = None) -> str:
    """The mean gap of the runs that gave a right answer, and how many did not."""
    own = [run for run in runs if (run.solver, run.set_name) == (solver, set_name) and instance in {None, run.instance}]
    gaps = [run.gap for run in own if run.gap is not None]
    failed = sum(run.fault is not None for run in own)
    words = f"{statistics.fmean(gaps):.3f} %" if gaps else "-"
    return f"{words} ({failed} failed)" if failed else words


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each set")
    parser.add_argument("--sets", default=",".join(SETS), help=f"some of {', '.join(SETS)}")
    parser.add_argument("--instances", default="", help="names of instances, with commas; by default all")
    parser.add_argument("--every", type=int, default=1, help="only every such instance of a set, from the first")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for each run")
    parser.add_argument("--seeds", default="1", help="seeds, with commas")
    parser.add_argument("--solvers", default="ours,pyvrp", help="ours, pyvrp or both")
    parser.add_argument("--cpu", action="store_true", help="count CPU time of the process, for both solvers")
    parser.add_argument("--processes", type=int, default=1, help="runs at a time, each on one core")
    parser.add_argument("--json", type=Path, help="write every run there as it ends")
    parser.add_argument("--quick", action="store_true", help="two small instances, one second: it runs, no measurement")
    options = parser.parse_args()
    if options.quick:
        options.sets, options.instances, options.seconds = "Solomon,MDVRP", "C101,p01", 1.0
    options.sets, options.solvers = options.sets.split(","), options.solvers.split(",")
    options.instances = [name for name in options.instances.split(",") if name]
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    return options


def main() -> None:
    options = read_options()
    cases = list(list_cases(options.data, options.sets, options.instances, options.every))
    runs = []
    for run in run_all(cases, options):
        runs.append(run)
        if options.json is not None:  # as they end, so that what is cut short is not lost
            options.json.write_text(json.dumps([asdict(each) for each in runs], indent=1))
    print_tables(cases, runs, options)


if __name__ == "__main__":
    main()
