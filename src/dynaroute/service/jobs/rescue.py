"""What can still be read of a damaged file of jobs, and a copy of it to keep."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Rescue", "copy_aside", "find_damage", "rescue_rows"]

_ENDINGS = ("", "-wal", "-shm")  # of the files that make up a database

Cells = tuple[object, ...]


@dataclass(frozen=True)
class Rescue:
    """What can still be read of a damaged file.

    Attributes
    ----------
    jobs, problems
        Whole rows of the two tables, without damaged ones.
    lost
        Ids of the jobs that cannot be read.
    may_lack_ids
        Whether the list of ids is damaged too, so that more jobs may be lost.
    """

    jobs: tuple[Cells, ...]
    problems: tuple[Cells, ...]
    lost: tuple[str, ...]
    may_lack_ids: bool

    def describe(self) -> str:
        """Name what is lost."""
        if not self.lost and not self.may_lack_ids:
            return f"all of its {len(self.jobs)} jobs could be read"
        named = f": {', '.join(self.lost)}" if self.lost else ""
        more = "; there may be others, because the list of jobs is damaged too" if self.may_lack_ids else ""
        return f"{len(self.jobs)} of its jobs could be read, and {len(self.lost)} are lost{named}{more}"


def find_damage(database: sqlite3.Connection) -> str | None:
    """Return what SQLite finds wrong with a file; None if nothing."""
    try:
        (finding,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.OperationalError:  # the disk failed, or another process has the file: it need not be damaged
        raise
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if finding == "ok" else " ".join(str(finding).split())


def rescue_rows(database: sqlite3.Connection, jobs: str, problems: str) -> Rescue:
    """Read every row that can be read, one by one.

    Parameters
    ----------
    database
        The damaged file.
    jobs, problems
        The columns to read of the two tables.
    """
    ids, may_lack_ids = _list_ids(database)
    rows = {each: _read_row(database, f"SELECT {jobs} FROM jobs WHERE id = ?", each) for each in ids}
    stored = [_read_row(database, f"SELECT {problems} FROM problems WHERE id = ?", each) for each in ids]
    return Rescue(
        tuple(row for row in rows.values() if row is not None),
        tuple(row for row in stored if row is not None),
        tuple(each for each, row in rows.items() if row is None),
        may_lack_ids,
    )


def copy_aside(path: Path) -> Path:
    """Copy a closed database, remove its log of changes, and return the path of the copy."""
    aside = path.with_name(f"{path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}")
    for ending in _ENDINGS:
        with suppress(FileNotFoundError):
            shutil.copy2(f"{path}{ending}", f"{aside}{ending}")
    for ending in _ENDINGS[1:]:  # they would be applied to the file that takes its place
        Path(f"{path}{ending}").unlink(missing_ok=True)
    return aside


def _list_ids(database: sqlite3.Connection) -> tuple[list[str], bool]:
    """List ids from the index, and from the table forwards and backwards, up to the damaged pages.

    Returns
    -------
    tuple[list[str], bool]
        The ids, and whether none of the lists was complete.
    """
    found: dict[str, None] = {}
    is_damaged = True
    for order in (
        "INDEXED BY sqlite_autoindex_jobs_1",
        "NOT INDEXED ORDER BY rowid",
        "NOT INDEXED ORDER BY rowid DESC",
    ):
        with suppress(sqlite3.DatabaseError):
            for each in _list_column(database, f"SELECT id FROM jobs {order}"):
                found[each] = None
            is_damaged = False
    return list(found), is_damaged


def _list_column(database: sqlite3.Connection, question: str) -> Iterator[str]:
    for (cell,) in database.execute(question):
        if isinstance(cell, str):
            yield cell


def _read_row(database: sqlite3.Connection, question: str, identifier: str) -> Cells | None:
    with suppress(sqlite3.DatabaseError):
        row: Cells | None = database.execute(question, (identifier,)).fetchone()
        return row
    return None
