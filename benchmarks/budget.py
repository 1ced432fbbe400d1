"""Whether every path of `solve` keeps its budget on odd shapes of problems; prints a table, and exits with 1 if not.

    python benchmarks/budget.py [--only TEXT] [--limit 5] [--quick]

Allowed are half a second beyond the time limit, a second after cancelling, and 500 MB more than the same problem takes
with one type of vehicle. A path without a time limit is cancelled only. Each shape runs in a process of its own, which
is killed if it does not end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty
from typing import Any, get_args

import numpy as np

from dynaroute import Instance, Solution, VehicleType, check, solve
from dynaroute.base.errors import DynarouteError
from dynaroute.base.vocabulary import RouteEnd
from dynaroute.search.improvers import UsualCode, load_machine_code

USUAL_LIMIT, QUICK_LIMIT = 5.0, 0.5  # seconds
MOST_LATE, MOST_AFTER_CANCELLING = 0.5, 1.0  # seconds
MOST_MEMORY = 500_000_000  # bytes
LARGEST_TO_CHECK = 5_000  # customers
PATIENCE = 120.0  # seconds for one path; then it counts as endless
LIMITS = ("time_limit", "total_time")
SEARCHES: dict[str, dict[str, Any]] = {  # the time limit is filled in
    "search": {"time_limit": None},
    "search, fewest vehicles": {"time_limit": None, "objective": "vehicles"},
    "search, two cores": {"time_limit": None, "threads": 2},
    "search, in all": {"total_time": None},
    "search, iterations": {"iterations": 10**9},
}
WAYS: dict[str, dict[str, Any]] = {
    **SEARCHES,
    "savings or insertion": {"model": "savings"},
    "policy": {"model": "amd-100", "augment": True},
    "policy, then search": {"model": "amd-100", "augment": True, "time_limit": None},
    "best of policy and savings": {},
    "2opt": {"model": "savings", "improve": "2opt"},
    "local": {"model": "savings", "improve": "local"},
}


@dataclass(frozen=True)
class Shape:
    """A kind of problem.

    Attributes
    ----------
    name
        What is odd about it.
    make
        Makes one.
    """

    name: str
    make: Callable[[], Instance]


@dataclass(frozen=True)
class Finding:
    """How a path kept its budget.

    Attributes
    ----------
    way
        The path.
    late
        Seconds beyond the time limit; None without one.
    after_cancelling
        Seconds until it ended.
    memory
        Bytes more than with one type of vehicle.
    """

    way: str
    late: float | None
    after_cancelling: float
    memory: int

    def list_faults(self, slack: float = 1.0) -> list[str]:
        """List what is over budget; times may be `slack` times as long."""
        faults = []
        if self.late is not None and self.late > slack * MOST_LATE:
            faults.append(f"{self.late:.2f} s late")
        if self.after_cancelling > slack * MOST_AFTER_CANCELLING:
            faults.append(f"cancelling takes {self.after_cancelling:.2f} s")
        if self.memory > MOST_MEMORY:
            faults.append(f"{self.memory / 1e6:.0f} MB more")
        return faults


# Shapes


def make_problem(size: int, *vehicles: VehicleType, **given: Any) -> Instance:
    """Make random customers with a demand of 1."""
    points = np.round(np.random.default_rng(size).uniform(0, 1000, (size + 1, 2)))
    capacity = given.pop("capacity", 1)
    return Instance(points, np.r_[0, np.ones(size, dtype=int)], capacity, vehicles=vehicles or None, **given)


def list_alike(count: int, **given: Any) -> list[VehicleType]:
    """List vehicles that only differ in their names."""
    return [VehicleType(name=f"van {number}", count=1, **({"capacity": 3} | given)) for number in range(count)]


def list_different(count: int, each: int = 1) -> list[VehicleType]:
    """List types of vehicles of which no two have the same limits."""
    ends: tuple[RouteEnd, RouteEnd] = ("open", "depot")
    return [
        VehicleType(2 + number % 7, f"van {number}", each, max_distance=4000.0 + number, end=ends[number % 2])
        for number in range(count)
    ]


def make_detours(size: int) -> Instance:
    """Make a matrix in which no direct leg is short enough, and nobody can tell without trying paths."""
    distances = np.random.default_rng(0).integers(50, 100, (size + 1, size + 1)).astype(float)
    return Instance(
        None, np.r_[0, np.ones(size, dtype=int)], 1, "", distances, vehicles=(VehicleType(9, max_distance=30),)
    )


def make_narrow_windows(size: int) -> Instance:
    """Make customers who all want to be served at the same minute, by two vehicles."""
    windows = np.tile([5000.0, 5060.0], (size + 1, 1))
    windows[0] = 0.0, 10_000.0
    return make_problem(size, VehicleType(size, count=2), windows=windows, speed=1.0)


SHAPES = (
    Shape("3 customers, 1,000 vehicles alike", lambda: make_problem(3, *list_alike(1000))),
    Shape("6 customers, 20 types", lambda: make_problem(6, *list_different(20))),
    Shape("6 customers, 1,000 types", lambda: make_problem(6, *list_different(1000))),
    Shape("300 customers, 1,000 types", lambda: make_problem(300, *list_different(1000))),
    Shape("one customer", lambda: make_problem(1, capacity=5)),
    Shape("one customer, 1,000 types", lambda: make_problem(1, *list_different(1000))),
    Shape("200 customers, no feasible plan", lambda: make_narrow_windows(200)),
    Shape("3,000 customers, no feasible plan", lambda: make_narrow_windows(3000)),
    Shape("2,000 customers, detours too long", lambda: make_detours(2000)),
    Shape("2,000 customers on one route", lambda: make_problem(2000, capacity=2000)),
    Shape("4,900 customers on one route", lambda: make_problem(4900, capacity=4900)),
    Shape("10,000 customers on one route", lambda: make_problem(10_000, capacity=10_000)),
    Shape("10,000 customers, one vehicle", lambda: make_problem(10_000, VehicleType(10_000, count=1))),
    Shape(
        "10,000 customers, one vehicle that is too slow",
        lambda: make_problem(10_000, VehicleType(10_000, count=1, max_duration=40_000.0), speed=1.0),
    ),
    Shape(
        "10,000 customers, one vehicle each",
        lambda: make_problem(10_000, VehicleType(1, count=10_000, max_stops=1), rounding="nearest"),
    ),
    Shape("10,000 customers, 1,000 types", lambda: make_problem(10_000, *list_different(1000, each=5))),
)


# Measuring


def list_ways(instance: Instance, limit: float) -> dict[str, dict[str, Any]]:
    """List the paths that a problem can take, with their options."""
    is_plain = instance.is_plain and instance.coordinates is not None
    ways = dict(WAYS if is_plain else {**SEARCHES, "savings or insertion": {}})
    if (known := find_known_routes(instance, limit)) is not None:
        ways["known routes, then search"] = {"time_limit": None, "start": known}
    if known is not None and is_plain:
        ways["known routes, then local"] = {"improve": "local", "start": known}
    return {
        way: {name: limit if name in LIMITS else value for name, value in settings.items()}
        for way, settings in ways.items()
    }


def find_known_routes(instance: Instance, limit: float) -> Solution | None:
    """Find feasible routes that do not say who drives them; None if there are none, or too many customers to check."""
    if instance.size > LARGEST_TO_CHECK:
        return None
    found = try_to_solve(instance, {"time_limit": limit})
    return None if found is None or check(instance, found) else Solution(found.routes)


def inspect(shape: Shape, limit: float) -> Iterator[Finding]:
    """Try every path with a problem."""
    instance = shape.make()
    for way, settings in list_ways(instance, limit).items():
        late, memory = None, 0
        if any(name in settings for name in LIMITS):
            seconds, used = run(instance, settings)
            late = seconds - limit
            if instance.vehicles is not None and len(instance.vehicles) > 1:
                memory = used - run(with_one_type(instance), settings)[1]
        yield Finding(way, late, cancel(instance, settings, limit / 2), memory)


def with_one_type(instance: Instance) -> Instance:
    """Leave one type of vehicle, of which there are enough."""
    assert instance.vehicles is not None
    largest = max(instance.vehicles, key=lambda kind: kind.capacity)
    return replace(
        instance, vehicles=(replace(largest, count=None, max_distance=None, end="depot", max_stops=instance.size),)
    )


def run(instance: Instance, settings: dict[str, Any]) -> tuple[float, int]:
    """Solve a problem; returns the seconds, and the most memory that it took."""
    before = forget_peak()
    began = time.perf_counter()
    try_to_solve(instance, settings)
    return time.perf_counter() - began, read_memory("VmHWM") - before


def cancel(instance: Instance, settings: dict[str, Any], after: float) -> float:
    """Solve a problem and cancel after some seconds; returns the seconds from then until it ended."""
    cancelled = threading.Event()
    asked_at: list[float] = []

    def ask() -> None:
        asked_at.append(time.perf_counter())
        cancelled.set()

    timer = threading.Timer(after, ask)
    timer.start()
    try_to_solve(instance, settings | {"is_cancelled": cancelled.is_set})
    ended = time.perf_counter()
    timer.cancel()
    return ended - asked_at[0] if asked_at else 0.0


def try_to_solve(instance: Instance, settings: dict[str, Any]) -> Solution | None:
    """Solve a problem, unless it is refused."""
    try:
        return solve(instance, **settings).solution
    except DynarouteError:
        return None


def forget_peak() -> int:
    """Begin a new peak of this process's memory; returns what it uses now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return read_memory("VmRSS")


def read_memory(field: str) -> int:
    """Read a number of bytes that the system knows of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


# Processes


def work(index: int, limit: float, findings: Any) -> None:
    """Inspect one shape in this process, after loading what does not count."""
    load_machine_code(get_args(UsualCode))
    solve(make_problem(1, capacity=5), model="amd-100")
    findings.put(None)
    for finding in inspect(SHAPES[index], limit):
        findings.put(finding)
    findings.put(None)


def inspect_apart(shape: Shape, limit: float = QUICK_LIMIT) -> Iterator[Finding]:
    """Inspect a shape in a process of its own, and kill that if it does not end.

    Raises
    ------
    TimeoutError
        If a path takes forever.
    """
    context = multiprocessing.get_context("spawn")
    findings: Any = context.Queue()
    process = context.Process(target=work, args=(SHAPES.index(shape), limit, findings), daemon=True)
    process.start()
    try:
        findings.get(timeout=10 * PATIENCE)  # it may have to compile
        while (finding := findings.get(timeout=PATIENCE)) is not None:
            yield finding
    except Empty:
        raise TimeoutError(f"{shape.name}: a path does not end within {PATIENCE:g} s.") from None
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Inspect all shapes, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="shapes whose names contain this")
    parser.add_argument(
        "--limit", type=float, default=USUAL_LIMIT, help="seconds of a search; half of it to cancelling"
    )
    parser.add_argument("--quick", action="store_true", help="half a second for each search")
    arguments = parser.parse_args()
    limit = QUICK_LIMIT if arguments.quick else arguments.limit
    is_wrong = False
    print(f"{'shape':48} {'path':28} {'late':>7} {'cancel':>7} {'memory':>8}")
    for shape in SHAPES:
        if arguments.only not in shape.name:
            continue
        try:
            for finding in inspect_apart(shape, limit):
                late = "" if finding.late is None else f"{finding.late:.2f} s"
                cells = f"{late:>7} {finding.after_cancelling:>5.2f} s {finding.memory / 1e6:>5.0f} MB"
                faults = "; ".join(finding.list_faults())
                print(f"{shape.name:48} {finding.way:28} {cells}  {faults}", flush=True)
                is_wrong |= bool(faults)
        except TimeoutError as error:
            print(error, flush=True)
            is_wrong = True
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
