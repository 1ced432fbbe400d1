"""Reference lengths for ``dynaroute evaluate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import OptionError, SolutionError, Where, in_file

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance

__all__ = ["read_reference"]


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
