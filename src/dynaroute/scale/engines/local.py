"""The engine for one machine: worker processes that stay loaded and solve one block at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from dynaroute.base.errors import DynarouteError
from dynaroute.base.machine import count_cores
from dynaroute.scale.engines.devices import list_gpus
from dynaroute.scale.engines.engine import Retries, WorkersNow
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work, Worker, describe_fault

_MOST_ON_GPU = 4  # workers per GPU: reading, checking and writing use the CPU, and take longer than decoding
_MOST_FALSE_STARTS = 3  # give up when so many workers in a row die before they are ready
_EXIT_SECONDS = 5.0  # time for a worker to exit by itself


@dataclass(frozen=True)
class LocalEngine:
    """Worker processes on this machine.

    Attributes
    ----------
    workers
        Number of processes; None means one per core, or up to four per GPU if a policy runs on GPUs.
    """

    workers: int | None = None

    def count_workers(self, work: Work) -> int:
        """Return the number of workers for this work."""
        if self.workers is not None:
            return self.workers
        gpus = len(list_gpus(work.options))
        return max(gpus, min(count_cores(), _MOST_ON_GPU * gpus)) if gpus else count_cores()

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        """Solve all blocks; see `BatchEngine`."""
        processes = _WorkerProcesses(work, self.count_workers(work), iter(blocks), tell)
        try:
            yield from processes.solve()
        finally:
            processes.end()


class _Ready(NamedTuple):
    """Sent by a worker when it is ready for its first block."""


@dataclass
class _WorkerProcess:
    """A worker process, the connection to it, and the block that it is solving."""

    process: BaseProcess
    line: Connection
    device: str | None
    is_ready: bool = False
    block: Block | None = None


class _WorkerProcesses:
    """The worker processes of one run, and the blocks waiting for them."""

    def __init__(self, work: Work, size: int, upcoming: Iterator[Block], tell: Callable[[WorkersNow], None]) -> None:
        self.work = work
        self.upcoming = upcoming
        self.tell = tell
        self.retries = Retries(work.group)
        self.waiting = deque(islice(upcoming, size))  # the first blocks; later also those to try again
        self.replaced = self.false_starts = 0
        # PyTorch and PyArrow start threads, and a process with threads cannot be forked safely
        self.context = multiprocessing.get_context("spawn")
        gpus = list_gpus(work.options)
        self.workers = [self._start(gpus[index % len(gpus)] if gpus else None) for index in range(len(self.waiting))]

    def solve(self) -> Iterator[BlockReport]:
        """Hand out blocks and collect reports until all work is done."""
        while any(worker.block is not None for worker in self.workers) or self._peek() is not None:
            for worker in self._wait():
                if (report := self._listen(worker)) is not None:
                    yield report

    def end(self) -> None:
        """Stop all workers: ask the idle ones to exit, and kill the busy ones."""
        for worker in self.workers:
            if worker.block is None:
                _say(worker, None)
            else:
                worker.process.kill()
        for worker in self.workers:
            worker.process.join(_EXIT_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.line.close()

    def _wait(self) -> list[_WorkerProcess]:
        """Wait until some workers have sent a message or died."""
        heard = wait([end for worker in self.workers for end in (worker.line, worker.process.sentinel)])
        return [worker for worker in self.workers if worker.line in heard or worker.process.sentinel in heard]

    def _listen(self, worker: _WorkerProcess) -> BlockReport | None:
        """Read a worker's message, or replace the worker if it died."""
        try:
            message = worker.line.recv() if worker.line.poll() else None
        except (EOFError, OSError):
            message = None
        if message is None:
            return self._replace(worker) if not worker.process.is_alive() or _is_gone(worker) else None
        if isinstance(message, DynarouteError):
            raise message
        worker.is_ready, worker.block = True, None
        self.false_starts = 0
        self._occupy(worker)
        return message if isinstance(message, BlockReport) else None

    def _occupy(self, worker: _WorkerProcess) -> None:
        """Give a worker its next block, if there is one."""
        if self._peek() is None:
            return
        block = self.waiting.popleft()
        prepared = block if block.rows is not None else self.work.source.prepare(block)
        worker.block = block
        _say(worker, prepared)

    def _peek(self) -> Block | None:
        """The next block, if there is one."""
        if not self.waiting:
            self.waiting.extend(islice(self.upcoming, 1))
        return self.waiting[0] if self.waiting else None

    def _start(self, device: str | None) -> _WorkerProcess:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(theirs, self.work, device), daemon=True)
        process.start()
        theirs.close()  # otherwise the end of the process would go unnoticed
        return _WorkerProcess(process, ours, device)

    def _replace(self, worker: _WorkerProcess) -> BlockReport | None:
        """Replace a worker that died, and retry its block; returns a report if its part is already written."""
        worker.process.join()
        reason = _describe_death(worker.process.exitcode)
        worker.line.close()
        if not worker.is_ready:
            self.false_starts += 1
        if self.false_starts >= _MOST_FALSE_STARTS:
            self.workers.remove(worker)
            raise DynarouteError(
                f"{self.false_starts} workers died before they were ready: {reason}.",
                remedy="If memory is short, use fewer workers, such as --workers 1.",
            )
        self.replaced += 1
        report, block = None, worker.block
        if block is not None:
            tally = self.work.parts.find_tally(block)
            if tally is not None:
                report = BlockReport(block, tally)
            else:
                self.waiting.extendleft(reversed(self.retries.blame(block, reason)))
        self.workers[self.workers.index(worker)] = self._start(worker.device)
        for idle in self.workers:
            if idle.is_ready and idle.block is None:
                self._occupy(idle)
        self.tell(WorkersNow(len(self.workers), self.replaced))
        return report


def _say(worker: _WorkerProcess, message: Block | None) -> None:
    with suppress(OSError):  # if it died, `_listen` will notice
        worker.line.send(message)


def _is_gone(worker: _WorkerProcess) -> bool:
    """Whether the process exits soon, now that its end of the connection is closed."""
    worker.process.join(_EXIT_SECONDS)
    return not worker.process.is_alive()


def _describe_death(code: int | None) -> str:
    if code is not None and code < 0:
        name = {each.value: each.name for each in signal.Signals}.get(-code, f"signal {-code}")
        hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
        return f"killed by {name}{hint}"
    return f"exited with code {code}"


# In the worker process


def _serve(line: Connection, work: Work, device: str | None) -> None:
    """Solve the blocks that arrive, until told to exit or the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C
    threading.Thread(target=_end_with_driver, daemon=True).start()
    try:
        worker = Worker(work, device)
        line.send(_Ready())
        while (block := line.recv()) is not None:
            line.send(worker.solve(block))
    except (EOFError, BrokenPipeError):  # the driver is gone
        return
    except Exception as error:  # not an error in a row: those are written with the row
        fault = error if isinstance(error, DynarouteError) else DynarouteError(describe_fault(error))
        line.send(fault)


def _end_with_driver() -> None:
    driver = multiprocessing.parent_process()
    if driver is not None:
        wait([driver.sentinel])
        os._exit(1)
