"""Jobs on disk, so that results survive a restart and unfinished jobs continue.

One SQLite file, which survives a crash at any moment. It is written by one thread, and used by one service at a time.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dynaroute.errors import DynarouteError, OptionError, Where
from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.formats.json_document import load_json
from dynaroute.instance import Instance
from dynaroute.service.response_schemas import JobResponse
from dynaroute.service.settings import PREFIX
from dynaroute.service.throttled_log import ThrottledLog
from dynaroute.solving.carried_options import options_from_json, options_to_json
from dynaroute.solving.options import SolveOptions

__all__ = ["JobFile", "KeptJob"]

_NAME = "jobs.sqlite3"
_VERSION = 1
_PATIENCE = 10.0  # seconds to wait for another service to release the file, since it may be stopping
_TABLES = """
    CREATE TABLE IF NOT EXISTS jobs (
        id TEXT PRIMARY KEY, number INTEGER, options TEXT, notes TEXT, answer TEXT, ended_at REAL
    );
    CREATE TABLE IF NOT EXISTS problems (id TEXT PRIMARY KEY, instance TEXT);
"""


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
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite would make it readable by everyone
            self._database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise OptionError(
                f"jobs cannot be kept in {folder}: {error}.",
                where=Where(field=f"{PREFIX}JOBS_FOLDER"),
                remedy=f"Name a writable folder that no other service uses. A damaged {_NAME} can be moved away, but "
                "its "
                "jobs are then lost.",
            ) from error

    def load(self) -> list[KeptJob]:
        """Load all jobs, oldest first, skipping unreadable ones."""
        try:
            rows = self._database.execute(
                "SELECT answer, options, notes, instance, ended_at "
                "FROM jobs LEFT JOIN problems USING (id) ORDER BY number"
            ).fetchall()
        except sqlite3.Error as error:  # parts of the file are damaged
            self._log.warn(f"Jobs on disk cannot be read and were skipped: {error}.")
            return []
        kept = [job for row in rows if (job := _restore(*row)) is not None]
        if len(kept) < len(rows):
            self._log.warn("Some jobs on disk cannot be read and were skipped.")
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
            self._database.execute("INSERT INTO problems VALUES (?, ?)", (job.answer.id, problem))

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

    def _prepare(self) -> None:
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("BEGIN EXCLUSIVE")  # the lock is held from here on
        self._database.execute("COMMIT")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"{_NAME} was written by another version of Dynaroute")
        self._database.executescript(_TABLES)
        self._database.execute(f"PRAGMA user_version = {_VERSION}")
        self._database.commit()

    def _change(self, write: Callable[[], None]) -> None:
        """Write in one transaction; an error is logged and does not affect requests."""
        try:
            with self._database:
                write()
        except sqlite3.Error as error:
            self._log.warn(f"Jobs cannot be written to disk: {error}.")


def _restore(answer: str, options: str, notes: str, instance: str | None, ended_at: float | None) -> KeptJob | None:
    """Restore a job from a row; None if it is damaged, or unfinished without its problem."""
    if instance is None and ended_at is None:
        return None
    with suppress(ValueError, TypeError, DynarouteError):
        return KeptJob(
            JobResponse.model_validate_json(answer),
            options_from_json(json.loads(options)),
            tuple(json.loads(notes)),
            None if instance is None else instance_from_json(load_json(instance)),
            ended_at,
        )
    return None


def _write_instance(instance: Instance) -> str:
    """Write an instance as JSON, the matrix row by row, so as not to block other threads."""
    document = instance_to_json(instance)
    matrix = document.pop("distances", None)
    text = json.dumps(document, allow_nan=False)
    if not isinstance(matrix, list):
        return text
    rows = ",".join(json.dumps(row, allow_nan=False) for row in matrix)
    return f'{text[:-1]}, "distances": [{rows}]}}'
