"""Measure how good solutions get in a given time: many searches on CPU cores, side by side in one command.

    python benchmarks/bars.py DATA                                    everything, on all cores; about 8 minutes on 16
    python benchmarks/bars.py DATA --part x n100 belgium              some parts; runs on one core are side by side
    python benchmarks/bars.py DATA --part x --source OLDER/src        the same with another version of the package

DATA has the folders X and XXL, each with .vrp files and best_known.csv. Results are JSON lines: one per run and one per
part, with the mean gap to the best known costs in percent. Readable tables go to standard error. The parts are:

    x        every instance of X, 30 s on one core
    n100     100 instances of 100 customers, 1 s on one core; the mean length
    belgium  every instance of XXL, 100 s on one core
    large    30,000 customers, 150 s on one core; the gap is to what all cores then find in 240 s
    one      ten instances of X with 300 to 1,000 customers, 60 s on one core
    all      the same ten, one after the other, 20 s each on all cores
    seconds  six instances of X, with --fast, and with a tenth, a third and all of the usual time of `dynaroute solve`
    cores    iterations per instance in threads and in as many processes: cores.py

Libraries and machine code are loaded before any clock starts, and `dynaroute.check` checks every solution. --scale
shortens all times, for a quick check that everything runs.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np

PARTS = ("x", "n100", "belgium", "large", "one", "all", "seconds", "cores")
_SHARED = (  # 300 to 1,000 customers, with short and long routes
    "X-n308-k13",
    "X-n351-k40",
    "X-n401-k29",
    "X-n439-k37",
    "X-n502-k39",
    "X-n573-k30",
    "X-n655-k131",
    "X-n749-k98",
    "X-n856-k95",
    "X-n979-k58",
)
_SECONDS = ("X-n101-k25", "X-n204-k19", "X-n401-k29", "X-n599-k92", "X-n783-k48", "X-n979-k58")
_DRAWN, _LARGE = "uniform", "large"  # instances that are drawn, not read from files


@dataclass(frozen=True)
class Run:
    """One search.

    Attributes
    ----------
    part, instance
        Its part, and the instance: a file, or the name of a drawn instance.
    seconds
        Its time limit; 0 for a policy or savings without a search.
    threads
        Number of cores.
    """

    part: str
    instance: str
    seconds: float
    threads: int = 1


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    cost: float
    iterations: int


def prepare() -> None:
    """Load libraries and machine code."""
    from dynaroute.search.improvers import load_machine_code

    load_machine_code(["search", "large", "teams", "limits"])


def work(run: Run) -> tuple[Run, Found]:
    """Search, and check the solution."""
    import dynaroute
    from dynaroute.base.stopping import Stopping
    from dynaroute.search.search import search

    instance = load(run.instance)
    if run.seconds == 0:
        result = dynaroute.solve(instance)
        solution, iterations = result.solution, 0
    else:
        outcome = search(instance, None, Stopping.after(run.seconds), seed=1, threads=run.threads)
        solution, iterations = outcome.solution, outcome.iterations
    if violations := dynaroute.check(instance, solution):
        raise SystemExit(f"{run.instance}: {violations[0].message}")
    return run, Found(float(solution.cost(instance)), iterations)


def load(name: str):  # type: ignore[no-untyped-def]  # --source chooses the package, and with it the type
    """Read or draw an instance."""
    import dynaroute
    from dynaroute.draw import draw_published_set

    if name == _LARGE:
        return draw_large()
    if name.startswith(_DRAWN):
        return draw_published_set(100, 100, seed=99).instances()[int(name.removeprefix(_DRAWN))]
    return dynaroute.read(name)


def draw_large(size: int = 30_000):  # type: ignore[no-untyped-def]
    """Draw towns of all sizes with a depot at the edge, small demands, and about 118 customers per route."""
    from dynaroute.problem.instance import Instance

    random = np.random.default_rng(30_000)
    towns, sizes = random.uniform(0, 20_000, (400, 2)), 1 / np.arange(1, 401)
    chosen = random.choice(400, size + 1, p=sizes / sizes.sum())
    away = random.exponential(300 + 40_000 * sizes[chosen] ** 0.5 / 10)
    angles = random.uniform(0, 2 * np.pi, size + 1)
    places = towns[chosen] + away[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    is_alone = random.random(size + 1) < 0.25
    places[is_alone] = random.uniform(0, 20_000, (int(is_alone.sum()), 2))
    places[0] = (1_000, 10_000)
    demands = random.choice([1, 2, 3], size + 1, p=[0.5, 0.3, 0.2])
    demands[0] = 0
    return Instance(np.round(places), demands, 200, rounding="nearest", name="large")


def read_best(folder: Path) -> dict[str, float]:
    with (folder / "best_known.csv").open(newline="") as file:
        return {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(file)}


def count_customers(path: Path) -> int:
    """Read the number of customers from a file name of the X set."""
    return int(path.stem.split("-")[1].removeprefix("n")) - 1


def list_runs(arguments: argparse.Namespace) -> list[Run]:
    """List the runs on one core, the longest first."""
    x, xxl = arguments.data / "X", arguments.data / "XXL"
    runs = [Run("x", str(path), 30) for path in sorted(x.glob("*.vrp"))]
    runs += [Run("n100", f"{_DRAWN}{index}", 1) for index in range(100)]
    runs += [Run("belgium", str(path), 100) for path in sorted(xxl.glob("*.vrp"))]
    runs += [Run("large", _LARGE, 150)]
    runs += [Run("one", str(path), 60) for path in list_shared(arguments)]
    for path in (x / f"{name}.vrp" for name in _SECONDS):
        runs += [Run("seconds", str(path), share * count_customers(path) / 100) for share in (0, 0.1, 1 / 3, 1)]
    chosen = [run for run in runs if run.part in arguments.part]
    return sorted(chosen, key=lambda run: -run.seconds)


def list_shared(arguments: argparse.Namespace) -> list[Path]:
    paths = (arguments.data / "X" / f"{name}.vrp" for name in _SHARED)
    return [path for path in paths if path.exists()]


def list_runs_of_all_cores(arguments: argparse.Namespace) -> list[Run]:
    """List the runs on all cores, which have the machine to themselves."""
    runs = [Run("all", str(path), 20, arguments.cores) for path in list_shared(arguments)]
    if "large" in arguments.part:
        runs.append(Run("large", _LARGE, 240, arguments.cores))
    return [run for run in runs if run.part in arguments.part]


def run_side_by_side(runs: Sequence[Run], processes: int) -> Iterator[tuple[Run, Found]]:
    if not runs:
        return
    with multiprocessing.get_context("spawn").Pool(min(processes, len(runs)), prepare) as pool:
        yield from pool.imap_unordered(work, runs)


def report(arguments: argparse.Namespace, results: Iterable[tuple[Run, Found]]) -> None:
    """Print each result as it arrives, then the mean of each part."""
    best = read_best(arguments.data / "X") | read_best(arguments.data / "XXL")
    gathered = []
    for run, found in results:
        gathered.append((run, found))
        print(json.dumps(asdict(run) | asdict(found) | tell_gap(run, found, best)), flush=True)
    if large := [(run, found) for run, found in gathered if run.part == "large"]:
        best["large"] = min(found.cost for _, found in large)
    print_seconds([(run, found) for run, found in gathered if run.part == "seconds"], best)
    for part, threads in sorted({(run.part, run.threads) for run, _ in gathered} - {("seconds", 1)}):
        mine = [(run, found) for run, found in gathered if (run.part, run.threads) == (part, threads)]
        print_part(part, threads, mine, best)


def tell_gap(run: Run, found: Found, best: dict[str, float]) -> dict[str, float]:
    known = best.get(Path(run.instance).stem)
    return {} if known is None else {"gap": round(100 * (found.cost / known - 1), 4)}


def print_part(part: str, threads: int, results: Sequence[tuple[Run, Found]], best: dict[str, float]) -> None:
    costs = [found.cost for _, found in results]
    summary = {"part": part, "threads": threads, "count": len(costs), "mean_cost": float(np.mean(costs))}
    gaps = {Path(run.instance).stem: tell_gap(run, found, best).get("gap") for run, found in results}
    known = {name: gap for name, gap in gaps.items() if gap is not None}
    if known:
        summary["mean_gap"] = round(float(np.mean(list(known.values()))), 4)
    print(json.dumps(summary), flush=True)
    each = ", ".join(f"{name} {gap:.2f}" for name, gap in sorted(known.items()))
    print(", ".join(f"{key} {value}" for key, value in summary.items()) + f" ({each})", file=sys.stderr)


def print_seconds(results: Sequence[tuple[Run, Found]], best: dict[str, float]) -> None:
    """Print the table of docs/results.md."""
    names = sorted({Path(run.instance).stem for run, _ in results})
    rows = []
    for name in names:
        mine = sorted((run.seconds, found) for run, found in results if Path(run.instance).stem == name)
        rows.append([100 * (found.cost / best[name] - 1) for _, found in mine])
        print(f"| {name} | " + " | ".join(f"{gap:.2f} %" for gap in rows[-1]) + " |", file=sys.stderr)
    if rows:
        means = np.mean(rows, axis=0).round(4).tolist()
        print("| mean | " + " | ".join(f"{gap:.2f} %" for gap in means) + " |", file=sys.stderr)
        print(json.dumps({"part": "seconds", "mean_gaps": means}), flush=True)


def shorten(run: Run, scale: float) -> Run:
    return Run(run.part, run.instance, run.seconds * scale, run.threads)


def count_own_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder with X and XXL")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--source", type=Path, help="folder with the package dynaroute, such as src of another commit")
    parser.add_argument("--cores", type=int, default=count_own_cores(), help="number of cores for one instance")
    parser.add_argument("--processes", type=int, help="simultaneous runs on one core; by default two fewer than cores")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for all times")
    parser.add_argument("--quick", action="store_true", help="only the part cores, to check that it runs")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.part, arguments.data = ("cores",), arguments.data or Path()
    if arguments.data is None:
        parser.error("give the folder with the instances, which has X and XXL")
    return arguments


def main() -> None:
    arguments = read_arguments()
    if arguments.source is not None:
        os.environ["PYTHONPATH"] = str(arguments.source.resolve())
        sys.path.insert(0, os.environ["PYTHONPATH"])
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # otherwise PyTorch would start threads in each of many processes
    prepare()  # compile once, before many processes need it
    import dynaroute

    print(json.dumps({"package": str(Path(dynaroute.__file__).parent), "cores": arguments.cores}), flush=True)
    processes = arguments.processes or max(1, arguments.cores - 2)
    alone = [shorten(run, arguments.scale) for run in list_runs(arguments)]
    together = [shorten(run, arguments.scale) for run in list_runs_of_all_cores(arguments)]
    if alone or together:
        report(arguments, chain(run_side_by_side(alone, processes), run_side_by_side(together, 1)))
    if "cores" in arguments.part:
        program = Path(__file__).parent / "cores.py"
        count = str(max(20, int(640 * arguments.scale)))
        command = [sys.executable, str(program), "--cores", str(arguments.cores), "--count", count]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, file=sys.stderr)


if __name__ == "__main__":
    main()
