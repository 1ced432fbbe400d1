from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from kernel_devices import device_of, draw_instance, needs_compiler
from policies import draw_instances

from dynaroute.base.errors import InstanceError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search import improvers
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import Improvement
from dynaroute.service.work.engine import Engine
from dynaroute.service.work.gathering import Gathering
from dynaroute.service.work.searches import PendingSearch, SearchPool
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import SAVINGS, Result

INSTANCES = draw_instances(3, 4, 5, 6)
SECOND = SolveOptions(time_limit=1.0)


def never() -> bool:
    return False


class FakeSearch:
    """Searches nothing, but remembers what it was asked, and goes on until it is cancelled or its time is up."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[Instance], list[Solution] | None, SolveOptions]] = []
        self.error: Exception | None = None

    def __call__(
        self,
        instances: Sequence[Instance],
        starts: Sequence[Solution] | None,
        options: SolveOptions,
        observers: Observers,
        entered: float,
    ) -> list[Result]:
        self.asked.append((list(instances), None if starts is None else list(starts), options))
        if self.error is not None:
            raise self.error
        assert options.total_time is not None and observers.is_cancelled is not None
        assert observers.on_improvement is not None
        solutions = [build_by_savings(instance) for instance in instances]
        for row, solution in enumerate(solutions):
            observers.on_improvement(row, Improvement(0.0, float(row), solution))
        while not (is_cancelled := observers.is_cancelled()) and time.perf_counter() < entered + options.total_time:
            time.sleep(0.005)
        return [
            Result(instance, solution, 1.0, 0.0, SAVINGS, "search", options.limit, (), ((0.0, 2.0),), 10, is_cancelled)
            for instance, solution in zip(instances, solutions, strict=True)
        ]


def search_all(
    gathering: Gathering,
    instances: Sequence[Instance],
    options: Sequence[SolveOptions],
    is_cancelled: Sequence[Callable[[], bool]] | None = None,
    on_improvement: Callable[[Improvement], object] = lambda _: None,
) -> list[Result]:
    asked = is_cancelled or [never] * len(instances)
    with ThreadPoolExecutor(len(instances)) as threads:
        running = [
            threads.submit(gathering.search, instance, how, ends, on_improvement)
            for instance, how, ends in zip(instances, options, asked, strict=True)
        ]
        return [search.result(60) for search in running]


def test_searches_that_ask_alike_are_done_together_in_the_time_of_one() -> None:
    fake, began = FakeSearch(), time.perf_counter()

    results = search_all(Gathering(fake, patience=0.2), INSTANCES, [SolveOptions(time_limit=0.3)] * 4)

    (asked,) = fake.asked
    assert sorted(instance.size for instance in asked[0]) == [3, 4, 5, 6]
    assert (asked[2].total_time, asked[2].time_limit) == (0.3, None)
    assert [result.instance for result in results] == list(INSTANCES)
    assert all(str(result.limit) == "0.3 s" and not result.is_interrupted for result in results)
    assert time.perf_counter() - began < 4


def test_searches_that_ask_for_something_else_have_a_group_of_their_own() -> None:
    fake = FakeSearch()

    search_all(
        Gathering(fake, patience=0.2), INSTANCES[:3], [SolveOptions(time_limit=limit) for limit in (0.3, 0.4, 0.3)]
    )

    assert sorted(len(instances) for instances, _, _ in fake.asked) == [1, 2]


def test_one_that_is_cancelled_leaves_at_once_and_the_others_go_on_from_where_they_are() -> None:
    fake, gone = FakeSearch(), threading.Event()
    threading.Timer(0.5, gone.set).start()
    long = SolveOptions(time_limit=1.2)

    first, second = search_all(Gathering(fake, patience=0.2), INSTANCES[:2], [long] * 2, [gone.is_set, never])

    assert first.is_interrupted and first.seconds < 1.1
    assert not second.is_interrupted and second.seconds >= 1.2
    assert second.iterations == 20
    assert len(second.trace) == 2
    assert [len(instances) for instances, _, _ in fake.asked] == [2, 1]
    assert fake.asked[1][1] == [second.solution]


def test_every_search_is_told_of_its_own_improvements() -> None:
    told: list[float] = []

    search_all(
        Gathering(FakeSearch(), patience=0.2),
        INSTANCES[:3],
        [SolveOptions(time_limit=0.3)] * 3,
        on_improvement=lambda improvement: told.append(improvement.cost),
    )

    assert sorted(told) == [0.0, 1.0, 2.0]


def test_error_reaches_all_of_a_group() -> None:
    fake = FakeSearch()
    fake.error = InstanceError("this one is bad.")
    gathering = Gathering(fake, patience=0.2)

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(gathering.search, INSTANCES[0], SECOND, never, lambda _: None) for _ in range(2)]
        for search in running:
            with pytest.raises(InstanceError, match="bad"):
                search.result(60)


@pytest.mark.parametrize(
    "options",
    [
        SolveOptions(),
        SolveOptions(improve="local"),
        SolveOptions(iterations=10),
        SolveOptions(time_limit=1.0, iterations=10),
        SolveOptions(time_limit=1.0, target=5.0),
    ],
)
def test_only_searches_that_time_alone_ends_are_gathered(options: SolveOptions) -> None:
    assert Gathering.takes(SECOND)
    assert not Gathering.takes(options)


def test_wider_pool_runs_more_at_the_same_time() -> None:
    pool = SearchPool(1, 0)
    pool.widen(3)
    together = threading.Barrier(3)

    def work(_: Callable[[], bool]) -> Result:
        together.wait(30)
        return Result(INSTANCES[0], Solution(((1, 2, 3),)), 1.0, 0.0, SAVINGS)

    async def run() -> int:

        return len(await asyncio.gather(*(pool.submit(PendingSearch(work, 1.0)) for _ in range(3))))

    try:
        assert asyncio.run(run()) == 3
    finally:
        pool.stop()


@needs_compiler
def test_service_searches_together_where_there_is_a_gpu() -> None:
    engine = Engine("cpu", kernels=device_of())
    engine.prepare()
    problems = [draw_instance(20), draw_instance(30)]
    options = SolveOptions(time_limit=0.5)
    told: list[Improvement] = []

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(engine.search, problem, options, never, told.append) for problem in problems]
        results = [search.result(60) for search in running]

    assert engine.gathers
    for problem, result in zip(problems, results, strict=True):
        assert check(problem, result.solution) == []
        assert result.cost < result.first_cost
        assert result.method.endswith("search 0.5 s")
    assert len(told) >= 2


def test_without_a_gpu_every_search_has_a_core() -> None:
    assert not Engine("cpu").gathers


def test_the_service_loads_the_code_of_every_usual_search(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(improvers, "_load", loaded.append)
    Engine("cpu").warm_up()

    assert set(loaded) == {"2opt", "local", "search", "large", "teams", "limits"}
