"""Compare the threads of one process with as many processes, on many instances at once.

    python benchmarks/cores.py                                   100 customers, 0.1 s each, on all cores
    python benchmarks/cores.py --cores 16 --count 640
    python benchmarks/cores.py --files X/*.vrp --best X/best_known.csv --seconds 10     one instance on several cores

With many instances, it prints the iterations per instance if one core searches them one after the other, if each of
several processes searches its share, and if the threads of one process do. Libraries and machine code are loaded before
the clock starts. With --files, it searches one instance at a time, and prints the mean gap to the best known costs on
one core, on all cores, and on one core with the time multiplied by the number of cores.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dynaroute
from dynaroute.base.machine import count_cores
from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_published_set
from dynaroute.problem.instance import Instance
from dynaroute.search.improvers import load_machine_code
from dynaroute.search.many import BatchSearchRequest, search_side_by_side


def count_iterations(instances: Sequence[Instance], seconds: float, threads: int) -> list[int]:
    """Search instances in threads of this process, and return the iterations of each."""
    request = BatchSearchRequest(instances, begin=lambda: Stopping.after(seconds))
    return [outcome.iterations for outcome in search_side_by_side(request, threads)]


def count_iterations_after(barrier: object, instances: Sequence[Instance], seconds: float, sent: object) -> None:
    """Do the same on one thread of another process, as soon as all processes are ready."""
    load_machine_code(["search", "teams"])
    barrier.wait()  # type: ignore[attr-defined]
    sent.put(count_iterations(instances, seconds, 1))  # type: ignore[attr-defined]


def count_iterations_in_processes(instances: Sequence[Instance], seconds: float, processes: int) -> list[int]:
    context = multiprocessing.get_context("spawn")
    barrier, sent = context.Barrier(processes), context.Queue()
    shares = [instances[first::processes] for first in range(processes)]
    workers = [context.Process(target=count_iterations_after, args=(barrier, share, seconds, sent)) for share in shares]
    for worker in workers:
        worker.start()
    counts = [sent.get() for _ in workers]
    for worker in workers:
        worker.join()
    return [count for share in counts for count in share]


def compare_many(arguments: argparse.Namespace) -> None:
    instances = draw_published_set(arguments.size, arguments.count, seed=99).instances()
    seconds, cores = arguments.seconds, arguments.cores
    alone = np.mean(count_iterations(instances[: max(2, len(instances) // cores)], seconds, 1))
    processes = np.mean(count_iterations_in_processes(instances, seconds, cores))
    threads = np.mean(count_iterations(instances, seconds, cores))
    print(f"{len(instances)} instances of {arguments.size} customers, {seconds:g} s each; iterations per instance:")
    print(f"one thread {alone:,.0f}; {cores} processes {processes:,.0f}; {cores} threads {threads:,.0f}")
    print(f"threads / processes {threads / processes:.2f}; {cores} threads do {cores * threads / alone:.2f} x one")


def compare_one(arguments: argparse.Namespace) -> None:
    with arguments.best.open(newline="") as file:
        best = {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(file)}
    ways = [(1, 1), (arguments.cores, 1), (1, arguments.cores)]  # threads, and factor of the time
    gaps: list[list[float]] = [[] for _ in ways]
    for path in arguments.files:
        instance = dynaroute.read(path)
        assert isinstance(instance, Instance)
        for row, (threads, times) in zip(gaps, ways, strict=True):
            found = dynaroute.solve(instance, time_limit=times * arguments.seconds, threads=threads, seed=1)
            row.append(100 * (found.cost / best[instance.name] - 1))
        print(f"{instance.name:16}", "  ".join(f"{row[-1]:.2f}" for row in gaps), flush=True)
    for row, (threads, times) in zip(gaps, ways, strict=True):
        print(f"{threads} cores, {times * arguments.seconds:g} s: {np.mean(row):.3f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cores", type=int, default=count_cores(), help="number of threads or processes")
    parser.add_argument("--size", type=int, default=100, help="customers per instance, without --files")
    parser.add_argument("--count", type=int, default=200, help="number of instances, without --files")
    parser.add_argument("--seconds", type=float, default=0.1, help="time of each search")
    parser.add_argument("--files", nargs="*", default=[], help="instances to search one at a time")
    parser.add_argument("--best", type=Path, help="CSV with the columns name and best_known_cost, for --files")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.count = 20
    load_machine_code(["search"])
    if arguments.files:
        compare_one(arguments)
    else:
        compare_many(arguments)


if __name__ == "__main__":
    main()
