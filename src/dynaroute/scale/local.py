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

from dynaroute.cores import count_cores
from dynaroute.errors import DynarouteError
from dynaroute.scale.devices import list_gpus
from dynaroute.scale.engine import Retries, WorkersNow
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work, Worker, describe_fault

__all__ = ["LocalEngine"]

_MOST_ON_GPU = 4  # workers per GPU: reading, checking and writing use the CPU, and take longer than decoding
_MOST_FALSE_STARTS = 3  # give up when so many workers in a row die before they are ready
_FAREWELL_SECONDS = 5.0  # time for a worker to exit by itself


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
        """Solve all blocks; see `Engine`."""
        team = _Team(work, self.count_workers(work), iter(blocks), tell)
        try:
            yield from team.solve()
        finally:
            team.end()


class _Ready(NamedTuple):
    """Sent by a worker when it is ready for its first block."""


@dataclass
class _Member:
    """A worker process, the connection to it, and the block that it is solving."""

    process: BaseProcess
    line: Connection
    device: str | None
    is_ready: bool = False
    block: Block | None = None


class _Team:
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
        self.members = [self._start(gpus[index % len(gpus)] if gpus else None) for index in range(len(self.waiting))]

    def solve(self) -> Iterator[BlockReport]:
        """Hand out blocks and collect reports until all work is done."""
        while any(member.block is not None for member in self.members) or self._peek() is not None:
            for member in self._wait():
                if (report := self._listen(member)) is not None:
                    yield report

    def end(self) -> None:
        """Stop all workers: ask the idle ones to exit, and kill the busy ones."""
        for member in self.members:
            if member.block is None:
                _say(member, None)
            else:
                member.process.kill()
        for member in self.members:
            member.process.join(_FAREWELL_SECONDS)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.line.close()

    def _wait(self) -> list[_Member]:
        """Wait until some members have sent a message or died."""
        heard = wait([end for member in self.members for end in (member.line, member.process.sentinel)])
        return [member for member in self.members if member.line in heard or member.process.sentinel in heard]

    def _listen(self, member: _Member) -> BlockReport | None:
        """Read a worker's message, or replace the worker if it died."""
        try:
            message = member.line.recv() if member.line.poll() else None
        except (EOFError, OSError):
            message = None
        if message is None:
            return self._replace(member) if not member.process.is_alive() or _is_gone(member) else None
        if isinstance(message, DynarouteError):
            raise message
        member.is_ready, member.block = True, None
        self.false_starts = 0
        self._occupy(member)
        return message if isinstance(message, BlockReport) else None

    def _occupy(self, member: _Member) -> None:
        """Give a worker its next block, if there is one."""
        if self._peek() is None:
            return
        block = self.waiting.popleft()
        prepared = block if block.rows is not None else self.work.source.prepare(block)
        member.block = block
        _say(member, prepared)

    def _peek(self) -> Block | None:
        """The next block, if there is one."""
        if not self.waiting:
            self.waiting.extend(islice(self.upcoming, 1))
        return self.waiting[0] if self.waiting else None

    def _start(self, device: str | None) -> _Member:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(theirs, self.work, device), daemon=True)
        process.start()
        theirs.close()  # otherwise the end of the process would go unnoticed
        return _Member(process, ours, device)

    def _replace(self, member: _Member) -> BlockReport | None:
        """Replace a worker that died, and retry its block; returns a report if its part is already written."""
        member.process.join()
        reason = _describe_death(member.process.exitcode)
        member.line.close()
        if not member.is_ready:
            self.false_starts += 1
        if self.false_starts >= _MOST_FALSE_STARTS:
            self.members.remove(member)
            raise DynarouteError(
                f"{self.false_starts} workers died before they were ready: {reason}.",
                remedy="If memory is short, use fewer workers, such as --workers 1.",
            )
        self.replaced += 1
        report, block = None, member.block
        if block is not None:
            tally = self.work.parts.find_tally(block)
            if tally is not None:
                report = BlockReport(block, tally)
            else:
                self.waiting.extendleft(reversed(self.retries.blame(block, reason)))
        self.members[self.members.index(member)] = self._start(member.device)
        for idle in self.members:
            if idle.is_ready and idle.block is None:
                self._occupy(idle)
        self.tell(WorkersNow(len(self.members), self.replaced))
        return report


def _say(member: _Member, message: Block | None) -> None:
    with suppress(OSError):  # if it died, `_listen` will notice
        member.line.send(message)


def _is_gone(member: _Member) -> bool:
    """Whether the process exits soon, now that its end of the connection is closed."""
    member.process.join(_FAREWELL_SECONDS)
    return not member.process.is_alive()


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
