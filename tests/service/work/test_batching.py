from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from policies import draw_instances

from dynaroute.base.errors import InstanceError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.work.batching import Batcher, Solved
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import SAVINGS, Result

INSTANCES = draw_instances(3, 4, 5, 6, 7, 8)


class FakeSolver:
    """Solves nothing, but remembers what it was asked, and waits where it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[Instance]] = []
        self.threads: set[int] = set()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.poison: Instance | None = None

    def solve(self, instances: Sequence[Instance], options: SolveOptions) -> list[Result]:
        self.batches.append(list(instances))
        self.threads.add(threading.get_ident())
        assert self.may_go_on.wait(60)
        if any(instance is self.poison for instance in instances):
            raise InstanceError("this one is bad.")
        return [Result(instance, Solution(((1,),)), float(instance.size), 0.0, SAVINGS) for instance in instances]


def run(
    solver: FakeSolver,
    scenario: Callable[[Batcher], Coroutine[Any, Any, None]],
    *,
    largest: int = 4,
    most_work: int = 1_000,
    most_waiting: int = 100,
) -> list[int]:
    """Play a scenario; return the sizes of the batches that were reported."""
    sizes: list[int] = []

    async def play() -> None:
        batcher = Batcher(
            solver.solve,
            largest=largest,
            most_work=most_work,
            patience=0.001,
            most_waiting=most_waiting,
            on_batch=sizes.append,
        )
        batcher.start()
        try:
            async with asyncio.timeout(60):
                await scenario(batcher)
        finally:
            solver.may_go_on.set()
            await batcher.stop()

    asyncio.run(play())
    return sizes


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)


def test_requests_at_the_same_time_are_solved_together() -> None:
    async def scenario(batcher: Batcher) -> None:
        solved = await asyncio.gather(*(batcher.solve(instance, SolveOptions()) for instance in INSTANCES[:4]))
        assert [answer.result.cost for answer in solved] == [3, 4, 5, 6]
        assert {answer.timing.batch for answer in solved} == {4}

    solver = FakeSolver()

    assert run(solver, scenario) == [4]
    assert threading.get_ident() not in solver.threads


def test_batch_has_a_largest_size() -> None:
    async def scenario(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.solve(instance, SolveOptions()) for instance in INSTANCES))

    assert run(FakeSolver(), scenario) == [4, 2]


def test_batch_has_most_work_but_at_least_one_request() -> None:
    async def scenario(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.solve(instance, SolveOptions(augment=True)) for instance in INSTANCES[:4]))

    assert run(FakeSolver(), scenario, most_work=8 * 7) == [2, 1, 1]


def test_largest_size_of_one_solves_each_alone() -> None:
    async def scenario(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.solve(instance, SolveOptions()) for instance in INSTANCES[:3]))

    assert run(FakeSolver(), scenario, largest=1) == [1, 1, 1]


def test_next_batch_collects_while_one_runs() -> None:
    solver = FakeSolver()
    solver.may_go_on.clear()

    async def scenario(batcher: Batcher) -> None:
        first = asyncio.create_task(batcher.solve(INSTANCES[0], SolveOptions()))
        await until(lambda: len(solver.batches) == 1)
        others = [asyncio.create_task(batcher.solve(instance, SolveOptions())) for instance in INSTANCES[1:4]]
        await until(lambda: batcher.waiting == 3)
        solver.may_go_on.set()
        await asyncio.gather(first, *others)

    assert run(solver, scenario) == [1, 3]


def test_other_options_make_another_batch() -> None:
    async def scenario(batcher: Batcher) -> None:
        options = [SolveOptions(), SolveOptions(augment=True), SolveOptions(decode="greedy")]
        await asyncio.gather(*(batcher.solve(INSTANCES[index], options[index]) for index in range(3)))

    solver = FakeSolver()

    assert run(solver, scenario) == [2, 1]
    assert solver.batches == [[INSTANCES[0], INSTANCES[2]], [INSTANCES[1]]]


def test_bad_instance_fails_alone() -> None:
    solver = FakeSolver()
    solver.poison = INSTANCES[1]

    async def scenario(batcher: Batcher) -> None:
        outcomes = await asyncio.gather(
            *(batcher.solve(instance, SolveOptions()) for instance in INSTANCES[:3]), return_exceptions=True
        )
        assert isinstance(outcomes[1], InstanceError)
        assert [outcome.result.cost for outcome in outcomes if isinstance(outcome, Solved)] == [3, 5]

    run(solver, scenario)


def test_full_queue_is_refused_with_a_time_to_come_back() -> None:
    solver = FakeSolver()
    solver.may_go_on.clear()

    async def scenario(batcher: Batcher) -> None:
        first = asyncio.create_task(batcher.solve(INSTANCES[0], SolveOptions()))
        await until(lambda: len(solver.batches) == 1)
        waiting = [asyncio.create_task(batcher.solve(instance, SolveOptions())) for instance in INSTANCES[1:3]]
        await until(lambda: batcher.waiting == 2)
        with pytest.raises(RequestError) as caught:
            await batcher.solve(INSTANCES[3], SolveOptions())
        assert caught.value.status == 429
        assert int(caught.value.headers["Retry-After"]) >= 1
        solver.may_go_on.set()
        await asyncio.gather(first, *waiting)

    run(solver, scenario, most_waiting=2)


def test_request_whose_client_left_is_not_solved() -> None:
    solver = FakeSolver()
    solver.may_go_on.clear()

    async def scenario(batcher: Batcher) -> None:
        first = asyncio.create_task(batcher.solve(INSTANCES[0], SolveOptions()))
        await until(lambda: len(solver.batches) == 1)
        left, stayed = (asyncio.create_task(batcher.solve(instance, SolveOptions())) for instance in INSTANCES[1:3])
        await until(lambda: batcher.waiting == 2)
        left.cancel()
        await asyncio.sleep(0)
        solver.may_go_on.set()
        await asyncio.gather(first, stayed)

    run(solver, scenario)

    assert solver.batches == [[INSTANCES[0]], [INSTANCES[2]]]
