"""Compare Dynaroute with HGS-CVRP (hygese), PyVRP and OR-Tools: the same instances, the same time, one core each.

    python benchmarks/peers.py                                  first 100 published instances, 100 customers
    python benchmarks/peers.py --files X/*.vrp --best X/best_known.csv --limits 10,60
    python benchmarks/peers.py --solvers ours,hgs --count 20 --json runs.json --picture runs.png

For each time limit, every solver starts again on every instance, in a process that is bound to one core and has loaded
(and, for ours, compiled) everything before. Run nothing else on the machine: HGS measures CPU time, the others wall
time. `dynaroute.check` verifies every result; late, wrong and missing results are counted, not hidden. Gaps are to the
best known costs: those of --best, and those found in this run.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dynaroute
from dynaroute.draw import draw_published_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import earliest_departure, latest_end
from dynaroute.study.other_solvers import HGS_UNITS, UNITS, Routes, solve_with_hgs

_GRACE_SECONDS = 0.05
_NO_BOUND = 2**40


def solve_with_ours(instance: Instance, seconds: float, seed: int) -> Routes:
    return dynaroute.solve(instance, time_limit=seconds, threads=1, seed=seed).solution.routes


def solve_with_pyvrp(instance: Instance, seconds: float, seed: int) -> Routes:
    import pyvrp
    from pyvrp.stop import MaxRuntime

    data = model_for_pyvrp(instance)
    result = pyvrp.solve(data, stop=MaxRuntime(seconds), seed=seed, collect_stats=False, display=False)
    return [read_pyvrp_route(route) for route in result.best.routes()]


def model_for_pyvrp(instance: Instance) -> Any:
    """An instance in whole numbers, as PyVRP takes it: open routes have a way back that is free and takes no time."""
    import pyvrp

    places = instance.coordinates if instance.coordinates is not None else np.zeros((instance.size + 1, 2))
    matrix: Any = in_whole_numbers(instance)  # its stubs know no such arrays
    numbers = FleetNumbers.of(instance)
    profiles = ["depot", "open"]
    return pyvrp.ProblemData(
        locations=[pyvrp.Location(float(x), float(y)) for x, y in places],
        clients=[
            pyvrp.Client(
                node,
                delivery=[int(instance.demands[node]), 1],
                service_duration=numbers.service[node],
                tw_early=numbers.windows[node][0],
                tw_late=numbers.windows[node][1],
            )
            for node in range(1, instance.size + 1)
        ],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[
            pyvrp.VehicleType(
                instance.size if kind.count is None else kind.count,
                capacity=[*kind.capacities, kind.max_stops or instance.size],
                tw_early=numbers.round_up(earliest_departure(instance, kind)),
                tw_late=numbers.round_down(latest_end(instance, kind)),
                shift_duration=numbers.round_down(kind.max_duration or math.inf),
                max_distance=numbers.measure_down(kind.max_distance or math.inf),
                profile=profiles.index(kind.end),
            )
            for kind in instance.fleet
        ],
        distance_matrices=[matrix, without_way_back(matrix)],
        duration_matrices=[numbers.durations, without_way_back(numbers.durations)],
    )


def without_way_back(matrix: Any) -> Any:
    open_ended = matrix.copy()
    open_ended[:, 0] = 0
    return open_ended


@dataclass(frozen=True)
class FleetNumbers:
    """The times and limits of an instance for solvers that want integers, rounded so that plans keep the real ones."""

    distance_scale: float
    time_scale: float
    durations: Any
    service: list[int]
    windows: list[tuple[int, int]]

    @classmethod
    def of(cls, instance: Instance) -> FleetNumbers:
        """Times rounded up, bounds rounded down."""
        nodes, size = np.arange(instance.size + 1), instance.size + 1
        scale = choose_scale(instance)
        time_scale = scale if instance.durations is None else choose_time_scale(instance)
        durations = np.zeros((size, size), dtype=np.int64)
        if instance.has_times:
            exact = instance.leg_durations(nodes[:, None], nodes) * time_scale
            durations = np.ceil(exact - 1e-6).astype(np.int64)
        service = np.zeros(size) if instance.service is None else instance.service
        windows = np.tile([0.0, np.inf], (size, 1)) if instance.windows is None else instance.windows
        bounds = [(math.ceil(early * time_scale), whole(late, time_scale)) for early, late in windows.tolist()]
        return cls(scale, time_scale, durations, np.ceil(service * time_scale).astype(int).tolist(), bounds)

    def round_up(self, time: float) -> int:
        """The earliest whole time that is not before this one."""
        return math.ceil(time * self.time_scale)

    def round_down(self, time: float) -> int:
        """The latest whole time, or duration, that is not beyond this one."""
        return whole(time, self.time_scale)

    def measure_down(self, length: float) -> int:
        """The longest whole length that is not beyond this one."""
        return whole(length, self.distance_scale)


def whole(value: float, scale: float) -> int:
    """A bound in whole numbers; one that no sum reaches for infinity."""
    return _NO_BOUND if math.isinf(value) else math.floor(value * scale + 1e-6)


def read_pyvrp_route(route: Any) -> list[int]:
    return [activity.idx + 1 for activity in route if activity.is_client()]


def solve_with_ortools(instance: Instance, seconds: float, seed: int) -> Routes:
    del seed  # it has none
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    kinds = list_vehicles(instance)
    vehicles = len(kinds)
    manager = pywrapcp.RoutingIndexManager(instance.size + 1, vehicles, 0)
    routing = pywrapcp.RoutingModel(manager)
    if instance.is_plain:
        routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(in_whole_numbers(instance).tolist()))
    else:
        add_limits(routing, manager, instance, kinds)
    demands = routing.RegisterUnaryTransitVector(instance.demands.tolist())
    routing.AddDimensionWithVehicleCapacity(demands, 0, [kind.capacity for kind in kinds], True, "load")
    settings = pywrapcp.DefaultRoutingSearchParameters()
    settings.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.AUTOMATIC
    settings.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    settings.time_limit.FromMilliseconds(round(1000 * seconds))
    found = routing.SolveWithParameters(settings)
    if found is None:
        return []
    routes = []
    for vehicle in range(vehicles):
        route, index = [], found.Value(routing.NextVar(routing.Start(vehicle)))
        while not routing.IsEnd(index):
            route.append(manager.IndexToNode(index))
            index = found.Value(routing.NextVar(index))
        routes.append(route)
    return routes


def list_vehicles(instance: Instance) -> list[VehicleType]:
    """Each vehicle that may be used: where there is no end of them, a few more than load alone needs, or one each."""
    plenty = math.ceil(1.3 * instance.minimum_routes) + 3 if instance.is_plain else instance.size
    return [kind for kind in instance.fleet for _ in range(min(instance.size, kind.count or plenty))]


def add_limits(routing: Any, manager: Any, instance: Instance, kinds: Sequence[VehicleType]) -> None:
    """Lengths, times and limits for OR-Tools; the way back of open routes is free and takes no time."""
    numbers, lengths = FleetNumbers.of(instance), in_whole_numbers(instance)
    legs = {"depot": lengths, "open": without_way_back(lengths)}
    service = np.array(numbers.service)[:, None]
    taken = {"depot": numbers.durations + service, "open": without_way_back(numbers.durations) + service}
    ways = {end: routing.RegisterTransitMatrix(matrix.tolist()) for end, matrix in legs.items()}
    times = {end: routing.RegisterTransitMatrix(matrix.tolist()) for end, matrix in taken.items()}
    for vehicle, kind in enumerate(kinds):
        routing.SetArcCostEvaluatorOfVehicle(ways[kind.end], vehicle)
    limits = [numbers.measure_down(kind.max_distance or math.inf) for kind in kinds]
    routing.AddDimensionWithVehicleTransitAndCapacity([ways[kind.end] for kind in kinds], 0, limits, True, "length")
    stops = routing.RegisterUnaryTransitVector([0] + [1] * instance.size)
    routing.AddDimensionWithVehicleCapacity(
        stops, 0, [kind.max_stops or instance.size for kind in kinds], True, "stops"
    )
    if not instance.has_times:
        return
    ends = [numbers.round_down(latest_end(instance, kind)) for kind in kinds]
    routing.AddDimensionWithVehicleTransitAndCapacity(
        [times[kind.end] for kind in kinds], _NO_BOUND, [_NO_BOUND] * len(kinds), False, "time"
    )
    time = routing.GetDimensionOrDie("time")
    for node in range(1, instance.size + 1):
        time.CumulVar(manager.NodeToIndex(node)).SetRange(*numbers.windows[node])
    for vehicle, kind in enumerate(kinds):
        time.CumulVar(routing.Start(vehicle)).SetMin(numbers.round_up(earliest_departure(instance, kind)))
        time.CumulVar(routing.End(vehicle)).SetMax(ends[vehicle])
        if kind.max_duration is not None:
            time.SetSpanUpperBoundForVehicle(numbers.round_down(kind.max_duration), vehicle)


def choose_scale(instance: Instance) -> float:
    """How many whole units a unit of length has: as they are, or so that an instance extends over 10,000 or more."""
    matrix = instance.distance_matrix
    if (matrix == matrix.round()).all():
        return 1.0
    if instance.is_plain:
        extent = matrix.max() if instance.coordinates is None else np.ptp(instance.coordinates, axis=0).max()
        return float(UNITS / extent)
    return float(10.0 ** math.floor(math.log10(10 * UNITS / matrix.max())))  # so that windows stay whole numbers


def choose_time_scale(instance: Instance) -> float:
    assert instance.durations is not None
    return float(10.0 ** math.floor(math.log10(10 * UNITS / max(instance.durations.max(), 1e-9))))


def in_whole_numbers(instance: Instance) -> NDArray[np.int64]:
    """Distances for solvers that want integers: as they are, or in ten-thousandths of an instance's extent."""
    matrix: NDArray[np.float64] = instance.distance_matrix
    scaled: NDArray[np.int64] = np.rint(matrix * choose_scale(instance)).astype(np.int64)
    return scaled


@dataclass(frozen=True)
class Contender:
    """A solver, where its version is found, and how it is set."""

    name: str
    package: str
    settings: str
    solve: Callable[[Instance, float, int], Routes]

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} ({self.package} {version(self.package)})"


CONTENDERS = {
    "ours": Contender("Dynaroute", "dynaroute", "solve(time_limit=..., threads=1)", solve_with_ours),
    "hgs": Contender("HGS-CVRP", "hygese", f"defaults; decimals at {HGS_UNITS} units", solve_with_hgs),
    "pyvrp": Contender("PyVRP", "pyvrp", f"defaults; decimals at {UNITS} units", solve_with_pyvrp),
    "ortools": Contender(
        "OR-Tools",
        "ortools",
        f"automatic first solution, guided local search; decimals at {UNITS} units",
        solve_with_ortools,
    ),
}


@dataclass(frozen=True)
class Task:
    """One run to be made."""

    instance: Instance
    solver: str
    limit: float
    seed: int


@dataclass(frozen=True)
class Run:
    """One run: what it cost and took; no cost where the answer was missing or wrong, which the fault tells."""

    solver: str
    instance: str
    limit: float
    seconds: float
    cost: float | None
    fault: str | None


def perform(task: Task) -> Run:
    """Run one solver on one instance, and judge the answer."""
    began = time.perf_counter()
    try:
        routes = CONTENDERS[task.solver].solve(task.instance, task.limit, task.seed)
        fault = None
    except Exception as error:  # a peer's failure is a result, not the end of the comparison
        routes, fault = [], repr(error)
    seconds = time.perf_counter() - began
    solution = Solution(tuple(map(tuple, routes)))
    if fault is None and (violations := check(task.instance, solution)):
        fault = violations[0].message
    cost = None if fault is not None else solution.cost(task.instance)
    return Run(task.solver, task.instance.name, task.limit, seconds, cost, fault)


def prepare(solvers: Sequence[str], examples: Sequence[Instance], cores: Any) -> None:
    """Bind a process to a core of its own, and load and compile everything before the first run."""
    core = cores.get()
    os.sched_setaffinity(0, {core})
    for solver in solvers:
        for example in examples:
            for limit in (0.05, 0.2):
                CONTENDERS[solver].solve(example, limit, 0)


def perform_all(
    tasks: Sequence[Task], solvers: Sequence[str], processes: int, examples: Sequence[Instance]
) -> Iterator[Run]:
    """Run all, each in a process on a core of its own that has solved the examples before; they come as they end."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    context = multiprocessing.get_context("spawn")
    cores = context.Queue()
    for core in sorted(os.sched_getaffinity(0))[:processes]:
        cores.put(core)
    with context.Pool(processes, prepare, (solvers, examples, cores)) as pool:
        for run in pool.imap_unordered(perform, tasks):
            if run.fault is not None:
                print(f"{run.solver} on {run.instance} in {run.limit} s: {run.fault}", file=sys.stderr)
            yield run


def read_instances(options: argparse.Namespace) -> list[Instance]:
    if options.files:
        return [dynaroute.read(file) for file in options.files]
    published = draw_published_set(options.size, 10_000, options.seed).instances()[: options.count]
    return [rename(instance, f"{options.size}-{options.seed}-{number}") for number, instance in enumerate(published)]


def rename(instance: Instance, name: str) -> Instance:
    return Instance(instance.coordinates, instance.demands, instance.capacity, name=name)


def read_best(file: Path | None) -> dict[str, float]:
    """Best known costs by instance: a .csv with the columns name and best_known_cost, or a .json of an earlier run."""
    if file is None:
        return {}
    if file.suffix == ".csv":
        with file.open(newline="") as lines:
            return {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(lines)}
    best: dict[str, float] = json.loads(file.read_text())["best"]
    return best


def add_found(best: dict[str, float], runs: Iterable[Run]) -> dict[str, float]:
    """Best known costs and those that were found."""
    known = dict(best)
    for run in runs:
        if run.cost is not None:
            known[run.instance] = min(run.cost, known.get(run.instance, math.inf))
    return known


@dataclass(frozen=True)
class Row:
    """A solver at a time limit, over all instances."""

    solver: str
    limit: float
    mean_cost: float
    mean_gap: float
    median_gap: float
    late: int
    failed: int


def sum_up(runs: Sequence[Run], best: dict[str, float]) -> list[Row]:
    groups: defaultdict[tuple[float, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.limit, run.solver].append(run)
    rows = []
    for (limit, solver), group in sorted(groups.items(), key=lambda entry: entry[0][0]):
        costs = {run.instance: run.cost for run in group if run.cost is not None}
        if not costs:
            rows.append(Row(solver, limit, math.nan, math.nan, math.nan, 0, len(group)))
            continue
        mean, gaps = statistics.fmean(costs.values()), [100 * (cost / best[name] - 1) for name, cost in costs.items()]
        late = sum(run.seconds > limit + _GRACE_SECONDS for run in group)
        failed = len(group) - len(costs)
        rows.append(Row(solver, limit, mean, statistics.fmean(gaps), statistics.median(gaps), late, failed))
    return rows


def print_table(rows: Sequence[Row], solvers: Sequence[str], count: int, processes: int) -> None:
    print(f"{count} instances, {processes} at a time, one core each.\n")
    for solver in solvers:
        print(f"- {CONTENDERS[solver].title}: {CONTENDERS[solver].settings}")
    print("\n| time | solver | mean cost | mean gap | median gap | late | failed |\n|---|---|---|---|---|---|---|")
    for row in rows:
        name = CONTENDERS[row.solver].name
        gaps = f"{row.mean_gap:.2f} % | {row.median_gap:.2f} %"
        print(f"| {row.limit:g} s | {name} | {row.mean_cost:.4f} | {gaps} | {row.late} | {row.failed} |")


def draw_picture(rows: Sequence[Row], solvers: Sequence[str], file: Path) -> None:
    """Quality over time: one line a solver, one point a time limit."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for solver in solvers:
        points = [(row.limit, max(row.mean_gap, 1e-3)) for row in rows if row.solver == solver]
        ax.plot(*zip(*points, strict=True), marker="o", label=CONTENDERS[solver].title)
    ax.set(xscale="log", yscale="log", xlabel="seconds of one core", ylabel="gap to the best known, %")
    ax.grid(visible=True, which="both", alpha=0.3)
    ax.legend()
    figure.savefig(file, dpi=150)
    plt.close(figure)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="*", type=Path, help="instance files, instead of the published set")
    parser.add_argument("--size", type=int, default=100, help="customers of the published set")
    parser.add_argument("--count", type=int, default=100, help="how many of the published set, from the first")
    parser.add_argument("--seed", type=int, default=1234, help="seed of the published set")
    parser.add_argument("--limits", default="0.1,0.5,2", help="time limits in seconds, with commas")
    parser.add_argument("--solvers", default="ours,hgs,pyvrp,ortools", help=f"some of {', '.join(CONTENDERS)}")
    parser.add_argument("--processes", type=int, default=1, help="runs at a time, each on a core of its own")
    parser.add_argument("--best", type=Path, help="best known costs: .csv, or the .json of an earlier run")
    parser.add_argument("--json", type=Path, help="write every run there")
    parser.add_argument("--picture", type=Path, help="draw quality over time there (.png)")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    options = parser.parse_args()
    if options.quick:
        options.count, options.limits = 3, "0.5"
    return options


def main() -> None:
    options = read_options()
    solvers, limits = options.solvers.split(","), [float(limit) for limit in options.limits.split(",")]
    instances = read_instances(options)
    # solvers side by side, so that whatever else the machine does hits all of them alike
    tasks = [
        Task(instance, solver, limit, seed)
        for limit in limits
        for seed, instance in enumerate(instances)
        for solver in solvers
    ]
    runs = list(perform_all(tasks, solvers, options.processes, draw_published_set(10, 1, 1).instances()))
    best = add_found(read_best(options.best), runs)
    rows = sum_up(runs, best)
    print_table(rows, solvers, len(instances), options.processes)
    if options.json is not None:
        document = {"best": best, "rows": [asdict(row) for row in rows], "runs": [asdict(run) for run in runs]}
        options.json.write_text(json.dumps(document, indent=1))
    if options.picture is not None:
        draw_picture(rows, solvers, options.picture)


if __name__ == "__main__":
    main()
