"""A job, which may continue after a restart of the service."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dynaroute.base.errors import DynarouteError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.service.jobs.file import KeptJob
from dynaroute.service.messages.refusals import INTERNAL, describe_error
from dynaroute.service.messages.replies import write_json
from dynaroute.service.messages.response_schemas import (
    ErrorResponse,
    ImprovementSchema,
    JobResponse,
    JobState,
    SolveResponse,
    TimingSchema,
)
from dynaroute.service.work.engine import describe_improvement, describe_result
from dynaroute.solving.carried_options import continue_from
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result

if TYPE_CHECKING:
    from dynaroute.search.search import Improvement

_SHORTEST = 0.1  # seconds for the rest of a search that a restart interrupted near its end
_CONTINUED = "The search was interrupted by a restart of the service, and continued from its best routes."


class Job:
    """One job.

    Parameters
    ----------
    instance
        The problem; None if it was solved before a restart.
    options
        How to solve it.
    notes
        Notes about the input.
    replica
        Name of this replica of the service; empty without replicas.
    """

    def __init__(
        self, instance: Instance | None, options: SolveOptions, notes: tuple[str, ...], replica: str = ""
    ) -> None:
        self.identifier = f"{replica}-{secrets.token_hex(16)}" if replica else secrets.token_hex(16)
        self.name = "" if instance is None else instance.name
        self.options = options
        self.notes = notes
        self.state: JobState = "queued"
        self.improvements = 0
        self.result: SolveResponse | None = None
        self.error: ErrorResponse | None = None
        self.ended_at: float | None = None
        self.is_suspended = False  # the service stops, and the job continues after its restart
        self._instance = instance
        self._latest: Improvement | None = None
        self._best: ImprovementSchema | None = None
        self._best_json: str | None = None
        self._began_at: float | None = None
        self._seconds_before = 0.0  # of the search before a restart
        self._changed = asyncio.Event()

    @classmethod
    def restore(cls, kept: KeptJob) -> Job:
        """Restore a job from disk: finished, or to continue from its best routes."""
        answer = kept.answer
        job = cls(kept.instance, kept.options, kept.notes)
        job.identifier, job.name = answer.id, answer.instance
        job.improvements, job._best, job._seconds_before = answer.improvements, answer.best, answer.seconds
        if kept.ended_at is not None:
            job.state, job.result, job.error = answer.state, answer.result, answer.error
            job.ended_at = job._began_at = time.perf_counter() - max(0.0, time.time() - kept.ended_at)
        return job

    @property
    def instance(self) -> Instance:
        """The problem; available until the job has ended."""
        assert self._instance is not None
        return self._instance

    @property
    def remaining(self) -> SolveOptions:
        """Options to continue with: as given, or from the best routes for the remaining time."""
        if self._best is None or self.options.time_limit is None:
            return self.options
        known = continue_from(self.options, Solution(tuple(map(tuple, self._best.routes))))
        return replace(known, time_limit=max(_SHORTEST, self.options.time_limit - self._seconds_before))

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended."""
        return self.ended_at is not None

    @property
    def best(self) -> ImprovementSchema | None:
        """The best so far, computed on demand, because a search may find hundreds per second."""
        if self._best is None and self._latest is not None:
            found = self._latest
            seconds = self._seconds_before + found.seconds
            self._best = describe_improvement(self.instance, found.solution, found.cost, seconds)
        return self._best

    @property
    def best_json(self) -> str | None:
        """The best so far as JSON, written once for all listeners."""
        if self._best_json is None and self.best is not None:
            self._best_json = self.best.model_dump_json()
        return self._best_json

    async def wait_for_change(self) -> None:
        """Wait until the job starts, improves, or ends."""
        await self._changed.wait()

    async def wait_for_end(self) -> None:
        """Wait until the job has ended, or is put aside until a restart."""
        while not (self.has_ended or self.is_suspended):
            await self.wait_for_change()

    def begin(self) -> None:
        """Record that the search runs."""
        self.state = "running"
        self._began_at = time.perf_counter()
        self._announce()

    def record(self, improvement: Improvement) -> None:
        """Record a better solution. A search that continues after a restart starts with a known one."""
        if self.has_ended or (self._seconds_before and self._best is not None and improvement.cost >= self._best.cost):
            return
        self.improvements += 1
        self._latest = improvement
        self._best = self._best_json = None
        self._announce()

    def finish(self, result: Result, waited: float, largest: int) -> None:
        """Record the result, if it can be sent.

        Raises
        ------
        RequestError
            413 if the answer would have more than `largest` bytes.
        """
        timing = TimingSchema(waited=waited, solved=result.seconds, batch=1)
        before = self._seconds_before
        answer = describe_result(
            replace(
                result,
                seconds=before + result.seconds,
                trace=tuple((before + seconds, cost) for seconds, cost in result.trace),
                messages=(*result.messages, _CONTINUED) if before else result.messages,
            ),
            timing,
            self.notes,
        )
        write_json(answer.model_dump(), largest)  # as a part of events and of the file, too
        self.result = answer
        # when the routes were found, possibly long before the search ended
        seconds = before + (result.trace[-1][0] if result.trace else result.seconds)
        self._best = describe_improvement(self.instance, result.solution, result.cost, seconds)
        self._best_json = None
        self._end("stopped" if result.is_interrupted else "finished")

    def fail(self, error: Exception) -> None:
        """Record why it failed."""
        self.error = describe_error(error if isinstance(error, DynarouteError) else INTERNAL)
        self._end("failed")

    def abandon(self) -> None:
        """Record that it was stopped before it started."""
        self._end("stopped")

    def suspend(self) -> None:
        """Record that it will continue after a restart."""
        self.is_suspended = True
        self._announce()

    def describe(self) -> JobResponse:
        """Convert the job to a response."""
        until = time.perf_counter() if self.ended_at is None else self.ended_at
        return JobResponse(
            id=self.identifier,
            state=self.state,
            instance=self.name,
            time_limit=self.options.time_limit,
            seconds=self._seconds_before + (0.0 if self._began_at is None else until - self._began_at),
            improvements=self.improvements,
            best=self.best,
            result=self.result,
            error=self.error,
        )

    def keep(self) -> KeptJob:
        """Convert the job to its form on disk."""
        ended_at = None if self.ended_at is None else time.time() - (time.perf_counter() - self.ended_at)
        return KeptJob(self.describe(), self.options, self.notes, self._instance, ended_at)

    def _end(self, state: JobState) -> None:
        _ = self.best  # while its instance still exists
        self._instance = None  # it may be large, and is no longer needed
        self.state = state
        self.ended_at = time.perf_counter()
        self._announce()

    def _announce(self) -> None:
        """Wake all waiting tasks; later ones wait for the next change."""
        self._changed.set()
        self._changed = asyncio.Event()
