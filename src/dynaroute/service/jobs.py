"""Jobs: searches that nobody waits for, kept until they are fetched, deleted or too old.

All of this is touched by the event loop alone; the thread of a search only posts messages to it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from dynaroute.errors import DynarouteError, Where
from dynaroute.instance import Instance
from dynaroute.service.answers import ErrorAnswer, ImprovementAnswer, JobAnswer, JobState, SolveAnswer, TimingAnswer
from dynaroute.service.engine import Engine, describe_improvement, describe_result
from dynaroute.service.refusals import INTERNAL, RequestError, describe_error, refuse_busy
from dynaroute.service.searches import Search, SearchPool
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result

if TYPE_CHECKING:
    from dynaroute.improve.search import Improvement

__all__ = ["Job", "JobStore"]

_LOG = logging.getLogger("dynaroute.service")


class Job:
    """One job, from its beginning to its end.

    Parameters
    ----------
    instance, options
        What to solve, and how.
    notes
        Remarks about the input.
    """

    def __init__(self, instance: Instance, options: SolveOptions, notes: tuple[str, ...]) -> None:
        self.identifier = secrets.token_hex(16)
        self.instance = instance
        self.options = options
        self.state: JobState = "queued"
        self.improvements = 0
        self.result: SolveAnswer | None = None
        self.error: ErrorAnswer | None = None
        self.ended_at: float | None = None
        self._notes = notes
        self._latest: Improvement | None = None
        self._best: ImprovementAnswer | None = None
        self._began_at: float | None = None
        self._changed = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.ended_at is not None

    @property
    def best(self) -> ImprovementAnswer | None:
        """The best so far; worked out when somebody asks, since a search may find hundreds a second."""
        if self._best is None and self._latest is not None:
            found = self._latest
            self._best = describe_improvement(self.instance, found.solution, found.cost, found.seconds)
        return self._best

    async def wait_for_change(self) -> None:
        """Wait until the job begins, finds something better, or ends."""
        await self._changed.wait()

    async def wait_for_end(self) -> None:
        """Wait until nothing will change any more."""
        while not self.has_ended:
            await self.wait_for_change()

    def begin(self) -> None:
        """Note that the search runs."""
        self.state = "running"
        self._began_at = time.perf_counter()
        self._announce()

    def record(self, improvement: Improvement) -> None:
        """Note a better solution."""
        self.improvements += 1
        self._latest = improvement
        self._best = None
        self._announce()

    def finish(self, result: Result, waited: float) -> None:
        """Note the result."""
        timing = TimingAnswer(waited=waited, solved=result.seconds, batch=1)
        self.result = describe_result(result, timing, self._notes)
        # when the routes were found, which may be long before the search ended
        seconds = result.trace[-1][0] if result.trace else result.seconds
        self._best = describe_improvement(self.instance, result.solution, result.cost, seconds)
        self._end("stopped" if result.is_interrupted else "finished")

    def fail(self, error: Exception) -> None:
        """Note why there is no result."""
        self.error = describe_error(error if isinstance(error, DynarouteError) else INTERNAL)
        self._end("failed")

    def abandon(self) -> None:
        """Note that it was stopped before it began."""
        self._end("stopped")

    def describe(self) -> JobAnswer:
        """The job as an answer."""
        until = time.perf_counter() if self.ended_at is None else self.ended_at
        return JobAnswer(
            id=self.identifier,
            state=self.state,
            instance=self.instance.name,
            time_limit=self.options.time_limit,
            seconds=0.0 if self._began_at is None else until - self._began_at,
            improvements=self.improvements,
            best=self.best,
            result=self.result,
            error=self.error,
        )

    def _end(self, state: JobState) -> None:
        self.state = state
        self.ended_at = time.perf_counter()
        self._announce()

    def _announce(self) -> None:
        """Wake all who wait, and let later ones wait for the next change."""
        self._changed.set()
        self._changed = asyncio.Event()


class JobStore:
    """The jobs of a service.

    Parameters
    ----------
    engine
        Solves.
    pool
        Runs searches.
    most
        Jobs that are kept.
    age
        Seconds that a finished job is kept.
    """

    def __init__(self, engine: Engine, pool: SearchPool, *, most: int, age: float) -> None:
        self._engine = engine
        self._pool = pool
        self._most = most
        self._age = age
        self._jobs: dict[str, Job] = {}  # the oldest first
        self._searches: dict[str, Search] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: Job) -> None:
        """Keep a job, and queue its search.

        Parameters
        ----------
        job
            A new one.

        Raises
        ------
        RequestError
            429 if there are too many jobs, or searches that wait.
        """
        outdated = self._choose_outdated()
        post = asyncio.get_running_loop().call_soon_threadsafe

        def work(is_cancelled: Callable[[], bool]) -> Result:
            post(job.begin)
            return self._engine.search(
                job.instance, job.options, is_cancelled, lambda improvement: post(job.record, improvement)
            )

        search = Search(work, job.options.time_limit or 1.0)
        outcome = self._pool.submit(search)
        if outdated is not None:  # only now: a job that is refused costs nobody a result
            del self._jobs[outdated.identifier]
        self._jobs[job.identifier] = job
        self._searches[job.identifier] = search
        task = asyncio.create_task(self._follow(job, search, outcome))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def get(self, identifier: str) -> Job:
        """Find a job.

        Parameters
        ----------
        identifier
            As `Job.identifier`.

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
                remedy="It may have been deleted, or be too old; POST /v1/jobs makes a new one.",
            )
        return job

    async def remove(self, identifier: str) -> Job:
        """Forget a job, stop it, and return it when it has ended.

        Parameters
        ----------
        identifier
            As `Job.identifier`.

        Raises
        ------
        RequestError
            404 if there is none.
        """
        job = self.get(identifier)
        del self._jobs[identifier]
        self._stop(job)
        await job.wait_for_end()
        return job

    def stop_all(self) -> None:
        """End all jobs early; they are kept."""
        for job in self._jobs.values():
            self._stop(job)

    def _stop(self, job: Job) -> None:
        search = self._searches.get(job.identifier)
        if search is None:
            return
        search.cancel()
        self._pool.withdraw(search)

    async def _follow(self, job: Job, search: Search, outcome: asyncio.Future[Result]) -> None:
        try:
            job.finish(await outcome, search.waited)
        except asyncio.CancelledError:
            job.abandon()
        except Exception as error:
            if not isinstance(error, DynarouteError):
                _LOG.exception("A job failed.")
            job.fail(error)
        finally:
            self._searches.pop(job.identifier, None)

    def _choose_outdated(self) -> Job | None:
        """The job that a new one would displace, if there is no room; refuse the new one if there cannot be any."""
        self._drop_old()
        if len(self._jobs) < self._most:
            return None
        oldest = next((job for job in self._jobs.values() if job.has_ended), None)
        if oldest is None:
            raise refuse_busy(self._pool.delay, "jobs")
        return oldest

    def _drop_old(self) -> None:
        now = time.perf_counter()
        old = [job for job in self._jobs.values() if job.ended_at is not None and now - job.ended_at > self._age]
        for job in old:
            del self._jobs[job.identifier]
