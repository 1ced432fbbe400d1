"""Jobs on disk, so that results survive a restart and unfinished jobs continue.

One SQLite file, which survives a crash at any moment. It is written by one thread, and used by one service at a time.
Every row carries a checksum. What is damaged all the same is left out, and named in the log.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynaroute.base.display import count_of
from dynaroute.base.errors import DynarouteError, FormatError, OptionError
from dynaroute.base.files import checksum_of
from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.formats.json.document import load_json
from dynaroute.problem.instance import Instance
from dynaroute.service.messages.response_schemas import JobResponse
from dynaroute.service.settings import PREFIX
from dynaroute.service.work.throttled_log import ThrottledLog
from dynaroute.solving.carried_options import options_from_json, options_to_json
from dynaroute.solving.options import SolveOptions

_NAME = "jobs.sqlite3"
_VERSION = 2  # version 1 had no checksums
_PATIENCE = 10.0  # seconds to wait for another service to release the file, since it may be stopping
_TABLES = (
    "CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, number INTEGER, options TEXT, notes TEXT, answer TEXT, "
    "ended_at REAL, checksum TEXT)",
    "CREATE TABLE IF NOT EXISTS problems (id TEXT PRIMARY KEY, instance TEXT, checksum TEXT)",
)
_JOB, _PROBLEM = "id, number, options, notes, answer, ended_at", "id, instance"  # what checksums are computed of
_LOG = logging.getLogger("dynaroute.service")
_ENDINGS = ("", "-wal", "-shm")  # of the files that make up a database
Cells = tuple[object, ...]


@dataclass(frozen=True)
class KeptJob:
    """A job on disk.

    Attributes
    ----------
    answer
        Its last response.
    options, notes
        Its options, and notes about the input.
    instance
        The problem; None once the job has ended.
    ended_at
        When it ended, as `time.time`; None before.
    """

    answer: JobResponse
    options: SolveOptions
    notes: tuple[str, ...]
    instance: Instance | None
    ended_at: float | None = None


class JobFile:
    """The file. Apart from the constructor, its methods never fail, and must be called by one thread at a time.

    Parameters
    ----------
    folder
        Its folder, created if necessary, readable only by this user.

    Raises
    ------
    OptionError
        If it cannot be used, or another service uses it.
    """

    def __init__(self, folder: str) -> None:
        self._log = ThrottledLog()
        path = Path(folder) / _NAME
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._database = _open(path)
            if (damage := find_damage(self._database)) is not None:
                self._replace_damaged(path, damage)
            _prepare(self._database)
        except (OSError, sqlite3.Error) as error:
            raise OptionError.about(
                f"{PREFIX}JOBS_FOLDER",
                f"jobs cannot be kept in {folder}: {error}.",
                f"Name a writable folder that no other service uses. A damaged {_NAME} can be moved away, but "
                "its jobs are then lost.",
            ) from error

    def load(self) -> list[KeptJob]:
        """Load all jobs, oldest first. Damaged ones are left out and named in the log; their rows stay in the file."""
        try:
            rows = self._database.execute(
                f"SELECT {_JOB}, jobs.checksum, instance, problems.checksum "
                "FROM jobs LEFT JOIN problems USING (id) ORDER BY number"
            ).fetchall()
        except sqlite3.Error as error:  # the file was damaged after it was opened
            self._log.warn(f"Jobs on disk cannot be read: {error}.")
            return []
        kept, faults = [], []
        for row in rows:
            try:
                kept.append(_restore(*row))
            except (ValueError, TypeError, DynarouteError) as error:
                reason = error.message if isinstance(error, FormatError) else "it cannot be read."
                faults.append(f"{row[0]}: {reason}")
        if faults:
            _LOG.warning("Damaged jobs in %s were left out, and stay in the file. %s", _NAME, " ".join(faults))
        return kept

    def add(self, job: KeptJob) -> None:
        """Write a new job."""
        assert job.instance is not None
        options = json.dumps(options_to_json(job.options))
        row = (job.answer.id, options, json.dumps(job.notes), job.answer.model_dump_json())
        problem = _write_instance(job.instance)

        def write() -> None:
            number = "(SELECT COALESCE(MAX(number), 0) + 1 FROM jobs)"
            self._database.execute(
                f"INSERT INTO jobs (id, number, options, notes, answer) VALUES (?, {number}, ?, ?, ?)", row
            )
            self._database.execute("INSERT INTO problems (id, instance) VALUES (?, ?)", (job.answer.id, problem))
            self._seal_job(job.answer.id)
            self._database.execute(f"UPDATE problems SET checksum = seal({_PROBLEM}) WHERE id = ?", (job.answer.id,))

        self._change(write)

    def update(self, answer: JobResponse, ended_at: float | None) -> None:
        """Write the state of a job; a finished job no longer needs its problem."""

        def write() -> None:
            self._database.execute(
                "UPDATE jobs SET answer = ?, ended_at = ? WHERE id = ?",
                (answer.model_dump_json(), ended_at, answer.id),
            )
            if ended_at is not None:
                self._database.execute("DELETE FROM problems WHERE id = ?", (answer.id,))
            self._seal_job(answer.id)

        self._change(write)

    def remove(self, identifier: str) -> None:
        """Delete a job."""

        def write() -> None:
            self._database.execute("DELETE FROM jobs WHERE id = ?", (identifier,))
            self._database.execute("DELETE FROM problems WHERE id = ?", (identifier,))

        self._change(write)

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._database.close()

    def _replace_damaged(self, path: Path, damage: str) -> None:
        """Keep a copy of a damaged file, and replace it by one with all that can be read of it."""
        is_sealed = _read_version(self._database) == _VERSION
        job, problem = (f"{columns}, {'checksum' if is_sealed else f'seal({columns})'}" for columns in (_JOB, _PROBLEM))
        rescue = rescue_rows(self._database, job, problem)
        self._database.close()
        rescued = path.with_name(f"{path.stem}.rescued{path.suffix}")
        rescued.unlink(missing_ok=True)
        with closing(_open(rescued)) as database:
            _prepare(database)
            with database:
                database.executemany(f"INSERT INTO jobs ({_JOB}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)", rescue.jobs)
                database.executemany(f"INSERT INTO problems ({_PROBLEM}, checksum) VALUES (?, ?, ?)", rescue.problems)
        aside = copy_aside(path)
        rescued.replace(path)  # only now, so that a service that is killed here loses nothing
        self._database = _open(path)
        _LOG.warning(
            "%s is damaged (%s): %s. The damaged file is kept as %s.", _NAME, damage, rescue.describe(), aside.name
        )

    def _seal_job(self, identifier: str) -> None:
        self._database.execute(f"UPDATE jobs SET checksum = seal({_JOB}) WHERE id = ?", (identifier,))

    def _change(self, write: Callable[[], None]) -> None:
        """Write in one transaction; an error is logged and does not affect requests."""
        try:
            with self._database:
                write()
        except sqlite3.Error as error:
            self._log.warn(f"Jobs cannot be written to disk: {error}.")


def _open(path: Path) -> sqlite3.Connection:
    """Open a file, for this service alone."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite would make it readable by everyone
    database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
    database.text_factory = lambda text: text.decode(errors="replace")  # a damaged one must not hide the other rows
    database.create_function("seal", -1, _compute_checksum, deterministic=True)
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("BEGIN EXCLUSIVE")  # the lock is held from here on
    database.execute("COMMIT")
    return database


def _prepare(database: sqlite3.Connection) -> None:
    """Create the tables, or bring those of an earlier version up to date."""
    version = _read_version(database)
    if version not in (0, 1, _VERSION):
        raise sqlite3.DatabaseError(f"{_NAME} was written by another version of Dynaroute")
    with database:
        database.execute("BEGIN")
        if version == 1:
            _add_checksums(database)
        for table in _TABLES:
            database.execute(table)
        database.execute(f"PRAGMA user_version = {_VERSION}")


def _add_checksums(database: sqlite3.Connection) -> None:
    for table in ("jobs", "problems"):
        database.execute(f"ALTER TABLE {table} ADD COLUMN checksum TEXT")
    count = database.execute(f"UPDATE jobs SET checksum = seal({_JOB})").rowcount
    database.execute(f"UPDATE problems SET checksum = seal({_PROBLEM})")
    if count:
        message = "%s of an earlier version in %s had no checksum, and were read without one."
        _LOG.warning(message, count_of(count, "job"), _NAME)


def _read_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


def _compute_checksum(*cells: object) -> str:
    return checksum_of(json.dumps(cells).encode())


def _restore(*row: Any) -> KeptJob:
    """Restore a job from its row, and the row of its problem.

    Raises
    ------
    FormatError
        If it was damaged or changed, or is unfinished without its problem.
    """
    *cells, checksum, instance, problem_checksum = row
    identifier, _, options, notes, answer, ended_at = cells
    if checksum != _compute_checksum(*cells):
        raise FormatError("its checksum does not match its content.")
    if ended_at is None and problem_checksum != _compute_checksum(identifier, instance):
        raise FormatError(
            "its problem is missing." if instance is None else "the checksum of its problem does not match."
        )
    return KeptJob(
        JobResponse.model_validate_json(answer),
        options_from_json(json.loads(options)),
        tuple(json.loads(notes)),
        None if instance is None else instance_from_json(load_json(instance)),
        ended_at,
    )


def _write_instance(instance: Instance) -> str:
    """Write an instance as JSON, the matrix row by row, so as not to block other threads."""
    document = instance_to_json(instance)
    matrix = document.pop("distances", None)
    text = json.dumps(document, allow_nan=False)
    if not isinstance(matrix, list):
        return text
    rows = ",".join(json.dumps(row, allow_nan=False) for row in matrix)
    return f'{text[:-1]}, "distances": [{rows}]}}'


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
