"""``--trace``: cost over time, written during the search."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TextIO

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import OptionError, Where
from dynaroute.base.files import open_to_write
from dynaroute.cli.shared.jobs import SolveJob
from dynaroute.cli.shared.output import refuse_missing_folder
from dynaroute.solving.options import SolveOptions

if TYPE_CHECKING:
    from dynaroute.search.search import Improvement

__all__ = ["check_trace", "open_trace"]

TRACE_SUFFIXES = (".csv", ".jsonl")

_Row = Mapping[str, str | int | float]


def check_trace(path: Path | None, options: SolveOptions) -> None:
    """Raise if a trace cannot be written, before any work is done."""
    if path is None:
        return
    place = Where(file=str(path), field="--trace")
    if not options.searches:
        raise OptionError("only a search has a trace.", where=place, remedy="Add --time-limit.")
    if path.suffix.lower() not in TRACE_SUFFIXES:
        remedy = "Name a .csv file, or a .jsonl file for one JSON object per line."
        raise OptionError("traces cannot be written in this format.", where=place, remedy=remedy)
    refuse_missing_folder(path)


@contextmanager
def open_trace(path: Path | None, jobs: Sequence[SolveJob]) -> Iterator[Callable[[int, Improvement], None]]:
    """Write every improvement at once as a line, so that the file can be watched.

    Parameters
    ----------
    path
        A .csv or .jsonl file; None writes nothing.
    jobs
        The instances; if there are several, each line has a name.

    Yields
    ------
    Callable[[int, Improvement], None]
        Call it with the index of an instance and each improvement, from any thread.
    """
    if path is None:
        yield lambda index, improvement: None
        return
    file = open_to_write(path)
    columns = ["instance", "seconds", "cost"] if len(jobs) > 1 else ["seconds", "cost"]
    lock = Lock()
    with file:
        write_row = (_write_csv if path.suffix.lower() == ".csv" else _write_json)(file, columns)

        def write(index: int, improvement: Improvement) -> None:
            row: _Row = {
                "instance": jobs[index].name,
                "seconds": round(improvement.seconds, 6),
                "cost": plain_number(improvement.cost),
            }
            with lock:
                write_row({column: row[column] for column in columns})
                file.flush()

        yield write


def _write_csv(file: TextIO, columns: Sequence[str]) -> Callable[[_Row], object]:
    table = csv.DictWriter(file, columns, lineterminator="\n")
    table.writeheader()
    return table.writerow


def _write_json(file: TextIO, columns: Sequence[str]) -> Callable[[_Row], object]:
    return lambda row: file.write(f"{json.dumps(row)}\n")
