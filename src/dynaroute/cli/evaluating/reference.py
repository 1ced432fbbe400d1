"""Reference lengths for ``dynaroute evaluate``, and the gaps to best known costs."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import OptionError, SolutionError, Where, in_file
from dynaroute.cli.shared.output import print_facts, print_table

if TYPE_CHECKING:
    from dynaroute.formats.collection import BestCosts
    from dynaroute.problem.instance import Instance
    from dynaroute.study.evaluation import Evaluation

_BOUNDS = (0, 100, 200, 500, 1000, 10**9)  # customers; the table groups instances by these bounds


def read_reference(text: str, instances: Sequence[Instance]) -> float | list[float]:
    """Read a mean length, or the cost of each instance from a file.

    Parameters
    ----------
    text
        A number, or the path of a file: .sol for a single instance; .json with a list of costs or the output of
        ``dynaroute solve --json``; any other file with one cost per line.
    instances
        The instances that the reference is for.
    """
    from dynaroute.formats.numbers import is_number, parse_float

    if is_number(text):
        return parse_float(text, Where(field="--reference"))
    file = Path(text)
    readers = {".sol": _read_solution, ".json": _read_json}
    with in_file(file):
        costs = readers.get(file.suffix.lower(), _read_lines)(file, instances)
        if len(costs) != len(instances):
            raise OptionError.about(
                "--reference",
                f"there are {len(costs)} costs for {len(instances)} instances.",
                "Give one per instance, or their mean as a number.",
            )
    return costs


def _read_solution(file: Path, instances: Sequence[Instance]) -> list[float]:
    """Compute the cost of the routes, because a stated cost may be wrong or missing."""
    from dynaroute.formats import read_solution
    from dynaroute.problem.solution import check

    solution = read_solution(file)
    if len(instances) > 1:
        raise OptionError.about(
            "--reference",
            f"a .sol file holds one solution, but there are {len(instances)} instances.",
            "Give a file with one cost per line.",
        )
    if violations := check(instances[0], solution):
        raise SolutionError(f"the solution is wrong: {violations[0].message}", remedy="See dynaroute check.")
    return [solution.cost(instances[0])]


def _read_json(file: Path, _: Sequence[Instance]) -> list[float]:
    from dynaroute.base.files import read_bytes
    from dynaroute.formats.json.document import load_json, read_number, require_list
    from dynaroute.formats.text import decode_text

    entries = require_list(load_json(decode_text(read_bytes(file))), "")
    costs = (entry.get("cost") if isinstance(entry, dict) else entry for entry in entries)
    return [float(read_number(cost, f"[{index}]")) for index, cost in enumerate(costs)]


def _read_lines(file: Path, _: Sequence[Instance]) -> list[float]:
    from dynaroute.base.files import read_bytes
    from dynaroute.formats.numbers import parse_float
    from dynaroute.formats.text import decode_text, split_lines

    lines = map(str.strip, split_lines(decode_text(read_bytes(file))))
    return [parse_float(line, Where(line=number)) for number, line in enumerate(lines, start=1) if line]


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
