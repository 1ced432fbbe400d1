"""Gaps of instances to their best known costs, on the screen and as a file."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.cli.shared.output import print_facts, print_table

if TYPE_CHECKING:
    from dynaroute.formats.collection import BestCosts
    from dynaroute.problem.instance import Instance
    from dynaroute.study.evaluation import Evaluation

__all__ = ["print_gaps", "write_gaps"]

_BOUNDS = (0, 100, 200, 500, 1000, 10**9)  # customers; the table groups instances by these bounds


def write_gaps(file: Path, known: BestCosts, instances: Sequence[Instance], evaluation: Evaluation) -> None:
    """Write a CSV file with one line per instance."""
    from dynaroute.base.files import write_bytes

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("name", "customers", "cost", "best_known_cost", "gap"))
    rows = zip(known.names, instances, evaluation.lengths, known.costs, evaluation.gaps or (), strict=True)
    for name, instance, cost, best, gap in rows:
        table.writerow((name, instance.size, f"{cost:.12g}", f"{best:.12g}", f"{gap:.6f}"))
    write_bytes(file, text.getvalue().encode())


def print_gaps(known: BestCosts, instances: Sequence[Instance], evaluation: Evaluation) -> None:
    """Print mean, median and worst gap, overall and by size."""
    from dynaroute.study.evaluation import sum_up_gaps

    gaps = evaluation.gaps or ()
    worst = max(range(len(gaps)), key=lambda index: gaps[index])
    print_facts(
        "above best known", [("worst", f"{gaps[worst]:.2f} %, {known.names[worst] or f'instance {worst + 1}'}")]
    )
    rows = []
    for low, high in itertools.pairwise(_BOUNDS):
        some = [gap for gap, instance in zip(gaps, instances, strict=True) if low < instance.size <= high]
        if some:
            rows.append((_describe_range(low, high), some))
    if len(rows) > 1:
        rows.append(("all", list(gaps)))
    shown = [(name, f"{len(some)}", *(f"{gap:.2f}" for gap in sum_up_gaps(some).values())) for name, some in rows]
    print_table(("Customers", "Instances", "Mean %", "Median %", "Worst %"), shown)


def _describe_range(low: int, high: int) -> str:
    if low == 0:
        return f"up to {high}"
    return f"{low + 1} to {high}" if high < _BOUNDS[-1] else f"above {low}"
