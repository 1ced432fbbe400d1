"""Writing jobs to disk, in order, in a separate thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from dynaroute.service.jobs.file import JobFile
from dynaroute.service.jobs.job import Job

_GAP = 1.0  # least seconds between writes of a running job: at most this much is lost if the machine fails


class JobArchive:
    """Keeps jobs in a file, or nowhere; then they end with the service.

    Parameters
    ----------
    file
        The file; None keeps nothing.
    """

    def __init__(self, file: JobFile | None = None) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, "dynaroute-jobs")  # starts with the first write
        self._due: set[str] = set()

    @property
    def is_kept(self) -> bool:
        """Whether jobs survive a restart."""
        return self._file is not None

    def load(self) -> list[Job]:
        """Load all jobs, oldest first."""
        return [] if self._file is None else [Job.restore(kept) for kept in self._file.load()]

    def add(self, job: Job) -> None:
        """Write a new job."""
        if self._file is not None:
            self._write(self._file.add, job.keep())

    def update(self, job: Job) -> None:
        """Write the state of a job."""
        if self._file is not None:
            kept = job.keep()
            self._write(self._file.update, kept.answer, kept.ended_at)

    def update_soon(self, job: Job) -> None:
        """Write the state of a job, at most once a second."""
        if self._file is not None and job.identifier not in self._due:
            self._due.add(job.identifier)
            asyncio.get_running_loop().call_later(_GAP, self._update_due, job)

    def remove(self, job: Job) -> None:
        """Delete a job."""
        if self._file is not None:
            self._write(self._file.remove, job.identifier)

    async def settle(self) -> None:
        """Wait until everything is written."""
        if self._file is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, lambda: None)

    def close(self) -> None:
        """Write what is pending, and close."""
        if self._file is not None:
            self._write(self._file.close)
        self._thread.shutdown(wait=True)

    def _write(self, write: Callable[..., None], *values: object) -> None:
        with suppress(RuntimeError):  # the service has ended meanwhile
            self._thread.submit(write, *values)

    def _update_due(self, job: Job) -> None:
        self._due.discard(job.identifier)
        if not (job.has_ended or job.is_suspended):  # otherwise it has already been written
            self.update(job)
