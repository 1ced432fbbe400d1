"""Collections of instances, a folder of files or a set file, and their best known costs."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dynaroute.base.errors import FileError, FormatError, Where, in_file
from dynaroute.base.files import read_bytes
from dynaroute.formats.numbers import parse_float
from dynaroute.formats.read import read_set
from dynaroute.formats.registry import INSTANCE_SUFFIXES
from dynaroute.formats.text import decode_text
from dynaroute.formats.vrplib.solomon import looks_like_solomon
from dynaroute.problem.instance import Instance

_COST_COLUMNS = ("best_known_cost", "optimum")
_LOCK = "~$"  # prefix of Excel's lock files
_TABLES = ("best.csv", "best_known.csv", "optimum.csv")  # usual names for tables of best known costs


class Collection(NamedTuple):
    """Instances of one folder or one set file.

    Attributes
    ----------
    names
        File names for a folder; for a set, the instances' own names, which may be empty.
    instances
        The instances, at least one.
    is_by_name
        Whether each instance has its own file, so that costs are looked up by file name.
    """

    names: list[str]
    instances: list[Instance]
    is_by_name: bool


class BestCosts(NamedTuple):
    """Best known costs.

    Attributes
    ----------
    names
        Names of the instances in the table.
    costs
        Cost of each instance.
    """

    names: list[str]
    costs: list[float]


def read_collection(path: str | os.PathLike[str]) -> Collection:
    """Read every instance of a folder or file.

    Parameters
    ----------
    path
        A folder, whose instance files of any format, also sets, are read in order of name; or a file that `read_set`
        accepts.
    """
    files = list_instance_files(Path(path))
    sets = [read_set(file) for file in files]
    if all(len(each) == 1 for each in sets) and Path(path).is_dir():
        return Collection([file.stem for file in files], [each for (each,) in sets], is_by_name=True)
    instances = [instance for each in sets for instance in each]
    return Collection([instance.name or "" for instance in instances], instances, is_by_name=False)


def hash_collection(path: str | os.PathLike[str]) -> str:
    """Return a hash of the files' names and contents."""
    digest = hashlib.sha256()
    files = list_instance_files(Path(path))
    for file in files:
        with in_file(file):
            contents = read_bytes(file)
        name = file.name.encode() if len(files) > 1 or file.suffix.lower() == ".vrp" else b""  # a set's does not matter
        digest.update(b"%d %d " % (len(name), len(contents)) + name + contents)
    return digest.hexdigest()


def find_best_costs(path: str | os.PathLike[str]) -> Path | None:
    """Find the table of best known costs in a folder of instances, if there is one.

    Parameters
    ----------
    path
        As for `read_collection`. For a set file the answer is None: a table next to it may belong to another set.
    """
    usual = (Path(path) / name for name in _TABLES)
    return next((table for table in usual if table.is_file()), None)


def is_instance_file(file: Path) -> bool:
    """Whether a file of a folder holds instances, going by its name; and by its text, where that may be a note."""
    if file.suffix.lower() not in INSTANCE_SUFFIXES or not file.is_file() or file.name.startswith(_LOCK):
        return False
    return not (is_cost_table(file) or is_note(file))


def is_cost_table(file: Path) -> bool:
    """Whether a file has the name of a table of best known costs, so it is not an instance."""
    return file.name in _TABLES


def is_note(file: Path) -> bool:
    """Whether a .txt file in a folder is just a note, not an instance in Solomon's format."""
    if file.suffix.lower() != ".txt":
        return False
    with in_file(file):
        return not looks_like_solomon(decode_text(read_bytes(file)))


def read_best_costs(table: str | os.PathLike[str], collection: Collection) -> BestCosts:
    """Read the best known cost of each instance.

    Parameters
    ----------
    table
        A CSV file with the columns name and best_known_cost (or optimum). For a folder, instances are looked up by
        name; for a set, the rows must be in the same order.
    collection
        The instances.
    """
    file = Path(table)
    with in_file(file):
        rows = list(_read_rows(file))
        if not collection.is_by_name:
            return _take_in_order(rows, collection.instances)
        costs = dict(rows)
        if missing := [name for name in collection.names if name not in costs]:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise FormatError.about("name", f"there is no cost for {missing[0]}{more}.", "Add it, or move the file.")
        return BestCosts(collection.names, [costs[name] for name in collection.names])


def _take_in_order(rows: Sequence[tuple[str, float]], instances: Sequence[Instance]) -> BestCosts:
    if len(rows) != len(instances):
        raise FormatError(
            f"there are {len(rows)} costs for {len(instances)} instances.",
            remedy="Give one per instance, in the same order.",
        )
    called = {name for name, _ in rows}
    for (name, _), instance in zip(rows, instances, strict=True):
        # instances of a set without names are called by number, which the table does not use
        if instance.name in called and instance.name != name:
            raise FormatError.about(
                "name",
                f"this row is for {name}, but the instance here is {instance.name}.",
                "Put the rows in the order of the instances.",
            )
    return BestCosts([name for name, _ in rows], [cost for _, cost in rows])


def _read_rows(table: Path) -> Iterator[tuple[str, float]]:
    reader = csv.DictReader(io.StringIO(decode_text(read_bytes(table))))
    columns = reader.fieldnames or ()
    column = next((name for name in _COST_COLUMNS if name in columns), None)
    if column is None or "name" not in columns:
        raise FormatError(
            "there are no columns name and best_known_cost (or optimum).", remedy="Name the columns in the first line."
        )
    try:
        for row in reader:
            where = Where(line=reader.line_num, field=column)
            cost = parse_float(row[column] or "", where)
            if cost <= 0:
                raise FormatError(f"the cost is {cost:g}, not above 0.", where=where, remedy="Give one above 0.")
            yield row["name"] or "", cost
    except csv.Error as error:
        raise FormatError(f"the table cannot be read: {error}.", remedy="Save it as CSV again.") from error


def list_instance_files(path: Path) -> list[Path]:
    """List a folder's instance files in order of name; for a file, the file itself.

    Parameters
    ----------
    path
        A folder or a file.
    """
    if not path.is_dir():
        return [path]
    try:
        files = sorted(filter(is_instance_file, path.iterdir()))
    except OSError as error:
        message = f"the folder cannot be read ({error.strerror})."
        raise FileError(message, where=Where(file=str(path)), remedy="Check the path.") from error
    if files:
        return files
    raise FileError(
        "the folder contains no instance files.",
        where=Where(file=str(path)),
        remedy=f"Instance files end in {', '.join(INSTANCE_SUFFIXES)}; subfolders are not searched.",
    )
