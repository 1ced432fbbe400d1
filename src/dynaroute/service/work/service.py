"""The parts of the service, and its life cycle; its metrics, and whose turn it is."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from threading import Thread
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.requests import Request

from dynaroute.base.errors import OptionError
from dynaroute.service.jobs.archive import JobArchive
from dynaroute.service.jobs.file import JobFile
from dynaroute.service.jobs.jobs import Job, JobStore
from dynaroute.service.messages.intake import Intake
from dynaroute.service.messages.reading import Problem
from dynaroute.service.messages.refusals import RequestError, make_unavailable_error
from dynaroute.service.messages.request_options import choose_options, count_work, refuse_excess
from dynaroute.service.messages.response_schemas import SolveResponse, TimingSchema
from dynaroute.service.messages.sizes import ReadingLimits
from dynaroute.service.settings import ServiceSettings
from dynaroute.service.work.batching import Batcher
from dynaroute.service.work.connections import Connections, afford_connections
from dynaroute.service.work.engine import Engine, describe_result
from dynaroute.service.work.searches import PendingSearch, SearchPool
from dynaroute.service.work.streams import Streams
from dynaroute.service.work.throttled_log import ThrottledLog
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result
from dynaroute.weights import shipped_models

Outcome = TypeVar("Outcome")

_MOST_IN_A_ROUND = 32  # requests per round of the event loop; fewer would make smaller batches
_LATENCIES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_LOG = logging.getLogger("dynaroute.service")
_LARGEST_SHARE = 8  # one request may be at most this fraction (1 in 8) of a batch
_GATHERED_SEARCHES = 64  # at the same time, if a GPU does them together
_STOPPING_BODY_SECONDS = 0.5  # seconds for bodies that arrive while the service stops
# share of connections that requests and streams may hold, so that some are left for new ones
_REQUESTS_SHARE = 0.5
_STREAMS_SHARE = 0.25


class Turns:
    """Lets the first requests of a round start at once, and the others in later rounds, in order."""

    def __init__(self) -> None:
        self._begun = 0  # in this round of the event loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def take(self) -> None:
        """Wait for a turn; with few requests there is no wait."""
        if self._begun < _MOST_IN_A_ROUND and not self._waiting:
            self._note_begin()
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _note_begin(self) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._begin_round)
        self._begun += 1

    def _begin_round(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < _MOST_IN_A_ROUND:
            turn = self._waiting.popleft()
            if not turn.done():  # its request was cancelled
                self._note_begin()
                turn.set_result(None)


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "dynaroute_requests", "Requests answered.", ["method", "route", "status"], registry=self._registry
        )
        self._latency = Histogram(
            "dynaroute_request_seconds",
            "Time from a request's head to its answer's end.",
            ["route"],
            buckets=_LATENCIES,
            registry=self._registry,
        )
        self._batches = Histogram(
            "dynaroute_batch_size", "Requests solved together.", buckets=_SIZES, registry=self._registry
        )
        ProcessCollector(registry=self._registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response; `route` is the path's template, because there may be any number of paths."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def count_batch(self, size: int) -> None:
        """Count a batch of requests."""
        self._batches.observe(size)

    def watch(self, name: str, description: str, measure: Callable[[], float]) -> None:
        """Expose the value of a function."""
        Gauge(f"dynaroute_{name}", description, registry=self._registry).set_function(measure)

    def expose(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)


class Service:
    """Everything behind the endpoints.

    Parameters
    ----------
    settings
        The limits.

    Raises
    ------
    OptionError
        If jobs cannot be kept in their folder.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.log = ThrottledLog()
        self.turns = Turns()
        self.active = 0  # requests that are not yet answered, including event streams
        self.is_stopping = False
        self.connections = Connections(afford_connections(settings.connections), settings.unread_bytes, self.log)
        self._most_requests = min(settings.requests, int(_REQUESTS_SHARE * self.connections.most))
        self.streams = Streams(
            most=min(settings.streams, int(_STREAMS_SHARE * self.connections.most)),
            most_of_job=settings.job_streams,
            most_of_client=settings.client_streams,
        )
        self.reading_limits = ReadingLimits(
            settings.customers, settings.stops, settings.vehicle_types, settings.name_length, settings.roads
        )
        self.intake = Intake(
            largest=settings.body_bytes,
            seconds=settings.body_seconds,
            most_held=settings.held_bytes,
            read_seconds=settings.read_seconds,
            read_bytes=settings.read_bytes,
            waits=settings.roads is not None,
        )
        self._engine = Engine(settings.device)
        self._searches = SearchPool(settings.search_workers, settings.waiting_searches)
        # separate, so that requests do not wait for jobs
        self._job_searches = SearchPool(settings.search_workers, settings.waiting_searches)
        self._archive = JobArchive(None if settings.jobs_folder is None else JobFile(settings.jobs_folder))
        self.jobs = JobStore(
            self._engine,
            self._job_searches,
            most=settings.jobs,
            age=settings.job_age_seconds,
            longest=settings.job_seconds,
            largest_answer=settings.answer_bytes,
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
        self.metrics.watch("waiting_solves", "Waiting small requests.", lambda: self._batcher.waiting)
        self.metrics.watch("waiting_searches", "Waiting larger requests.", lambda: self._searches.waiting)
        self.metrics.watch("running_searches", "Running larger requests.", lambda: self._searches.running)
        self.metrics.watch("waiting_jobs", "Waiting jobs.", lambda: self._job_searches.waiting)
        self.metrics.watch("running_jobs", "Running jobs.", lambda: self._job_searches.running)
        self.metrics.watch("jobs", "Stored jobs.", lambda: len(self.jobs))

    def start(self) -> None:
        """Start loading the models; requests are refused until then."""
        self.jobs.restore()
        self._batcher.start()
        self._preparation = asyncio.create_task(self._prepare())

    def begin_to_stop(self) -> None:
        """End searches with their best so far, and stop waiting for slow bodies."""
        self.is_stopping = True
        self.intake.shorten_deadlines(_STOPPING_BODY_SECONDS)
        self.jobs.stop_all()
        self._searches.end_all()
        self._job_searches.end_all()

    async def stop(self) -> None:
        """Stop all threads."""
        if self._preparation is not None:
            self._preparation.cancel()
        self._searches.stop()
        self._job_searches.stop()
        self.intake.stop()
        await self._batcher.stop()
        self._archive.close()

    @property
    def is_quiet(self) -> bool:
        """Whether all requests are answered."""
        return self.active == 0 and not self.turns and self.connections.stalled == 0

    def has_room(self) -> bool:
        """Whether another request may come in; a request with a very slow body may be dropped for it.

        Requests with unread answers count; event streams do not.
        """
        requests = self.active - len(self.streams) + self.connections.stalled
        return requests <= self._most_requests or self.intake.give_up_slowest()

    async def read(self, request: Request, parse: Callable[..., Outcome], **more: object) -> Outcome:
        """Read and parse the body of a request.

        Parameters
        ----------
        request
            A request whose body is unread.
        parse
            Takes the body, its content type, the limits of this service, and `more`.
        **more
            By name.
        """
        content_type = request.headers.get("content-type", "")
        parse_all = partial(parse, content_type=content_type, limits=self.reading_limits, **more)
        return await self.intake.take(request, parse_all)

    def refuse_unready(self) -> None:
        """Raise before the models are loaded, and while the service stops.

        Raises
        ------
        RequestError
            503.
        """
        if self.is_stopping:
            raise make_unavailable_error("stopping", "the service is being stopped.")
        if self._is_broken:
            raise RequestError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "broken",
                "the models cannot be loaded.",
                remedy="Tell the operator: the log has the reason, and the service must be restarted.",
            )
        if not self._is_ready:
            raise make_unavailable_error("starting", "the models are still being loaded.")

    def choose(self, problem: Problem) -> SolveOptions:
        """Fill in and check the options of a request."""
        return self._check(problem, choose_options(problem.options, "none", self.settings.solve_seconds))

    def choose_for_job(self, problem: Problem) -> SolveOptions:
        """Fill in and check the options of a job, which searches by default."""
        return self._check(problem, choose_options(problem.options, "search", self.settings.job_seconds))

    def is_batched(self, problem: Problem, options: SolveOptions) -> bool:
        """Whether a problem is solved in a batch with others."""
        is_small = count_work(options, problem.instance.size) <= self.settings.batch_work // _LARGEST_SHARE
        return is_small and not options.searches

    async def solve(self, problem: Problem, options: SolveOptions) -> SolveResponse:
        """Solve a problem: small ones in batches, large ones and searches separately."""
        if self.is_batched(problem, options):
            solved = await self._batcher.solve(problem.instance, options)
            return self._describe(problem, options, solved.result, solved.timing)
        search = PendingSearch(
            lambda is_cancelled: self._engine.search(problem.instance, options, is_cancelled, lambda _: None),
            options.time_limit or 1.0,
            math.inf if options.searches else self.settings.solve_seconds,
        )
        result = await self._run(search)
        timing = TimingSchema(waited=search.waited, solved=result.seconds, batch=1)
        return self._describe(problem, options, result, timing)

    async def work(self, work: Callable[[Callable[[], bool]], Outcome], seconds: float) -> Outcome:
        """Do other work that takes long, in turn with the searches.

        Parameters
        ----------
        work
            Gets a function that tells whether to end early: nobody waits any more, or the longest time is over.
        seconds
            Estimated duration.
        """
        return await self._run(PendingSearch(work, seconds, self.settings.solve_seconds))

    async def _run(self, search: PendingSearch[Outcome]) -> Outcome:
        self._searches.refuse_full()
        try:
            return await self._searches.submit(search)
        except asyncio.CancelledError:
            search.cancel()  # nobody is waiting for it
            raise

    async def add_job(self, problem: Problem, options: SolveOptions) -> Job:
        """Start a job; returns when it is on disk, if jobs are kept there."""
        job = Job(problem.instance, options, problem.notes, self.settings.replica)
        self.jobs.add(job)
        await self.jobs.settle()
        return job

    def _describe(self, problem: Problem, options: SolveOptions, result: Result, timing: TimingSchema) -> SolveResponse:
        is_late = result.is_interrupted and not options.searches and not self.is_stopping
        late = f"Building took longer than the {self.settings.solve_seconds:g} s that this service allows."
        return describe_result(result, timing, (*problem.notes, late) if is_late else problem.notes)

    async def _prepare(self) -> None:
        try:
            await asyncio.to_thread(self._engine.prepare)
        except Exception:
            _LOG.exception("The models cannot be loaded.")
            self._is_broken = True
            return
        if self._engine.gathers:  # their threads only wait for the GPU
            self._searches.widen(_GATHERED_SEARCHES)
            self._job_searches.widen(_GATHERED_SEARCHES)
        self._is_ready = True
        self.jobs.resume()
        try:
            await _run_apart(self._engine.warm_up)
        except Exception:
            _LOG.exception("What improves routes cannot be loaded.")
        self.intake.prepare()

    def _check(self, problem: Problem, options: SolveOptions) -> SolveOptions:
        # only names: paths would let strangers probe this machine's folders
        known = ("auto", "savings", *shipped_models())
        if options.model not in known:
            message = f"there is no model {str(options.model)[:80]!r}."
            raise OptionError.about("model", message, f"Use {', '.join(known)}.")
        refuse_excess(options, problem.instance.size, self.settings.work)
        return options


async def _run_apart(work: Callable[[], None]) -> None:
    """Do work in a thread that a stopping service does not wait for: compiling takes long and cannot be interrupted."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if outcome.done():  # cancelled
            return
        if error is None:
            outcome.set_result(None)
        else:
            outcome.set_exception(error)

    def run() -> None:
        error = None
        try:
            work()
        except Exception as caught:
            error = caught
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error)

    Thread(target=run, name="dynaroute-warm-up", daemon=True).start()
    await outcome
