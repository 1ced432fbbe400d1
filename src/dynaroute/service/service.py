"""The parts of the service, put together, from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import math
from functools import partial
from http import HTTPStatus

from dynaroute.errors import OptionError, Where
from dynaroute.service.answers import SolveAnswer, TimingAnswer
from dynaroute.service.batching import Batcher
from dynaroute.service.choices import choose_options, count_work, refuse_excess
from dynaroute.service.connections import Connections, afford_connections
from dynaroute.service.engine import Engine, describe_result
from dynaroute.service.intake import Intake
from dynaroute.service.job_archive import JobArchive
from dynaroute.service.job_file import JobFile
from dynaroute.service.jobs import Job, JobStore
from dynaroute.service.metrics import Metrics
from dynaroute.service.reading import Problem
from dynaroute.service.refusals import RequestError, refuse_unavailable
from dynaroute.service.searches import Search, SearchPool
from dynaroute.service.seldom import SeldomLog
from dynaroute.service.settings import ServiceSettings
from dynaroute.service.sizes import ReadingLimits
from dynaroute.service.streams import Streams
from dynaroute.service.turns import Turns
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result
from dynaroute.weights import shipped_models

__all__ = ["Service"]

_LOG = logging.getLogger("dynaroute.service")
_LARGEST_SHARE = 8  # of a batch, that one request may be, as 1 in so many
_GATHERED_SEARCHES = 64  # at the same time, where a GPU does them together
_LAST_CHANCE = 0.5  # seconds for bodies that arrive while the service stops
# of all connections, that requests and streams may hold, so that some are left for whoever comes
_REQUESTS_SHARE = 0.5
_STREAMS_SHARE = 0.25


class Service:
    """Everything behind the endpoints.

    Parameters
    ----------
    settings
        The limits.

    Raises
    ------
    OptionError
        If jobs cannot be kept where they shall be.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.log = SeldomLog()
        self.turns = Turns()
        self.active = 0  # requests that have begun and are not answered yet, streams of events included
        self.is_stopping = False
        self.connections = Connections(afford_connections(settings.connections), settings.unread_bytes, self.log)
        self._most_requests = min(settings.requests, int(_REQUESTS_SHARE * self.connections.most))
        self.streams = Streams(
            most=min(settings.streams, int(_STREAMS_SHARE * self.connections.most)),
            most_of_job=settings.job_streams,
            most_of_client=settings.client_streams,
        )
        self.reading_limits = ReadingLimits(settings.customers, settings.stops, settings.name_length)
        self.intake = Intake(
            largest=settings.body_bytes,
            seconds=settings.body_seconds,
            most_held=settings.held_bytes,
            read_seconds=settings.read_seconds,
            read_bytes=settings.read_bytes,
        )
        self._engine = Engine(settings.device)
        self._searches = SearchPool(settings.search_workers, settings.waiting_searches)
        # of their own, so that nobody who waits for an answer waits for the jobs of others
        self._job_searches = SearchPool(settings.search_workers, settings.waiting_searches)
        self._archive = JobArchive(None if settings.jobs_folder is None else JobFile(settings.jobs_folder))
        self.jobs = JobStore(
            self._engine,
            self._job_searches,
            most=settings.jobs,
            age=settings.job_age_seconds,
            longest=settings.job_seconds,
            archive=self._archive,
        )
        self._batcher = Batcher(
            partial(self._engine.solve, seconds=settings.solve_seconds),
            largest=settings.batch_size,
            most_work=settings.batch_work,
            patience=settings.batch_seconds,
            most_waiting=settings.waiting_solves,
            on_batch=self.metrics.count_batch,
        )
        self._preparation: asyncio.Task[None] | None = None
        self._is_ready = False
        self._is_broken = False
        self.metrics.watch("waiting_solves", "Small requests that wait.", lambda: self._batcher.waiting)
        self.metrics.watch("waiting_searches", "Larger requests that wait.", lambda: self._searches.waiting)
        self.metrics.watch("running_searches", "Larger requests that are solved.", lambda: self._searches.running)
        self.metrics.watch("waiting_jobs", "Jobs that wait.", lambda: self._job_searches.waiting)
        self.metrics.watch("running_jobs", "Jobs that run.", lambda: self._job_searches.running)
        self.metrics.watch("jobs", "Jobs that are kept.", lambda: len(self.jobs))

    def start(self) -> None:
        """Load the models while the first requests are already told to wait."""
        self.jobs.restore()
        self._batcher.start()
        self._preparation = asyncio.create_task(self._prepare())

    def begin_to_stop(self) -> None:
        """End searches with their best, and do not wait for bodies that do not come."""
        self.is_stopping = True
        self.intake.hurry(_LAST_CHANCE)
        self.jobs.stop_all()
        self._searches.end_all()
        self._job_searches.end_all()

    async def stop(self) -> None:
        """End all threads."""
        if self._preparation is not None:
            self._preparation.cancel()
        self._searches.stop()
        self._job_searches.stop()
        self.intake.stop()
        await self._batcher.stop()
        self._archive.close()

    @property
    def is_quiet(self) -> bool:
        """Whether everybody has an answer."""
        return self.active == 0 and not self.turns and self.connections.stalled == 0

    def has_room(self) -> bool:
        """Whether one more request may come in; a request whose body comes in drops may have to go for it.

        Requests whose answers nobody takes are counted, streams of events are not.
        """
        requests = self.active - len(self.streams) + self.connections.stalled
        return requests <= self._most_requests or self.intake.give_up_slowest()

    def refuse_unready(self) -> None:
        """Refuse work before the models are loaded, and when the service stops.

        Raises
        ------
        RequestError
            503.
        """
        if self.is_stopping:
            raise refuse_unavailable("stopping", "the service is being stopped.")
        if self._is_broken:
            raise RequestError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "broken",
                "the models cannot be loaded.",
                remedy="Tell who runs the service: its log has the reason, and it must be started again.",
            )
        if not self._is_ready:
            raise refuse_unavailable("starting", "the models are still being loaded.")

    def choose(self, problem: Problem) -> SolveOptions:
        """The options of a request that waits for its answer.

        Parameters
        ----------
        problem
            Whose options to complete and to check.
        """
        return self._check(problem, choose_options(problem.options, "none", self.settings.solve_seconds))

    def choose_for_job(self, problem: Problem) -> SolveOptions:
        """The options of a job, which searches unless it is told not to.

        Parameters
        ----------
        problem
            Whose options to complete and to check.
        """
        return self._check(problem, choose_options(problem.options, "search", self.settings.job_seconds))

    def is_batched(self, problem: Problem, options: SolveOptions) -> bool:
        """Whether a problem is solved with others, and not by itself.

        Parameters
        ----------
        problem
            What to solve.
        options
            How.
        """
        is_small = count_work(options, problem.instance.size) <= self.settings.batch_work // _LARGEST_SHARE
        return is_small and not options.searches

    async def solve(self, problem: Problem, options: SolveOptions) -> SolveAnswer:
        """Solve a problem: a small one with others, a large one or a search by itself.

        Parameters
        ----------
        problem
            What to solve.
        options
            How.
        """
        if self.is_batched(problem, options):
            solved = await self._batcher.solve(problem.instance, options)
            return self._describe(problem, options, solved.result, solved.timing)
        search = Search(
            lambda is_cancelled: self._engine.search(problem.instance, options, is_cancelled, lambda _: None),
            options.time_limit or 1.0,
            math.inf if options.searches else self.settings.solve_seconds,
        )
        self._searches.refuse_full()
        try:
            result = await self._searches.submit(search)
        except asyncio.CancelledError:
            search.cancel()  # nobody waits for it any more
            raise
        timing = TimingAnswer(waited=search.waited, solved=result.seconds, batch=1)
        return self._describe(problem, options, result, timing)

    async def add_job(self, problem: Problem, options: SolveOptions) -> Job:
        """Begin a job, and return it when it is on disk, if that is where jobs are kept.

        Parameters
        ----------
        problem
            What to solve.
        options
            How.
        """
        job = Job(problem.instance, options, problem.notes, self.settings.replica)
        self.jobs.add(job)
        await self.jobs.settle()
        return job

    def _describe(self, problem: Problem, options: SolveOptions, result: Result, timing: TimingAnswer) -> SolveAnswer:
        is_late = result.is_interrupted and not options.searches and not self.is_stopping
        late = f"Building took longer than the {self.settings.solve_seconds:g} s of this service."
        return describe_result(result, timing, (*problem.notes, late) if is_late else problem.notes)

    async def _prepare(self) -> None:
        try:
            await asyncio.to_thread(self._engine.prepare)
        except Exception:
            _LOG.exception("The models cannot be loaded.")
            self._is_broken = True
            return
        if self._engine.gathers:  # a thread of each waits for the GPU, and no core is busy
            self._searches.widen(_GATHERED_SEARCHES)
            self._job_searches.widen(_GATHERED_SEARCHES)
        self._is_ready = True
        self.jobs.resume()
        try:
            await asyncio.to_thread(self._engine.warm_up)
        except Exception:
            _LOG.exception("What improves routes cannot be loaded.")
        self.intake.prepare()

    def _check(self, problem: Problem, options: SolveOptions) -> SolveOptions:
        # names alone: a path would let strangers look for folders of this machine
        known = ("auto", "savings", *shipped_models())
        if options.model not in known:
            message = f"there is no model {str(options.model)[:80]!r}."
            raise OptionError(message, where=Where(field="model"), remedy=f"Use {', '.join(known)}.")
        refuse_excess(options, problem.instance.size, self.settings.work)
        return options
