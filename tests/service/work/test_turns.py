"""Turns: a thousand requests at once do not make the event loop deaf."""

from __future__ import annotations

import asyncio

from dynaroute.service.work.service import Turns


async def count_rounds(turns: Turns, requests: int) -> list[int]:
    """In which round of the event loop each request began, from 0."""
    current = 0
    begun: list[int] = []

    async def enter() -> None:
        await turns.take()
        begun.append(current)

    tasks = [asyncio.create_task(enter()) for _ in range(requests)]
    while len(begun) < requests:
        await asyncio.sleep(0)
        current += 1
    await asyncio.gather(*tasks)
    return begun


def test_few_requests_begin_at_once() -> None:
    assert len(set(asyncio.run(count_rounds(Turns(), 5)))) == 1


def test_15_4_many_requests_leave_the_loop_time_for_others() -> None:
    rounds = asyncio.run(count_rounds(Turns(), 200))

    assert max(rounds.count(number) for number in rounds) < 50
    assert rounds == sorted(rounds)


def test_request_that_is_given_up_holds_up_nobody() -> None:
    async def run() -> int:
        turns = Turns()
        tasks = [asyncio.create_task(turns.take()) for _ in range(200)]
        await asyncio.sleep(0)
        for task in tasks[50:150]:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        return len(turns)

    assert asyncio.run(run()) == 0
