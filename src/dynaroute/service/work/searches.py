"""Running searches, and other work that takes long, in a few threads with a short queue."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from dynaroute.service.messages.refusals import make_busy_error

_NICENESS = 5

Outcome = TypeVar("Outcome")


class PendingSearch(Generic[Outcome]):
    """One search, or other long work, waiting or running.

    Parameters
    ----------
    work
        Runs it; gets a function that tells whether to end early.
    seconds
        Estimated duration.
    longest
        Seconds after which it is ended.
    """

    def __init__(
        self, work: Callable[[Callable[[], bool]], Outcome], seconds: float, longest: float = math.inf
    ) -> None:
        self.seconds = seconds
        self.longest = longest
        self.waited = 0.0
        self._work = work
        self._since = time.perf_counter()
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End it early, with the best so far."""
        self._cancelled.set()

    def run(self) -> Outcome:
        """Run it in the calling thread."""
        begin = time.perf_counter()
        self.waited = begin - self._since
        return self._work(lambda: self._cancelled.is_set() or time.perf_counter() - begin > self.longest)


class SearchPool:
    """Runs searches in threads.

    Parameters
    ----------
    workers
        Searches that run at the same time.
    most_waiting
        Searches that may wait.
    """

    def __init__(self, workers: int, most_waiting: int) -> None:
        self._threads = _make_threads(workers)
        self._workers = workers
        self._most_waiting = most_waiting
        self._outcomes: dict[PendingSearch[Any], Future[Any]] = {}
        self._is_ending = False

    def widen(self, workers: int) -> None:
        """Allow at least this many searches at the same time; nothing may have been queued yet."""
        if workers <= self._workers:
            return
        assert not self._outcomes
        self._threads.shutdown(wait=False)
        self._threads = _make_threads(workers)
        self._workers = workers

    @property
    def running(self) -> int:
        """Number of running searches."""
        return min(len(self._outcomes), self._workers)

    @property
    def waiting(self) -> int:
        """Number of waiting searches."""
        return len(self._outcomes) - self.running

    @property
    def delay(self) -> float:
        """Estimated seconds until all searches are done."""
        return sum(search.seconds for search in self._outcomes) / self._workers

    def refuse_full(self) -> None:
        """Raise if too many searches are waiting.

        Raises
        ------
        RequestError
            429.
        """
        if len(self._outcomes) >= self._workers + self._most_waiting:
            raise make_busy_error(self.delay, "searches")

    def submit(self, search: PendingSearch[Outcome]) -> asyncio.Future[Outcome]:
        """Queue a search."""
        if self._is_ending:
            search.cancel()
        loop = asyncio.get_running_loop()
        outcome = self._threads.submit(search.run)
        self._outcomes[search] = outcome
        # on the thread's own future, because the awaited one may be cancelled while the thread still works
        outcome.add_done_callback(lambda _: self._forget(search, loop))
        return asyncio.wrap_future(outcome)

    def withdraw(self, search: PendingSearch[Any]) -> None:
        """Drop a search that has not started, and cancel whoever awaits it."""
        if search in self._outcomes:
            self._outcomes[search].cancel()

    def end_all(self) -> None:
        """End all searches early; waiting and later ones end as soon as they start."""
        self._is_ending = True
        for search in self._outcomes:
            search.cancel()

    def stop(self) -> None:
        """Stop the threads; nothing may be waiting."""
        self.end_all()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, search: PendingSearch[Any], loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the service has ended meanwhile
            loop.call_soon_threadsafe(self._outcomes.pop, search, None)


def _make_threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "dynaroute-search", initializer=_lower_priority)


def _lower_priority() -> None:
    """Lower the priority of the calling thread, so that requests are answered first."""
    if sys.platform == "linux":  # on other systems this would affect the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
