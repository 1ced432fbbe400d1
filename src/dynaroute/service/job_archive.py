"""Jobs on their way to disk: written by a thread of its own, in the order in which things happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from dynaroute.service.job import Job
from dynaroute.service.job_file import JobFile

__all__ = ["JobArchive"]

_GAP = 1.0  # seconds between two notes of a job that runs: as much of a search is lost when the machine fails


class JobArchive:
    """Keeps jobs in a file, or nowhere: then they end with the service.

    Parameters
    ----------
    file
        Which nobody else uses; None keeps nothing.
    """

    def __init__(self, file: JobFile | None = None) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, "dynaroute-jobs")  # which begins with the first thing to write
        self._due: set[str] = set()

    @property
    def is_kept(self) -> bool:
        """Whether jobs outlive the service."""
        return self._file is not None

    def load(self) -> list[Job]:
        """All jobs of before, the oldest first."""
        return [] if self._file is None else [Job.restore(kept) for kept in self._file.load()]

    def add(self, job: Job) -> None:
        """Keep a new job."""
        if self._file is not None:
            self._write(self._file.add, job.keep())

    def update(self, job: Job) -> None:
        """Keep what is known of a job."""
        if self._file is not None:
            kept = job.keep()
            self._write(self._file.update, kept.answer, kept.ended_at)

    def update_soon(self, job: Job) -> None:
        """Keep what is known of a job, but not more than once a second."""
        if self._file is not None and job.identifier not in self._due:
            self._due.add(job.identifier)
            asyncio.get_running_loop().call_later(_GAP, self._update_due, job)

    def remove(self, job: Job) -> None:
        """Keep a job no longer."""
        if self._file is not None:
            self._write(self._file.remove, job.identifier)

    async def settle(self) -> None:
        """Wait until all that was to be kept is kept."""
        if self._file is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, lambda: None)

    def close(self) -> None:
        """Finish what is to be kept, and end."""
        if self._file is not None:
            self._write(self._file.close)
        self._thread.shutdown(wait=True)

    def _write(self, write: Callable[..., None], *values: object) -> None:
        with suppress(RuntimeError):  # the service has ended in the meantime
            self._thread.submit(write, *values)

    def _update_due(self, job: Job) -> None:
        self._due.discard(job.identifier)
        if not (job.has_ended or job.is_put_aside):  # else it has been told already
            self.update(job)
