"""A folder of .vrp files, or a file with a set of instances; and the best known costs of them."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dynaroute.errors import FileError, FormatError, Where, in_file
from dynaroute.files import read_bytes
from dynaroute.formats.numbers import parse_float
from dynaroute.formats.read import read, read_set
from dynaroute.formats.text import decode_text
from dynaroute.instance import Instance

__all__ = ["Collection", "find_best_costs", "hash_collection", "read_best_costs", "read_collection"]

_COST_COLUMNS = ("best_known_cost", "optimum")
_USUAL_NAMES = ("best.csv", "best_known.csv")


class Collection(NamedTuple):
    """Instances that belong together.

    Attributes
    ----------
    names
        Of the files in a folder; those of a set are its instances' own, which may be empty.
    instances
        At least one.
    is_folder
        Whether each has a file of its own, and so a name.
    """

    names: list[str]
    instances: list[Instance]
    is_folder: bool


def read_collection(path: str | os.PathLike[str]) -> Collection:
    """Read every instance of a folder or of a file.

    Parameters
    ----------
    path
        A folder, whose .vrp files are read in the order of their names; or a file as `read_set` reads it.
    """
    place = Path(path)
    if not place.is_dir():
        instances = read_set(place)
        return Collection([instance.name or "" for instance in instances], instances, is_folder=False)
    files = _list_instances(place)
    return Collection([file.stem for file in files], [read(file) for file in files], is_folder=True)


def hash_collection(path: str | os.PathLike[str]) -> str:
    """A digest of the files' names and contents: what changes with any of them.

    Parameters
    ----------
    path
        As for `read_collection`.
    """
    place = Path(path)
    digest = hashlib.sha256()
    for file in _list_instances(place) if place.is_dir() else [place]:
        with in_file(file):
            contents = read_bytes(file)
        name = file.name.encode() if place.is_dir() else b""  # a set may be called otherwise
        digest.update(b"%d %d " % (len(name), len(contents)) + name + contents)
    return digest.hexdigest()


def find_best_costs(path: str | os.PathLike[str]) -> Path | None:
    """The table of best known costs that lies in a folder of instances, if there is one.

    Parameters
    ----------
    path
        As for `read_collection`; beside a set's file none is looked for, which could be about another.
    """
    usual = (Path(path) / name for name in _USUAL_NAMES)
    return next((table for table in usual if table.is_file()), None)


def read_best_costs(table: str | os.PathLike[str], collection: Collection) -> list[float]:
    """The best known cost of each instance.

    Parameters
    ----------
    table
        A CSV file with the columns name and best_known_cost (or optimum). The instances of a folder are looked up by
        their names; those of a set are as many, in the same order.
    collection
        The instances.
    """
    file = Path(table)
    with in_file(file):
        rows = list(_read_rows(file))
        if not collection.is_folder:
            return _take_in_order(rows, collection.instances)
        costs = dict(rows)
        if missing := [name for name in collection.names if name not in costs]:
            more = f" and of {len(missing) - 1} more" if len(missing) > 1 else ""
            raise FormatError(
                f"there is no cost of {missing[0]}{more}.",
                where=Where(field="name"),
                remedy="Add it, or move the file.",
            )
        return [costs[name] for name in collection.names]


def _take_in_order(rows: Sequence[tuple[str, float]], instances: Sequence[Instance]) -> list[float]:
    if len(rows) != len(instances):
        raise FormatError(
            f"there are {len(rows)} costs for {len(instances)} instances.", remedy="Give one for each, in their order."
        )
    for (name, _), instance in zip(rows, instances, strict=True):
        if instance.name and name and instance.name != name:
            raise FormatError(
                f"the cost of {name} stands where {instance.name} is.",
                where=Where(field="name"),
                remedy="Sort the table as the instances are.",
            )
    return [cost for _, cost in rows]


def _read_rows(table: Path) -> Iterator[tuple[str, float]]:
    reader = csv.DictReader(io.StringIO(decode_text(read_bytes(table))))
    columns = reader.fieldnames or ()
    column = next((name for name in _COST_COLUMNS if name in columns), None)
    if column is None or "name" not in columns:
        raise FormatError(
            "there are no columns name and best_known_cost (or optimum).", remedy="Name them so in the first line."
        )
    try:
        for row in reader:
            where = Where(line=reader.line_num, field=column)
            cost = parse_float(row[column] or "", where)
            if cost <= 0:
                raise FormatError(f"the cost is {cost:g}.", where=where, remedy="Give one above 0.")
            yield row["name"] or "", cost
    except csv.Error as error:
        raise FormatError(f"the table cannot be read: {error}.", remedy="Save it as CSV anew.") from error


def _list_instances(folder: Path) -> list[Path]:
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".vrp")
    except OSError as error:
        message = f"the folder cannot be read ({error.strerror})."
        raise FileError(message, where=Where(file=str(folder)), remedy="Check the path.") from error
    if not files:
        raise FileError(
            "there is no .vrp file in this folder.", where=Where(file=str(folder)), remedy="Name one that has some."
        )
    return files
