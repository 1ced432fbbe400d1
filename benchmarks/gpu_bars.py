"""Measure what the search on a GPU has to reach, every row in one command, in less than ten minutes.

    python benchmarks/gpu_bars.py DATA --out bars              about nine minutes on a machine with a GPU
    python benchmarks/gpu_bars.py DATA --out bars --rows one_instance,variants
    python benchmarks/gpu_bars.py DATA --out bars --every 1 --seconds 60    every large instance for a minute: hours
    python benchmarks/gpu_bars.py --quick                      seconds, with an emulated GPU where there is none

DATA has the folders X, XXL, GH1000 and VRPTW, with best known costs. Without it, or without a folder, rows that need
it are listed as missing. Each row goes to a file of its name in --out as soon as it is measured, with the hardware. In
rows of one instance, the GPU with the cores is followed by the cores alone, for the same time. Everything is loaded,
compiled and has searched once before; that is the row `start_up`. `dynaroute.check` judges 200 of the answers of each
row, spread over all, outside the measured time. Run nothing else beside it.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gpu_search import find_kernels
from published import SETS, find_best, read_rounded

import dynaroute
from dynaroute.base.machine import count_cores
from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_published_set
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.many import BatchSearchRequest
from dynaroute.solving.beside import search_beside_cores
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.together import search_together
from dynaroute.study.reproduction import describe_hardware
from dynaroute.study.variant_sets import find_reference

_CHECKED = 200
_LAST = ("", "b", "l", "tw", "bl", "btw", "ltw", "bltw")  # the variants beside these with open routes
_OTHERS = [f"{start}vrp{end}" for end in _LAST for start in ("o", "") if f"{start}vrp{end}" not in ("vrp", "vrptw")]


@dataclass(frozen=True)
class Measured:
    """What one search came to.

    Attributes
    ----------
    what, by
        What was searched, and who searched.
    count
        Number of instances.
    seconds, taken
        The time given for all of them, and the time taken.
    cost
        Their mean cost.
    reference
        The mean best known cost, or the published mean; None if there is none.
    wrong
        Number of wrong answers among those judged.
    """

    what: str
    by: str
    count: int
    seconds: float
    taken: float
    cost: float
    reference: float | None
    wrong: int

    @property
    def gap(self) -> float | None:
        """Percent above the reference."""
        return None if self.reference is None else 100 * (self.cost / self.reference - 1)


@dataclass(frozen=True)
class Bench:
    """What rows are measured with.

    Attributes
    ----------
    kernels
        The GPU, or its emulation.
    cores
        Cores beside the GPU, and alone.
    data
        The folder of published instances.
    every, seconds
        Which of the large instances are searched, and for how long; None: a few, for less than a minute.
    is_quick
        Whether a few small ones do, for a moment.
    """

    kernels: KernelDevice
    cores: int
    data: Path | None
    every: int | None
    seconds: float | None
    is_quick: bool

    def find(self, folder: str) -> Path:
        """Find a folder of the data."""
        if self.data is None or not (self.data / folder).is_dir():
            raise FileNotFoundError(folder)
        return self.data / folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the published instances")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--rows", default=",".join(_ROWS), help="which of these rows")
    parser.add_argument("--every", type=int, help="every so many of the large instances, instead of a few")
    parser.add_argument("--seconds", type=float, help="for each large instance")
    parser.add_argument("--cores", type=int, default=min(16, count_cores()))
    parser.add_argument("--quick", action="store_true", help="small instances for a moment, also without a GPU")
    arguments = parser.parse_args()
    kernels = find_kernels(arguments.quick)
    if kernels is None:
        print("There is no GPU, and nothing to emulate one with.", file=sys.stderr)
        return 0 if arguments.quick else 2
    bench = Bench(kernels, arguments.cores, arguments.data, arguments.every, arguments.seconds, arguments.quick)
    wrong, missing = 0, []
    for name in ["start_up", *(name for name in arguments.rows.split(",") if name != "start_up")]:
        measured: list[Measured] = []
        try:
            for row in _ROWS[name](bench):
                measured.append(row)
                _tell(name, row)
                _write(arguments.out, name, measured, kernels)
        except FileNotFoundError as error:
            missing.append(f"{name} ({error})")
        wrong += sum(row.wrong for row in measured)
    if missing:
        print(f"Not measured, for want of instances: {', '.join(missing)}")
    return 1 if wrong else 0


def _measure_start_up(bench: Bench) -> Iterator[Measured]:
    """Load and compile everything: plain kernels, those of each variant, and the code of the cores."""
    names = ["cvrp"] if bench.is_quick else ["cvrp", "vrptw", *_OTHERS]
    instances = [draw_variant_set(VARIANTS[name], 20, 1).instances()[0] for name in names]
    before = time.perf_counter()
    for instance in instances:
        _search_together(bench, [instance], 0.2)
    dynaroute.solve(instances[0], time_limit=0.2, device="cpu", threads=bench.cores)
    taken = time.perf_counter() - before
    yield Measured("loading and compiling", _name(bench), len(instances), 0.0, taken, 0.0, None, 0)


def _measure_one_instance(bench: Bench) -> Iterator[Measured]:
    """Measure one instance at a time, on the GPU with the cores and on the cores alone."""
    for instance, best, seconds in _list_large(bench):
        yield _search_beside(bench, instance, best, seconds)
        before = time.perf_counter()
        found = dynaroute.solve(instance, time_limit=seconds, device="cpu", threads=bench.cores)
        taken = time.perf_counter() - before
        yield _judge(instance.name, f"{bench.cores} cores", [instance], [found.solution], seconds, taken, best)


def _list_large(bench: Bench) -> Iterator[tuple[Instance, float | None, float]]:
    """List instances with best known costs and seconds: X, Belgium, and 1,000 customers with windows."""
    if bench.is_quick:
        yield draw_published_set(50, 10, 1).instances()[0], None, 1.0
        return
    for folder, size, wanted, seconds in (
        ("X", 500, ("X-n1001-k43", "X-n876-k59"), 20.0),
        ("XXL", 0, ("Leuven2", "Antwerp1", "Ghent2"), 20.0),
        ("XXL", 0, ("Antwerp1",), 2.0),
    ):
        costs = _read_costs(bench.find(folder) / "best_known.csv")
        files = [path for path in sorted(bench.find(folder).glob("*.vrp")) if path.stem in costs]
        few = [path for path in files if path.stem in wanted] or files[-1:]
        for path in few if bench.every is None else files[:: bench.every]:
            instance = dynaroute.read(path)
            if instance.size > size:
                yield replace(instance, name=path.stem), costs[path.stem], bench.seconds or seconds
    files = sorted(bench.find("GH1000").glob("*.vrp"))
    for path in files[::9] if bench.every is None else files[:: bench.every]:
        instance = read_rounded(path, SETS["GH1000"].rounding)
        yield instance, find_best(path, instance, SETS["GH1000"]), bench.seconds or 20.0


def _search_beside(bench: Bench, instance: Instance, best: float | None, seconds: float) -> Measured:
    request = BatchSearchRequest([instance], begin=lambda: Stopping.after(seconds))
    before = time.perf_counter()
    found = search_beside_cores(request, max(1, bench.cores - 1), bench.kernels)
    taken = time.perf_counter() - before
    by = f"{_name(bench)} and {max(1, bench.cores - 1)} cores"
    return _judge(instance.name, by, [instance], [found.outcome.solution], seconds, taken, best)


def _measure_variants(bench: Bench) -> Iterator[Measured]:
    """Measure 1,000 of each variant, ten seconds for all of them."""
    count, size, seconds = (2, 20, 0.5) if bench.is_quick else (1000, 100, 10.0)
    for name in ["vrptw", "ovrp"] if bench.is_quick else ["vrptw", *_OTHERS]:
        instances = draw_variant_set(VARIANTS[name], size, count).instances()
        reference = None if bench.is_quick else find_reference(name, size)
        yield _measure_together(bench, f"{name}{size}", instances, seconds, reference)


def _measure_solomon(bench: Bench) -> Iterator[Measured]:
    """Measure all of Solomon's instances at once."""
    files = sorted(bench.find("VRPTW").glob(SETS["Solomon"].pattern))
    files = [path for path in files if "_" not in path.stem][: 2 if bench.is_quick else None]
    instances = [read_rounded(path, SETS["Solomon"].rounding) for path in files]
    best = [find_best(path, instance, SETS["Solomon"]) for path, instance in zip(files, instances, strict=True)]
    known = [(instance, cost) for instance, cost in zip(instances, best, strict=True) if cost == cost]
    reference = statistics.fmean(cost for _, cost in known)
    seconds = 3.0 if bench.is_quick else 30.0  # the cores insert first, because vehicles are limited
    yield _measure_together(bench, "Solomon", [instance for instance, _ in known], seconds, reference)


def _measure_many(bench: Bench) -> Iterator[Measured]:
    """Measure 10,000 of 100 customers: from objects to objects, which `benchmarks/gpu_search.py` leaves out."""
    count = 4 if bench.is_quick else 10_000
    instances = draw_published_set(100, 10_000).instances()[:count]
    for seconds in (0.5,) if bench.is_quick else (0.1, 1.3, 5.0, 30.0):
        yield _measure_together(bench, f"{count} of n=100", instances, seconds, None)


def _measure_together(
    bench: Bench, what: str, instances: Sequence[Instance], seconds: float, reference: float | None
) -> Measured:
    before = time.perf_counter()
    found = _search_together(bench, instances, seconds)
    return _judge(what, _name(bench), instances, found, seconds, time.perf_counter() - before, reference)


def _search_together(bench: Bench, instances: Sequence[Instance], seconds: float) -> list[Solution]:
    options, entered = SolveOptions(total_time=seconds, threads=bench.cores), time.perf_counter()
    results = search_together(instances, None, options, Observers(), entered, bench.kernels)
    return [result.solution for result in results]


def _judge(
    what: str,
    by: str,
    instances: Sequence[Instance],
    found: Sequence[Solution],
    seconds: float,
    taken: float,
    reference: float | None,
) -> Measured:
    some = range(0, len(instances), max(1, len(instances) // _CHECKED))
    wrong = sum(bool(check(instances[row], found[row])) for row in some)
    costs = [solution.cost(instance) for instance, solution in zip(instances, found, strict=True)]
    return Measured(what, by, len(instances), seconds, taken, statistics.fmean(costs), reference, wrong)


def _read_costs(path: Path) -> dict[str, float]:
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(lines)}


def _name(bench: Bench) -> str:
    return "a GPU" if bench.kernels.place.type == "cuda" else "an emulated GPU"


def _tell(name: str, row: Measured) -> None:
    gap = "" if row.gap is None else f"{row.gap:7.3f} %"
    wrong = f"  {row.wrong} WRONG" if row.wrong else ""
    print(
        f"{name:>13} {row.what:>22} {row.by:>18} {row.count:6} {row.seconds:6g} s {row.taken:8.2f} s "
        f"{row.cost:14.4f} {gap}{wrong}",
        flush=True,
    )


def _write(folder: Path | None, name: str, measured: Sequence[Measured], kernels: KernelDevice) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{**asdict(row), "gap": row.gap} for row in measured]
    document = {
        "hardware": describe_hardware(str(kernels.place)),
        "cores": count_cores(),
        "version": dynaroute.__version__,
        "rows": rows,
    }
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


_ROWS: dict[str, Callable[[Bench], Iterator[Measured]]] = {
    "start_up": _measure_start_up,
    "many": _measure_many,
    "one_instance": _measure_one_instance,
    "variants": _measure_variants,
    "solomon": _measure_solomon,
}


if __name__ == "__main__":
    sys.exit(main())
