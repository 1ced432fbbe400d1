"""Write files of any format, chosen by suffix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dynaroute.errors import InstanceError, UnsupportedError, Where, in_file
from dynaroute.formats.csv import format_csv
from dynaroute.formats.files import write_bytes
from dynaroute.formats.json import format_json, format_json_set
from dynaroute.formats.json_solution import format_json_solution
from dynaroute.formats.npz import format_npz
from dynaroute.formats.sol import format_sol
from dynaroute.formats.suffixes import (
    SOLUTION_SUFFIXES,
    WRITABLE_INSTANCE_SUFFIXES,
    WRITABLE_SET_SUFFIXES,
    require_suffix,
)
from dynaroute.formats.vrplib import format_vrplib
from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = ["write"]


def write(value: Instance | Sequence[Instance] | Solution, path: str | os.PathLike[str]) -> None:
    """Write an instance, a set of them or a solution, wholly or not at all.

    Parameters
    ----------
    value
        One instance (.vrp, .csv, .json, .npz), several (.json, .npz), or a solution (.sol, .json).
    path
        The file to make or to replace.

    Raises
    ------
    UnsupportedError
        If the format cannot hold the value; it says which can.
    DynarouteError
        If the suffix is unknown or the file cannot be written.
    """
    file = Path(path)
    with in_file(os.fspath(path)):
        content = _format_solution(value, file) if isinstance(value, Solution) else _format_instances(value, file)
        write_bytes(file, content)


def _format_solution(solution: Solution, file: Path) -> bytes:
    suffix = require_suffix(file, SOLUTION_SUFFIXES, "writing a solution")
    text = format_sol(solution) if suffix == ".sol" else format_json_solution(solution)
    return text.encode()


def _format_instances(value: Instance | Sequence[Instance], file: Path) -> bytes:
    suffix = require_suffix(file, WRITABLE_INSTANCE_SUFFIXES, "writing instances")
    instances = [value] if isinstance(value, Instance) else list(value)
    if not instances:
        raise InstanceError(
            "there is no instance to write.", where=Where(field="instances"), remedy="Give at least one."
        )
    if suffix == ".npz":
        return format_npz(instances)
    if suffix == ".json":
        text = format_json(value) if isinstance(value, Instance) else format_json_set(instances)
        return text.encode()
    if len(instances) > 1:
        raise UnsupportedError(
            f"a {suffix} file holds one instance, not {len(instances)}.",
            where=Where(field="instances"),
            remedy=f"Write one of {', '.join(WRITABLE_SET_SUFFIXES)}.",
        )
    text = format_csv(instances[0]) if suffix == ".csv" else format_vrplib(instances[0])
    return text.encode()
