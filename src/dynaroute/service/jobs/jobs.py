"""Jobs: background searches, kept until they are deleted or too old.

Only the event loop touches this; search threads just post messages to it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from dynaroute.base.errors import DynarouteError, Where
from dynaroute.service.jobs.archive import JobArchive
from dynaroute.service.jobs.job import Job
from dynaroute.service.messages.refusals import RequestError, make_busy_error
from dynaroute.service.work.engine import Engine
from dynaroute.service.work.searches import PendingSearch, SearchPool
from dynaroute.solving.result import Result

if TYPE_CHECKING:
    from dynaroute.search.search import Improvement

__all__ = ["Job", "JobStore"]

_LOG = logging.getLogger("dynaroute.service")


class JobStore:
    """The jobs of a service.

    Parameters
    ----------
    engine
        Solves instances.
    pool
        Runs searches.
    most
        Most jobs to keep.
    age
        Seconds that a finished job is kept.
    longest
        Most seconds of a job that builds routes without a search.
    largest_answer
        Most bytes of an answer; a job with a larger result fails.
    archive
        Keeps jobs on disk, if at all.
    """

    def __init__(
        self,
        engine: Engine,
        pool: SearchPool,
        *,
        most: int,
        age: float,
        longest: float = math.inf,
        largest_answer: int = sys.maxsize,
        archive: JobArchive | None = None,
    ) -> None:
        self._engine = engine
        self._archive = archive or JobArchive()
        self._pool = pool
        self._most = most
        self._age = age
        self._longest = longest
        self._largest_answer = largest_answer
        self._jobs: dict[str, Job] = {}  # oldest first
        self._searches: dict[str, PendingSearch[Result]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: Job) -> None:
        """Add a job, and queue its search.

        Raises
        ------
        RequestError
            429 if there are too many jobs or waiting searches.
        """
        outdated = self._choose_outdated()
        self._pool.refuse_full()
        if outdated is not None:  # only now, so that a refused job displaces no result
            self._forget(outdated)
        self._jobs[job.identifier] = job
        self._archive.add(job)
        self._begin(job)

    def restore(self) -> None:
        """Load the jobs on disk; unfinished ones wait for `resume`."""
        for job in self._archive.load():
            self._jobs[job.identifier] = job
        self._drop_old()

    def resume(self) -> None:
        """Continue unfinished jobs."""
        for job in self._jobs.values():
            if not job.has_ended and job.identifier not in self._searches:
                self._begin(job)

    async def settle(self) -> None:
        """Wait until the state of all jobs is on disk."""
        await self._archive.settle()

    def get(self, identifier: str) -> Job:
        """Find a job.

        Raises
        ------
        RequestError
            404 if there is none.
        """
        self._drop_old()
        job = self._jobs.get(identifier)
        if job is None:
            raise RequestError(
                HTTPStatus.NOT_FOUND,
                "not_found",
                "there is no such job.",
                where=Where(field="id"),
                remedy="It may have been deleted, or expired; POST /v1/jobs creates a new one.",
            )
        return job

    async def remove(self, identifier: str) -> Job:
        """Stop and delete a job, and return it when it has ended.

        Raises
        ------
        RequestError
            404 if there is none.
        """
        job = self.get(identifier)
        self._forget(job)
        self._stop(job)
        await self._archive.settle()
        await job.wait_for_end()
        return job

    def stop_all(self) -> None:
        """End all searches early; jobs on disk continue after a restart."""
        for job in self._jobs.values():
            if self._archive.is_kept and not job.has_ended:
                job.suspend()
                self._archive.update(job)
            self._stop(job)

    def _begin(self, job: Job) -> None:
        loop = asyncio.get_running_loop()

        def work(is_cancelled: Callable[[], bool]) -> Result:
            loop.call_soon_threadsafe(self._note_begin, job)
            return self._engine.search(
                job.instance,
                job.remaining,
                is_cancelled,
                lambda improvement: loop.call_soon_threadsafe(self._note_improvement, job, improvement),
            )

        longest = math.inf if job.options.searches else self._longest
        search = PendingSearch(work, job.options.time_limit or 1.0, longest)
        self._searches[job.identifier] = search
        task = asyncio.create_task(self._follow(job, search, self._pool.submit(search)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _note_begin(self, job: Job) -> None:
        job.begin()
        self._archive.update_soon(job)

    def _note_improvement(self, job: Job, improvement: Improvement) -> None:
        job.record(improvement)
        self._archive.update_soon(job)

    def _stop(self, job: Job) -> None:
        search = self._searches.get(job.identifier)
        if search is None:
            if not (job.has_ended or job.is_suspended):  # it was restored, but has not continued yet
                job.abandon()
            return
        search.cancel()
        self._pool.withdraw(search)

    async def _follow(self, job: Job, search: PendingSearch[Result], outcome: asyncio.Future[Result]) -> None:
        try:
            result = await outcome
            if not job.is_suspended:
                job.finish(result, search.waited, self._largest_answer)
        except asyncio.CancelledError:
            if not job.is_suspended:
                job.abandon()
        except Exception as error:
            if not isinstance(error, DynarouteError):
                _LOG.exception("A job failed.")
            job.fail(error)
        finally:
            self._searches.pop(job.identifier, None)
            if job.identifier in self._jobs and not job.is_suspended:
                self._archive.update(job)

    def _choose_outdated(self) -> Job | None:
        """Return the job that a new one displaces, if any; raise if there is no room."""
        self._drop_old()
        if len(self._jobs) < self._most:
            return None
        oldest = next((job for job in self._jobs.values() if job.has_ended), None)
        if oldest is None:
            raise make_busy_error(self._pool.delay, "jobs")
        return oldest

    def _drop_old(self) -> None:
        now = time.perf_counter()
        old = [job for job in self._jobs.values() if job.ended_at is not None and now - job.ended_at > self._age]
        for job in old:
            self._forget(job)

    def _forget(self, job: Job) -> None:
        del self._jobs[job.identifier]
        self._archive.remove(job)
