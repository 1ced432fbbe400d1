"""Tables 1 and 2 of the paper, measured with the shipped weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dynaroute.base.errors import FileError, FormatError, Where, in_file
from dynaroute.base.files import read_bytes, write_bytes
from dynaroute.base.machine import choose_device
from dynaroute.study.reference_lengths import (
    HGS_LENGTHS,
    PAPER_BEST_LENGTHS,
    PAPER_ROWS,
    PAPER_TIMES,
    PUBLISHED_COUNT,
    SIZES,
)
from dynaroute.weights import GENERALIST

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.construct import Strategy
    from dynaroute.model import Policy

Prepared = TypeVar("Prepared")

_AUGMENTED = "AM-D (greedy, x8 augmentation)"
_PUBLISHED_AM = "AM (greedy), its authors' weights"
_ONE_MODEL = f"{GENERALIST}, one model for all (greedy)"
_AT_ONCE_ON_CPU = 500  # instances between progress reports


@dataclass(frozen=True)
class Measured:
    """One entry of the table.

    Attributes
    ----------
    length
        Mean length over the instances.
    seconds
        Total time, with the policy loaded and its kernels compiled.
    """

    length: float
    seconds: float


@dataclass(frozen=True)
class Reproduction:
    """All that was measured.

    Attributes
    ----------
    count
        Number of instances per size.
    hardware
        Hardware it was measured on.
    entries
        Results by row and size.
    minutes
        Training time of each shipped model by name, including the models it was trained from.
    """

    count: int
    hardware: str
    entries: Mapping[tuple[str, int], Measured]
    minutes: Mapping[str, float | None] = field(default_factory=dict)

    def to_markdown(self) -> str:
        """Format both tables; figures measured by others are marked."""
        caveat = (
            "" if self.count == PUBLISHED_COUNT else " **Not the published set: lengths and gaps depend on chance.**"
        )
        lines = [
            f"Mean lengths over {self.count:,} instances of seed 1234 and each size. Gaps: to the paper's best "
            f"({' / '.join(f'{PAPER_BEST_LENGTHS[size]:.2f}' for size in SIZES)}), and to HGS "
            f"({' / '.join(f'{HGS_LENGTHS[size]:.3f}' for size in SIZES)}). Rows marked *paper* have the "
            "lengths and gaps that it prints; their gaps to HGS are ours. `reproduce --exact` proves optima and "
            "measures HGS and PyVRP, `--lkh PROGRAM` LKH3. The paper's Gurobi figure is below the optimum of these "
            f"instances, so its set was a different one.{caveat}",
            "",
            "| method | " + " | ".join(f"n={size} | gap, to HGS" for size in SIZES) + " |",
            "|---" * (1 + 2 * len(SIZES)) + "|",
        ]
        lines += [_row(f"{name} (*paper*)", printed) for name, printed in PAPER_ROWS.items()]
        for row in dict.fromkeys(row for row, _ in self.entries):
            lengths = {size: self.entries[row, size].length for size in SIZES if (row, size) in self.entries}
            gaps = {size: _gap(length, PAPER_BEST_LENGTHS[size]) for size, length in lengths.items()}
            lines.append(_row(f"**{row}**", {size: (lengths[size], gaps[size]) for size in lengths}))
        lines += ["", *self._times()]
        return "\n".join(lines) + "\n"

    def _times(self) -> list[str]:
        lines = ["| time | " + " | ".join(f"n={size}" for size in SIZES) + " |", "|---" * (1 + len(SIZES)) + "|"]
        lines += [f"| {name} (*paper*, 1080Ti) | {' | '.join(times)} |" for name, times in PAPER_TIMES.items()]
        minutes = [self.minutes.get(f"amd-{size}") for size in SIZES]
        shown = " | ".join("" if value is None else f"{value:.1f} min" for value in minutes)
        lines.append(f"| **training, one H200** | {shown} |")
        for row in dict.fromkeys(row for row, _ in self.entries):
            times = [self.entries[row, size].seconds if (row, size) in self.entries else None for size in SIZES]
            shown = " | ".join("" if value is None else f"{1000 * value / self.count:.3g} ms" for value in times)
            lines.append(f"| **{row}**, {self.hardware}, an instance | {shown} |")
        return lines


def reproduce(
    count: int = PUBLISHED_COUNT,
    device: str = "auto",
    progress: Callable[[str, float], None] = lambda words, done: None,
    kool: Path | None = None,
) -> Reproduction:
    """Measure every entry of the paper's tables that the shipped weights cover.

    Parameters
    ----------
    count
        Instances per size. 10,000 gives the published sets; fewer gives different instances.
    device
        "auto" (a GPU if there is one), or what PyTorch calls it.
    progress
        Called now and then with a description of the current work and the share of all work done.
    kool
        A folder with AM's published weights (cvrp_20.pt and so on), to measure as well.
    """
    from dynaroute.solving.solve import load_policy
    from dynaroute.weights import shipped_models

    entries: dict[tuple[str, int], Measured] = {}
    chosen = choose_device(device)
    policies = {name: load_policy(name, chosen) for name in shipped_models()}
    batches = {size: _draw(size, count).to(chosen) for size in SIZES}
    minutes = {name: policy.card.minutes for name, policy in policies.items()}
    planned = [
        (row, size, measure)
        for size in SIZES
        for name, policy in policies.items()
        for row, measure in _list_entries(name, policy, size)
    ]
    planned += _list_published(kool, chosen) if kool is not None else []
    all_work, done = sum(_estimate_work(row, size) for row, size, _ in planned), 0.0
    for row, size, measure in planned:
        words = f"{row}, n={size}"
        work = _estimate_work(row, size) / all_work
        progress(words, done)
        entries[row, size] = measure(
            batches[size],
            progress=lambda share, words=words, done=done, work=work: progress(words, done + share * work),
        )
        done += work
    in_order = {(row, size): entries[row, size] for row in _ROW_ORDER for size in SIZES if (row, size) in entries}
    return Reproduction(count, describe_hardware(chosen), in_order, minutes)


def _list_published(folder: Path, device: str) -> list[tuple[str, int, Callable[..., Measured]]]:
    """List AM with its authors' weights, at every size that has a file."""
    from dynaroute.construct import Greedy
    from dynaroute.model.kool import import_kool

    files = {size: folder / f"cvrp_{size}.pt" for size in SIZES if (folder / f"cvrp_{size}.pt").exists()}
    if not files:
        raise FileError(
            "there are no published weights of AM here.",
            where=Where(file=str(folder)),
            remedy="Name a folder with cvrp_20.pt, cvrp_50.pt or cvrp_100.pt.",
        )
    return [
        (_PUBLISHED_AM, size, partial(_measure_construction, import_kool(file).to(device).eval(), strategy=Greedy()))
        for size, file in files.items()
    ]


def _estimate_work(row: str, size: int) -> float:
    """Estimate relative work: each route encodes the remaining nodes, and more customers need more routes."""
    of_one: float = size**1.5
    return of_one * (8 if row == _AUGMENTED else 1)


def _list_entries(name: str, policy: Policy, size: int) -> Iterator[tuple[str, Callable[..., Measured]]]:
    """List the rows that a policy has at this size, and how to measure each."""
    from dynaroute.construct import Augmented, Greedy

    trained, is_dynamic = (
        policy.card.size,
        policy.kind == "AM-D",
    )  # RL and AM ship for comparison at their own size only
    greedy = partial(_measure_construction, policy, strategy=Greedy())
    if name == GENERALIST:
        yield _ONE_MODEL, greedy
        return
    if trained not in SIZES or (trained != size and not is_dynamic):
        return
    if trained != size:
        yield f"AM-D (n={trained})", greedy
        return
    yield f"{policy.kind} (greedy)", greedy
    if is_dynamic:
        yield "AM-D (2OPT)", partial(_measure_two_opt, policy)
        yield _AUGMENTED, partial(_measure_construction, policy, strategy=Augmented(Greedy()))


_ROW_ORDER = (
    "RL (greedy)",
    _PUBLISHED_AM,
    "AM (greedy)",
    "AM-D (greedy)",
    "AM-D (2OPT)",
    _AUGMENTED,
    "AM-D (n=20)",
    "AM-D (n=50)",
    "AM-D (n=100)",
    _ONE_MODEL,
)


def insert_tables(path: Path, tables: str, what: str = "tables") -> None:
    """Replace the tables in a page, between the lines that mark their place.

    Parameters
    ----------
    path
        The page.
    tables
        The output of `to_markdown`.
    what
        The word in the marks that names the tables.
    """
    before, after = split_page(path, what)
    begin, end = _mark(what)
    write_bytes(path, f"{before}{begin}\n{tables}{end}{after}".encode())


def split_page(path: Path, what: str = "tables") -> tuple[str, str]:
    """Split a page into what comes before and after its tables.

    Parameters
    ----------
    path
        The page.
    what
        The word in the marks that names the tables.

    Raises
    ------
    FileError
        If it cannot be read.
    FormatError
        If the page has no marks.
    """
    with in_file(path):
        try:
            page = read_bytes(path).decode()
        except UnicodeDecodeError as error:
            raise FileError("cannot read the page.", remedy="Is it text?") from error
        first, last = _mark(what)
        before, begin, rest = page.partition(first)
        _, end, after = rest.partition(last)
        if not begin or not end:
            raise FormatError("the page has no marks for the tables.", remedy=f"Add the lines {first} and {last}.")
    return before, after


def _mark(what: str) -> tuple[str, str]:
    return f"<!-- {what}: begin -->", f"<!-- {what}: end -->"


def _row(label: str, found: Mapping[int, tuple[float, float]]) -> str:
    """Format a row: length, gap to the paper's best, gap to HGS."""
    cells = [" | "] * len(SIZES)
    for at, size in enumerate(SIZES):
        if size in found:
            length, gap = found[size]
            cells[at] = f"{length:.3f} | {gap:.2f} %, {_gap(length, HGS_LENGTHS[size]):.2f} %"
    return f"| {label} | {' | '.join(cells)} |"


def _gap(length: float, best: float) -> float:
    return 100 * (length / best - 1)


def _draw(size: int, count: int) -> InstanceBatch:
    from dynaroute.batch import InstanceBatch
    from dynaroute.draw import draw_published_set

    drawn = draw_published_set(size, count)
    return InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity)


def _measure_construction(
    policy: Policy, batch: InstanceBatch, strategy: Strategy, progress: Callable[[float], None]
) -> Measured:
    from dynaroute.construct import construct

    return _measure(batch, lambda some: some, lambda some, _: construct(policy, some, strategy), progress)


def _measure_two_opt(policy: Policy, batch: InstanceBatch, progress: Callable[[float], None]) -> Measured:
    """Measure 2-opt alone, as the paper does."""
    from dynaroute.construct import Greedy, construct
    from dynaroute.search.local.two_opt import improve_routes_by_two_opt

    return _measure(batch, lambda some: construct(policy, some, Greedy()), improve_routes_by_two_opt, progress)


def _measure(
    batch: InstanceBatch,
    prepare: Callable[[InstanceBatch], Prepared],
    work: Callable[[InstanceBatch, Prepared], RouteBatch],
    progress: Callable[[float], None],
) -> Measured:
    count = len(batch)
    is_on_gpu = batch.device.type == "cuda"
    at_once = count if is_on_gpu else _AT_ONCE_ON_CPU
    first_pass = batch if is_on_gpu else batch[:64]
    work(first_pass, prepare(first_pass))  # compiles kernels and takes memory before the clock starts
    total, seconds = 0.0, 0.0
    for first in range(0, count, at_once):
        some = batch[first : first + at_once]
        prepared = prepare(some)
        start = _now(some)
        routes = work(some, prepared)
        seconds += _now(some) - start
        _require_right(some, routes)
        total += float(routes.lengths(some).sum())
        progress(min(first + at_once, count) / count)
    return Measured(total / count, seconds)


def _now(batch: InstanceBatch) -> float:
    import torch

    if batch.device.type == "cuda":
        torch.cuda.synchronize(batch.device)
    return time.perf_counter()


def _require_right(batch: InstanceBatch, routes: RouteBatch) -> None:
    """Check all instances at once: every customer visited once, no vehicle overloaded."""
    import torch

    is_customer = batch.is_customer
    loads = torch.zeros_like(routes.route, dtype=torch.int64)
    loads.scatter_add_(1, routes.route.clamp(min=0).long(), batch.demands.long() * is_customer)
    visited = (routes.route >= 0) == is_customer
    if not bool(visited.all()) or not bool((loads <= batch.capacity[:, None]).all()):
        raise AssertionError("a solution that was built is wrong")


def describe_hardware(device: str) -> str:
    """Describe a device for the tables."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} threads"
