"""How one model generalises: to the X set, XML100, and larger uniform sets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dynaroute.base.errors import FormatError, ModelError, Where
from dynaroute.base.machine import choose_device
from dynaroute.draw import PUBLISHED_SETS, draw_published_set
from dynaroute.formats.collection import find_best_costs, read_best_costs, read_collection
from dynaroute.problem.instance import Instance
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.study.evaluation import evaluate_all
from dynaroute.study.reference_lengths import (
    GENERALISATION_ROWS,
    GENERALISATION_SECONDS,
    LARGE_SIZE_LENGTHS,
    LARGE_SIZES,
)
from dynaroute.study.reproduction import describe_hardware
from dynaroute.weights import GENERALIST, nearest_shipped_model, shipped_models

_SAVINGS = "savings"
_LARGE = 500  # X instances with more customers than this have their own column
_WHOLE = {"X": 100, "XML100": 10_000} | {f"U{size}": PUBLISHED_SETS[size].count for size in LARGE_SIZES}
_COLUMNS = ("X", "X, worst", f"X, n > {_LARGE}", "XML100", *(f"U{size}" for size in LARGE_SIZES))


@dataclass(frozen=True)
class MeasuredSet:
    """Results of one row on one set.

    Attributes
    ----------
    count
        Number of instances.
    mean_length
        Mean cost.
    gaps
        Gap of each to its best known cost, in percent; None without such costs.
    large_gaps
        Gaps of the instances with more than 500 customers.
    seconds
        Time per instance, with the policy loaded and its kernels compiled.
    """

    count: int
    mean_length: float
    gaps: tuple[float, ...] | None
    large_gaps: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Generalisation:
    """All that was measured.

    Attributes
    ----------
    model
        Name of the policy.
    hardware
        Where it was measured.
    entries
        Results by row and set.
    skipped
        Sets that were not given.
    is_whole
        Whether all instances that were given, and whole uniform sets, were measured.
    """

    model: str
    hardware: str
    entries: Mapping[tuple[str, str], MeasuredSet]
    skipped: tuple[str, ...] = ()
    is_whole: bool = True

    def to_markdown(self) -> str:
        """Format lengths and times as tables; figures measured by others are marked."""
        caveat = "" if self.is_whole else " **Only parts of the sets: figures depend on chance.**"
        left_out = f" Not given, so not measured: {', '.join(self.skipped)}." if self.skipped else ""
        known = ", ".join(f"U{size} {name} {length:g}" for size, (name, length) in LARGE_SIZE_LENGTHS.items())
        counts = {name: entry.count for (_, name), entry in self.entries.items()}
        measured = ", ".join(f"{name} {count:,} of {_WHOLE[name]:,}" for name, count in counts.items())
        lines = [
            f"One model, {self.model}. X and XML100: mean gap to best known and to proven optimal costs; U: mean "
            f"length, and gap to the best that is published ({known}). Instances: {measured}. Rows marked *quoted* "
            f"were measured by their authors.{left_out}{caveat}",
            "",
            f"| method | {' | '.join(_COLUMNS)} |",
            "|---" * (1 + len(_COLUMNS)) + "|",
        ]
        lines += [_show_row(f"{name} (*quoted*)", cells) for name, cells in GENERALISATION_ROWS.items()]
        rows = list(dict.fromkeys(row for row, _ in self.entries))
        lines += [_show_row(f"**{row}**", self._show_entries(row)) for row in rows]
        sets = list(dict.fromkeys(name for _, name in self.entries))
        lines += ["", f"| time of an instance | {' | '.join(sets)} |", "|---" * (1 + len(sets)) + "|"]
        for name, seconds in GENERALISATION_SECONDS.items():
            lines.append(f"| {name} (*quoted*) | {' | '.join(seconds if each == 'X' else '' for each in sets)} |")
        for row in rows:
            times = (self.entries.get((row, name)) for name in sets)
            shown = " | ".join("" if entry is None else _show_seconds(entry.seconds) for entry in times)
            lines.append(f"| **{row}**, {'one core' if row == _SAVINGS else self.hardware} | {shown} |")
        return "\n".join(lines) + "\n"

    def _show_entries(self, row: str) -> dict[str, str]:
        cells = {}
        for (name, column), entry in self.entries.items():
            if name != row:
                continue
            size = int(column[1:]) if column[1:].isdigit() else None
            if size is not None:
                best = LARGE_SIZE_LENGTHS[size][1]
                cells[column] = f"{entry.mean_length:.3f}, {100 * (entry.mean_length / best - 1):.2f} %"
            elif entry.gaps is not None:
                cells[column] = f"{statistics.fmean(entry.gaps):.2f} %"
                if column == "X":
                    cells["X, worst"] = f"{max(entry.gaps):.1f} %"
                if column == "X" and entry.large_gaps:
                    cells[f"X, n > {_LARGE}"] = f"{statistics.fmean(entry.large_gaps):.2f} %"
        return cells


def measure_generalisation(
    model: str | None = None,
    x: Path | None = None,
    xml: Path | None = None,
    count: int | None = None,
    device: str = "auto",
    progress: Callable[[str, float], None] = lambda words, done: None,
) -> Generalisation:
    """Measure savings, and one model with greedy decoding and x8 augmentation, on every given set.

    Parameters
    ----------
    model
        A shipped model or a folder. None: the shipped generalist, or else the specialist for 100 customers.
    x, xml
        Folders or set files of the X set and of XML100, with a table of best known costs.
    count
        Most instances per set; all if None. A smaller count gives different uniform instances.
    device
        "auto" (a GPU if there is one), or what PyTorch calls it.
    progress
        Called now and then with a description of the current work and the share of all work done.
    """
    from dynaroute.solving.building import load_policy

    chosen = choose_device(device)
    name = model if model is not None else _usual_model()
    policy = load_policy(name, chosen)
    called = policy.card.name or Path(name).name
    given = {"X": x, "XML100": xml}
    sets = [_read(label, path, count) for label, path in given.items() if path is not None]
    sets += [_draw(size, count) for size in LARGE_SIZES]
    rows = {
        _SAVINGS: SolveOptions(model=_SAVINGS),
        f"{called} (greedy)": SolveOptions(model=policy, device=chosen),
        f"{called} (greedy, x8)": SolveOptions(model=policy, device=chosen, augment=True),
    }
    planned = [(row, options, each) for each in sets for row, options in rows.items()]
    all_work, done = sum(_estimate_work(options, each) for _, options, each in planned), 0.0
    entries: dict[tuple[str, str], MeasuredSet] = {}
    for row, options, each in planned:
        words, work = f"{row}, {each.name}", _estimate_work(options, each) / all_work
        progress(words, done)
        share = work / len(each.instances)
        told = _ShareReporter(words, done, share, progress)
        entries[row, each.name] = _measure(each, options, told, is_warm=chosen == "cpu" or row == _SAVINGS)
        done += work
    progress("done", 1.0)
    in_order = {(row, each.name): entries[row, each.name] for row in rows for each in sets}
    skipped = tuple(label for label, path in given.items() if path is None)
    return Generalisation(called, describe_hardware(chosen), in_order, skipped, is_whole=count is None)


class _Set(NamedTuple):
    name: str
    instances: Sequence[Instance]
    best: Sequence[float] | None


class _ShareReporter:
    """Counts finished instances and reports the share of all work done."""

    def __init__(self, words: str, done: float, share: float, progress: Callable[[str, float], None]) -> None:
        self.words, self.done, self.share, self.progress = words, done, share, progress

    def __call__(self, finished: int) -> None:
        self.done += finished * self.share
        self.progress(self.words, min(1.0, self.done))


def _usual_model() -> str:
    name = GENERALIST if GENERALIST in shipped_models() else nearest_shipped_model(100)
    if name is None:
        raise ModelError.about(
            "model", "no trained model ships with this version.", "Name a folder with the option model."
        )
    return name


def _read(name: str, path: Path, count: int | None) -> _Set:
    collection, table = read_collection(path), find_best_costs(path if path.is_dir() else path.parent)
    if table is None:
        raise FormatError(
            "there is no table of best known costs.",
            where=Where(file=str(path)),
            remedy="Put best.csv next to the instances, with the columns name and best_known_cost.",
        )
    best = read_best_costs(table, collection).costs
    return _Set(name, collection.instances[:count], best[:count])


def _draw(size: int, count: int | None) -> _Set:
    whole = PUBLISHED_SETS[size].count
    drawn = draw_published_set(size, None if count is None else min(count, whole))
    return _Set(f"U{size}", drawn.instances(), None)


def _estimate_work(options: SolveOptions, each: _Set) -> float:
    """Estimate relative work: each route encodes the remaining nodes, and more customers need more routes."""
    of_one = sum(float(instance.size**2.5) for instance in each.instances)
    if options.model == _SAVINGS:
        return 0.01 * of_one
    return of_one * (8 if options.augment else 1)


def _measure(each: _Set, options: SolveOptions, told: Callable[[int], None], is_warm: bool) -> MeasuredSet:
    if not is_warm:  # kernels are compiled for the sizes they see
        evaluate_all(each.instances, options, Observers(), None)
    found = evaluate_all(each.instances, options, Observers(told), None, each.best)
    pairs = zip(each.instances, found.gaps or (), strict=False)
    large = tuple(gap for instance, gap in pairs if instance.size > _LARGE)
    return MeasuredSet(found.count, found.mean_length, found.gaps, large, found.seconds_per_instance)


def _show_row(label: str, cells: Mapping[str, str]) -> str:
    return f"| {label} | {' | '.join(cells.get(column, '') for column in _COLUMNS)} |"


def _show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
