"""Solving small simultaneous requests in one batch of the policy.

While a batch runs in the worker thread, the next one collects. So a busy service forms large batches without extra
delay; an idle one waits a few milliseconds for a second request.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from dynaroute.problem.instance import Instance
from dynaroute.service.messages.refusals import make_busy_error
from dynaroute.service.messages.request_options import can_be_solved_together, count_work
from dynaroute.service.messages.response_schemas import TimingSchema
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result

SolveBatch = Callable[[Sequence[Instance], SolveOptions], list[Result]]


class Solved(NamedTuple):
    """A result with its timing."""

    result: Result
    timing: TimingSchema


@dataclass(frozen=True, eq=False)
class _Ticket:
    """A waiting request."""

    instance: Instance
    options: SolveOptions
    answer: asyncio.Future[Solved]
    since: float

    @property
    def work(self) -> int:
        return count_work(self.options, self.instance.size)


class Batcher:
    """Solves requests with equal options together, in its own thread.

    Parameters
    ----------
    solve
        Solves instances together; called in the thread.
    largest
        Most requests per batch.
    most_work
        Most work per batch, as customers times solutions.
    patience
        Seconds that an idle batcher waits for a second request.
    most_waiting
        Most requests that may wait.
    on_batch
        Called with the size of every batch.
    """

    def __init__(
        self,
        solve: SolveBatch,
        *,
        largest: int,
        most_work: int,
        patience: float,
        most_waiting: int,
        on_batch: Callable[[int], None],
    ) -> None:
        self._solve = solve
        self._largest = largest
        self._most_work = most_work
        self._patience = patience if largest > 1 else 0.0
        self._most_waiting = most_waiting
        self._on_batch = on_batch
        self._waiting: deque[_Ticket] = deque()
        self._arrival = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "dynaroute-batch")
        self._task: asyncio.Task[None] | None = None
        self._pace = 0.01  # recent seconds per request

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        return len(self._waiting)

    def start(self) -> None:
        """Start solving."""
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Stop; nothing may be waiting."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def solve(self, instance: Instance, options: SolveOptions) -> Solved:
        """Solve one instance, together with other waiting requests.

        Raises
        ------
        RequestError
            429 if too many are waiting.
        """
        if len(self._waiting) >= self._most_waiting:
            raise make_busy_error(len(self._waiting) * self._pace, "requests")
        answer: asyncio.Future[Solved] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Ticket(instance, options, answer, time.perf_counter()))
        self._arrival.set()
        return await answer

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                self._arrival.clear()
                await self._arrival.wait()
                if self._patience:
                    await asyncio.sleep(self._patience)
            batch = self._take()
            if batch:
                await self._solve_batch(batch)

    def _take(self) -> list[_Ticket]:
        """Take the oldest request, and those that can be solved with it."""
        batch: list[_Ticket] = []
        others: deque[_Ticket] = deque()
        for ticket in self._waiting:
            if ticket.answer.done():  # its client has left
                continue
            (batch if self._fits(ticket, batch) else others).append(ticket)
        self._waiting = others
        return batch

    def _fits(self, ticket: _Ticket, batch: list[_Ticket]) -> bool:
        if not batch:
            return True
        if not can_be_solved_together(ticket.options, batch[0].options) or len(batch) == self._largest:
            return False
        return sum(other.work for other in batch) + ticket.work <= self._most_work

    async def _solve_batch(self, batch: list[_Ticket]) -> None:
        begin = time.perf_counter()
        self._on_batch(len(batch))
        outcomes = await asyncio.get_running_loop().run_in_executor(self._thread, self._solve_each, batch)
        seconds = time.perf_counter() - begin
        self._pace = seconds / len(batch)
        for ticket, outcome in zip(batch, outcomes, strict=True):
            if ticket.answer.done():
                continue
            if isinstance(outcome, Exception):
                ticket.answer.set_exception(outcome)
                continue
            timing = TimingSchema(waited=begin - ticket.since, solved=seconds, batch=len(batch))
            ticket.answer.set_result(Solved(outcome, timing))

    def _solve_each(self, batch: list[_Ticket]) -> Sequence[Result | Exception]:
        """Solve all together or, if that fails, one by one, so that only the bad instance fails."""
        try:
            return self._solve([ticket.instance for ticket in batch], batch[0].options)
        except Exception as error:
            if len(batch) == 1:
                return [error]
        return [outcome for ticket in batch for outcome in self._solve_each([ticket])]
