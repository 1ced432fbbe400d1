"""Writing files of any format, chosen by suffix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from dynaroute.base.display import show_list
from dynaroute.base.errors import InstanceError, UnsupportedError, in_file, warn_of_input
from dynaroute.base.files import write_bytes
from dynaroute.formats.registry import (
    FORMATS,
    SOLUTION_SUFFIXES,
    WRITABLE_INSTANCE_SUFFIXES,
    WRITABLE_SET_SUFFIXES,
    require_suffix,
)
from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import RULES
from dynaroute.problem.solution import Solution


def write(value: Instance | Sequence[Instance] | Solution, path: str | os.PathLike[str]) -> None:
    """Write an instance, a set or a solution, completely or not at all.

    Parameters
    ----------
    value
        One instance (.vrp, .txt, .csv, .json, .npz, .parquet), several (.json, .npz, .parquet), or a solution (.sol,
        .json).
    path
        The file to create or replace.

    Raises
    ------
    UnsupportedError
        If the format cannot hold the value; the error says which format can.
    DynarouteError
        If the suffix is unknown or the file cannot be written.
    """
    file = Path(path)
    with in_file(os.fspath(path)):
        content = _format_solution(value, file) if isinstance(value, Solution) else _format_instances(value, file)
    write_bytes(file, content.encode() if isinstance(content, str) else content)


def write_set(instances: Iterable[Instance], path: str | os.PathLike[str]) -> None:
    """Write any number of instances to one file, which `read_set` reads.

    Parameters
    ----------
    instances
        At least one instance.
    path
        The file to create or replace (.json, .npz, .parquet).

    Raises
    ------
    UnsupportedError
        If the format cannot hold the instances; the error says which format can.
    DynarouteError
        If the suffix is unknown or the file cannot be written.
    """
    write(list(instances), path)


def _format_solution(solution: Solution, file: Path) -> str:
    suffix = require_suffix(file, SOLUTION_SUFFIXES, "writing a solution")
    if suffix == ".sol" and len(set(solution.vehicles or solution.vehicle_names or ())) > 1:
        message = "holds only routes: vehicle types are assigned again when it is read; .json keeps them."
        warn_of_input(str(file), f"a .sol file {message}")
    write_routes = FORMATS[suffix].format_solution
    assert write_routes is not None  # other suffixes were refused before
    return write_routes(solution)


def _format_instances(value: Instance | Sequence[Instance], file: Path) -> str | bytes:
    suffix = require_suffix(file, WRITABLE_INSTANCE_SUFFIXES, "writing instances")
    instances = [value] if isinstance(value, Instance) else list(value)
    if not instances:
        raise InstanceError.about("instances", "there is no instance to write.", "Give at least one.")
    known = FORMATS[suffix]
    for instance in () if known.holds_fleets else instances:
        if instance.parts_of_fleet:
            raise UnsupportedError.about(
                instance.parts_of_fleet[0],
                f"a {suffix} file cannot hold {' and '.join(instance.parts_of_fleet)}.",
                "Write a .json file, which holds everything.",
            )
    for instance in () if known.holds_rules else instances:
        for name in sorted(instance.rules):
            raise UnsupportedError.about(
                name, f"a {suffix} file cannot hold {RULES[name]}.", "Write a .json file, which holds everything."
            )
    if not known.holds_details and any(instance.details is not None for instance in instances):
        columns = next(instance.details.columns for instance in instances if instance.details is not None)
        warn_of_input("", f"a {suffix} file does not hold the columns {show_list(columns)}; .csv and .json do.")
    if known.format_set and not (known.format_one and isinstance(value, Instance)):
        return known.format_set(instances)
    assert known.format_one is not None  # other suffixes were refused before
    if len(instances) > 1:
        raise UnsupportedError.about(
            "instances",
            f"a {suffix} file holds one instance, not {len(instances)}.",
            f"Write one of {', '.join(WRITABLE_SET_SUFFIXES)}.",
        )
    return known.format_one(instances[0])
