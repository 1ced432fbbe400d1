"""Read files of any format, chosen by suffix."""

from __future__ import annotations

import os
from pathlib import Path

from dynaroute.errors import FormatError, OptionError, Where, in_file
from dynaroute.files import read_bytes, refuse_unreadable
from dynaroute.fleet_options import FleetOptions
from dynaroute.formats.table import FORMATS, INSTANCE_SUFFIXES, SOLUTION_SUFFIXES, Capacity, require_suffix
from dynaroute.formats.text import decode_text
from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = ["read", "read_set", "read_solution"]


AS_IT_IS = FleetOptions()


def read(path: str | os.PathLike[str], *, capacity: Capacity = None, fleet: FleetOptions = AS_IT_IS) -> Instance:
    """Read one instance.

    Parameters
    ----------
    path
        A .vrp, .txt (Solomon), .csv or .json file, or a set (.json, .npz, .pkl) that holds one instance.
    capacity
        Capacity of a vehicle, for a CSV file that does not state it; goes before one that it states.
    fleet
        Vehicles, limits and a speed that go before what the file says.

    Returns
    -------
    Instance
        The problem.

    Raises
    ------
    DynarouteError
        If there is no sound instance, or more than one.
    """
    instances = read_set(path, capacity=capacity, fleet=fleet)
    if len(instances) > 1:
        raise FormatError(
            f"the file holds {len(instances)} instances, where one is expected.",
            where=Where(file=os.fspath(path)),
            remedy="Use dynaroute.read_set, or a command that takes sets, such as solve or convert.",
        )
    return instances[0]


def read_set(
    path: str | os.PathLike[str], *, capacity: Capacity = None, fleet: FleetOptions = AS_IT_IS
) -> list[Instance]:
    """Read all instances of a file, at least one.

    Parameters
    ----------
    path
        A .vrp, .txt (Solomon), .csv, .json, .npz or .pkl file.
    capacity
        Capacity of a vehicle, for a CSV file that does not state it; goes before one that it states.
    fleet
        Vehicles, limits and a speed that go before what the file says.

    Returns
    -------
    list[Instance]
        The problems, in the order of the file.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or one of its instances is not sound.
    """
    file, source = Path(path), os.fspath(path)
    with in_file(source):
        refuse_unreadable(file)  # before its suffix: a folder has none
        suffix = require_suffix(file, INSTANCE_SUFFIXES, "instances")
        known = FORMATS[suffix]
        assert known.parse is not None  # or the suffix would have been refused
        if capacity is not None and not known.takes_capacity:
            raise OptionError(
                f"a {suffix} file states its own capacity.",
                where=Where(field="capacity"),
                remedy="Give the option with CSV files alone.",
            )
        instances = known.parse(read_bytes(file), source, capacity)
        if not instances:
            raise FormatError("the file holds no instance.", remedy="Was it saved or copied completely?")
        return [fleet.apply(instance) for instance in instances]


def read_solution(path: str | os.PathLike[str]) -> Solution:
    """Read routes; whether they solve an instance is for `dynaroute.check` to say.

    Parameters
    ----------
    path
        A .sol file, or a .json file with routes.

    Returns
    -------
    Solution
        The routes and the stated cost.

    Raises
    ------
    DynarouteError
        If the file cannot be read.
    """
    file, source = Path(path), os.fspath(path)
    with in_file(source):
        refuse_unreadable(file)
        suffix = require_suffix(file, SOLUTION_SUFFIXES, "a solution")
        parse = FORMATS[suffix].parse_solution
        assert parse is not None  # or the suffix would have been refused
        return parse(decode_text(read_bytes(file)), source)
