from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, cast

import pytest
from policies import draw_instances

from dynaroute.base.errors import InstanceError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.search import Improvement
from dynaroute.service.jobs.jobs import Job, JobStore
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.web.endpoints.jobs import stream_events
from dynaroute.service.work.engine import Engine
from dynaroute.service.work.searches import SearchPool
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import SAVINGS, Result

(INSTANCE,) = draw_instances(3)
SEARCH = SolveOptions(improve="search", time_limit=5.0)
ROUTES = Solution(((1,), (2,), (3,)))


class FakeEngine:
    """Finds something better whenever the test says so."""

    def __init__(self) -> None:
        self.to_do: list[Callable[[], None]] = []
        self.improve = threading.Semaphore(0)
        self.improvements = 2
        self.error: Exception | None = None
        self.trace: tuple[tuple[float, float], ...] = ()

    def search(
        self,
        instance: Instance,
        _: SolveOptions,
        is_cancelled: Callable[[], bool],
        on_improvement: Callable[[Improvement], object],
    ) -> Result:
        if self.error is not None:
            raise self.error
        cost = 10.0
        for number in range(self.improvements):
            while not self.improve.acquire(timeout=0.01):
                if is_cancelled():
                    return Result(instance, ROUTES, cost, 0.1, SAVINGS, is_interrupted=True)
            cost = 9.0 - number
            on_improvement(Improvement(float(number), cost, ROUTES))
        return Result(instance, ROUTES, cost, 0.1, SAVINGS, trace=self.trace)


class Desk:
    """A store of jobs, and the engine behind it."""

    def __init__(self, *, most: int, age: float, workers: int = 1, waiting: int = 10, largest: int = 10**6) -> None:
        self.engine = FakeEngine()
        self.pool = SearchPool(workers, waiting)
        self.store = JobStore(cast(Engine, self.engine), self.pool, most=most, age=age, largest_answer=largest)

    def add(self) -> Job:
        job = Job(INSTANCE, SEARCH, ("a note",))
        self.store.add(job)
        return job

    async def add_finished(self) -> Job:
        job = self.add()
        self.engine.improve.release(2)
        await job.wait_for_end()
        return job


def play(scenario: Callable[[Desk], Coroutine[Any, Any, None]], **limits: Any) -> None:
    async def run() -> None:
        desk = Desk(**{"most": 10, "age": 1000.0, **limits})
        try:
            async with asyncio.timeout(60):
                await scenario(desk)
        finally:
            desk.pool.stop()

    asyncio.run(run())


async def until(job: Job, condition: Callable[[], bool]) -> None:
    while not condition():
        await job.wait_for_change()


def test_best_so_far_is_there_while_it_runs() -> None:
    async def scenario(desk: Desk) -> None:
        job = desk.add()
        assert job.describe().best is None
        desk.engine.improve.release()
        await until(job, lambda: job.improvements == 1)

        answer = desk.store.get(job.identifier).describe()

        assert answer.state == "running"
        assert answer.best is not None
        assert (answer.best.cost, answer.best.routes) == (9.0, [[1], [2], [3]])
        assert answer.result is None

    play(scenario)


def test_finished_job_has_its_result() -> None:
    async def scenario(desk: Desk) -> None:
        answer = (await desk.add_finished()).describe()

        assert answer.state == "finished"
        assert answer.result is not None
        assert answer.result.cost == 8.0
        assert answer.result.messages == ["a note"]
        assert answer.improvements == 2

    play(scenario)


def test_best_of_a_finished_job_says_when_it_was_found() -> None:
    async def scenario(desk: Desk) -> None:
        desk.engine.trace = ((0.01, 9.0), (0.02, 8.0))

        answer = (await desk.add_finished()).describe()

        assert answer.best is not None
        assert answer.result is not None
        assert (answer.best.seconds, answer.result.seconds) == (0.02, 0.1)
        assert (answer.best.cost, answer.best.routes) == (answer.result.cost, answer.result.routes)

    play(scenario)


def test_deleting_stops_it_and_returns_the_best() -> None:
    async def scenario(desk: Desk) -> None:
        job = desk.add()
        desk.engine.improve.release()
        await until(job, lambda: job.improvements == 1)

        answer = (await desk.store.remove(job.identifier)).describe()

        assert answer.state == "stopped"
        assert answer.best is not None
        assert answer.best.cost == 9.0
        assert answer.result is not None
        assert answer.result.is_interrupted

    play(scenario)


def test_finished_job_can_be_deleted_once() -> None:
    async def scenario(desk: Desk) -> None:
        job = await desk.add_finished()

        removed = await desk.store.remove(job.identifier)

        assert removed.describe().state == "finished"
        with pytest.raises(RequestError) as caught:
            await desk.store.remove(job.identifier)
        assert caught.value.status == 404

    play(scenario)


def test_job_that_waits_is_deleted_at_once() -> None:
    async def scenario(desk: Desk) -> None:
        running, waiting = desk.add(), desk.add()
        await until(running, lambda: running.state == "running")

        answer = (await desk.store.remove(waiting.identifier)).describe()

        assert (answer.state, answer.best, answer.seconds) == ("stopped", None, 0.0)
        assert running.state == "running"

    play(scenario)


def test_failure_is_told() -> None:
    async def scenario(desk: Desk) -> None:
        desk.engine.error = InstanceError("this cannot be.")
        job = desk.add()
        await job.wait_for_end()

        answer = job.describe()

        assert answer.state == "failed"
        assert answer.error is not None
        assert (answer.error.code, answer.error.message) == ("instance", "this cannot be.")

    play(scenario)


def test_unforeseen_failure_tells_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(desk: Desk) -> None:
        desk.engine.error = ZeroDivisionError("secret.py")
        job = desk.add()
        await job.wait_for_end()

        assert "secret" not in job.describe().model_dump_json()

    play(scenario)
    assert "secret.py" in caplog.text


def test_oldest_finished_job_makes_room() -> None:
    async def scenario(desk: Desk) -> None:
        first, second = await desk.add_finished(), await desk.add_finished()

        desk.add()

        assert len(desk.store) == 2
        with pytest.raises(RequestError):
            desk.store.get(first.identifier)
        assert desk.store.get(second.identifier) is second

    play(scenario, most=2)


def test_too_many_unfinished_jobs_are_refused() -> None:
    async def scenario(desk: Desk) -> None:
        desk.add()
        desk.add()
        with pytest.raises(RequestError) as caught:
            desk.add()
        assert caught.value.status == 429
        assert caught.value.headers["Retry-After"] == "10"

    play(scenario, most=2)


def test_full_queue_of_searches_is_refused_and_not_kept() -> None:
    async def scenario(desk: Desk) -> None:
        desk.add()
        desk.add()
        with pytest.raises(RequestError) as caught:
            desk.add()
        assert caught.value.status == 429
        assert len(desk.store) == 2

    play(scenario, waiting=1)


def test_refused_job_costs_nobody_a_result() -> None:
    async def scenario(desk: Desk) -> None:
        finished = await desk.add_finished()
        desk.add()
        desk.add()

        with pytest.raises(RequestError) as caught:
            desk.add()

        assert caught.value.status == 429
        assert desk.store.get(finished.identifier) is finished

    play(scenario, most=3, waiting=1)


def test_old_jobs_are_forgotten() -> None:
    async def scenario(desk: Desk) -> None:
        job = await desk.add_finished()
        with pytest.raises(RequestError) as caught:
            desk.store.get(job.identifier)
        assert caught.value.status == 404

    play(scenario, age=1e-9)


def test_stopping_all_ends_what_runs_and_what_waits() -> None:
    async def scenario(desk: Desk) -> None:
        running, waiting = desk.add(), desk.add()
        await until(running, lambda: running.state == "running")

        desk.store.stop_all()

        await running.wait_for_end()
        await waiting.wait_for_end()
        assert (running.state, waiting.state) == ("stopped", "stopped")

    play(scenario)


async def collect(events: AsyncIterator[bytes]) -> list[str]:
    return [event.decode() async for event in events]


def names(events: list[str]) -> list[str]:
    return [event.partition("\n")[0].removeprefix("event: ") for event in events if event.startswith("event")]


def test_all_listeners_hear_the_end() -> None:
    async def scenario(desk: Desk) -> None:
        job = desk.add()
        listening = [asyncio.create_task(collect(stream_events(job, 60.0))) for _ in range(3)]
        desk.engine.improve.release(2)

        for events in await asyncio.gather(*listening):
            assert names(events)[-1] == "end"
            assert "improvement" in names(events)
            assert '"cost":8.0' in events[-1]

    play(scenario)


def test_late_listener_gets_the_best_so_far_first() -> None:
    async def scenario(desk: Desk) -> None:
        job = desk.add()
        desk.engine.improve.release()
        await until(job, lambda: job.improvements == 1)
        events = stream_events(job, 60.0)

        first = (await anext(events)).decode()

        assert first.startswith("event: improvement\nid: 1\ndata: {")
        assert '"cost":9.0' in first
        desk.engine.improve.release()
        assert names(await collect(events)) == ["improvement", "end"]

    play(scenario)


def test_listener_of_a_finished_job_gets_best_and_end() -> None:
    async def scenario(desk: Desk) -> None:
        job = await desk.add_finished()

        assert names(await collect(stream_events(job, 60.0))) == ["improvement", "end"]

    play(scenario)


def test_silence_is_broken_by_heartbeats() -> None:
    async def scenario(desk: Desk) -> None:
        job = desk.add()
        await until(job, lambda: job.state == "running")

        assert (await anext(stream_events(job, 0.001))).startswith(b":")

    play(scenario)


def test_name_of_the_replica_stands_before_the_identifier() -> None:
    replica, dash, random = Job(INSTANCE, SEARCH, (), "one").identifier.partition("-")

    assert (replica, dash) == ("one", "-")
    assert len(bytes.fromhex(random)) == 16
    assert "-" not in Job(INSTANCE, SEARCH, ()).identifier


def test_a_job_whose_answer_would_be_too_large_fails() -> None:
    async def scenario(desk: Desk) -> None:
        answer = (await desk.add_finished()).describe()

        assert (answer.state, answer.result) == ("failed", None)
        assert answer.error is not None and answer.error.code == "too_large"
        assert answer.best is not None

    play(scenario, largest=100)
