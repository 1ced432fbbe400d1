"""Searches, and whatever is too large for a batch: a few threads, and a short queue before them."""

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

from dynaroute.service.refusals import refuse_busy
from dynaroute.solving.result import Result

__all__ = ["Search", "SearchPool"]

_NICENESS = 5

Work = Callable[[Callable[[], bool]], Result]


class Search:
    """One search, waiting or running.

    Parameters
    ----------
    work
        Does it; is given a function to ask whether to end early.
    seconds
        How long it will take, as far as can be told.
    longest
        Seconds after which it is ended, where it does not end itself.
    """

    def __init__(self, work: Work, seconds: float, longest: float = math.inf) -> None:
        self.seconds = seconds
        self.longest = longest
        self.waited = 0.0
        self._work = work
        self._since = time.perf_counter()
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End it early; its best so far is its result."""
        self._cancelled.set()

    def run(self) -> Result:
        """Do it, in the calling thread."""
        begin = time.perf_counter()
        self.waited = begin - self._since
        return self._work(lambda: self._cancelled.is_set() or time.perf_counter() - begin > self.longest)


class SearchPool:
    """Runs searches in threads.

    Parameters
    ----------
    workers
        How many at the same time.
    most_waiting
        How many may wait.
    """

    def __init__(self, workers: int, most_waiting: int) -> None:
        self._threads = _make_threads(workers)
        self._workers = workers
        self._most_waiting = most_waiting
        self._outcomes: dict[Search, Future[Result]] = {}
        self._is_ending = False

    def widen(self, workers: int) -> None:
        """Run more searches at the same time from now on; nothing may have been queued yet.

        Parameters
        ----------
        workers
            How many; fewer than there are change nothing.
        """
        if workers <= self._workers:
            return
        assert not self._outcomes
        self._threads.shutdown(wait=False)
        self._threads = _make_threads(workers)
        self._workers = workers

    @property
    def running(self) -> int:
        """Searches that run."""
        return min(len(self._outcomes), self._workers)

    @property
    def waiting(self) -> int:
        """Searches that wait."""
        return len(self._outcomes) - self.running

    @property
    def delay(self) -> float:
        """Seconds until all that is there is done, as far as can be told."""
        return sum(search.seconds for search in self._outcomes) / self._workers

    def refuse_full(self) -> None:
        """Refuse one more search where too many wait.

        Raises
        ------
        RequestError
            429.
        """
        if len(self._outcomes) >= self._workers + self._most_waiting:
            raise refuse_busy(self.delay, "searches")

    def submit(self, search: Search) -> asyncio.Future[Result]:
        """Queue a search.

        Parameters
        ----------
        search
            One that was never queued before.
        """
        if self._is_ending:
            search.cancel()
        loop = asyncio.get_running_loop()
        outcome = self._threads.submit(search.run)
        self._outcomes[search] = outcome
        # of the thread's own future: the one that is awaited may be cancelled while the thread still works
        outcome.add_done_callback(lambda _: self._forget(search, loop))
        return asyncio.wrap_future(outcome)

    def withdraw(self, search: Search) -> None:
        """Drop a search that has not begun; whoever awaits it is cancelled.

        Parameters
        ----------
        search
            One that was queued.
        """
        if search in self._outcomes:
            self._outcomes[search].cancel()

    def end_all(self) -> None:
        """End all searches early, those that wait, or are still to come, as soon as they begin."""
        self._is_ending = True
        for search in self._outcomes:
            search.cancel()

    def stop(self) -> None:
        """End the threads; nothing may be waiting any more."""
        self.end_all()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, search: Search, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the service has ended in the meantime
            loop.call_soon_threadsafe(self._outcomes.pop, search, None)


def _make_threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "dynaroute-search", initializer=_give_way)


def _give_way() -> None:
    """Let whoever answers requests go first, where processors are scarce; for the calling thread alone."""
    if sys.platform == "linux":  # elsewhere it would be the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
