"""Parsing large bodies in separate processes, which can be killed.

Threads would not do: Python runs one at a time, so a large body would block everything, and a thread cannot be killed.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from dynaroute.base.errors import DynarouteError
from dynaroute.service.messages.refusals import make_large_error

Value = TypeVar("Value")
Parse = Callable[[bytes], Any]


class Reader:
    """A process that parses bodies one after the other; started when first needed.

    Parameters
    ----------
    seconds
        Time for one body.
    memory
        Memory for one body, in bytes.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        self._seconds = seconds
        self._memory = memory
        self._process: BaseProcess | None = None
        self._questions: Connection | None = None
        self._is_stopped = False
        self._lock = threading.Lock()  # protects the process, which may be stopped while it starts
        self._thread = ThreadPoolExecutor(1, "dynaroute-read")  # waits for the process

    async def read(self, parse: Callable[[bytes], Value], body: bytes) -> Value:
        """Parse a body, after earlier ones.

        Parameters
        ----------
        parse
            The parser; it must be picklable.
        body
            The whole body.

        Raises
        ------
        RequestError
            413 if it takes too long or too much memory.
        DynarouteError
            What the function raises.
        """
        outcome = await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, parse, body)
        if outcome.error is not None:
            raise outcome.error
        if outcome.failure is not None:
            raise RuntimeError(f"A body could not be read.\n{outcome.failure}")
        value: Value = outcome.value
        return value

    def prepare(self) -> None:
        """Start the process in advance."""
        self._thread.submit(self._connect)

    def stop(self) -> None:
        """Kill the process."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._is_stopped = True
        with self._lock:
            self._end()

    def _ask(self, parse: Callable[[bytes], object], body: bytes) -> ParsingOutcome:
        """Wait for the process's answer, in the thread."""
        try:
            questions = self._connect()
            questions.send((parse, body))
            if questions.poll(self._seconds):
                outcome: ParsingOutcome = questions.recv()
                return outcome
            message = f"parsing this body takes more than {self._seconds:g} s."
        except (EOFError, OSError):  # it died, because of the body or with the service
            message = "parsing this body takes more memory than a request may use."
        with self._lock:
            self._end()
        return ParsingOutcome(error=make_large_error(message))

    def _connect(self) -> Connection:
        with self._lock:
            if self._is_stopped:
                raise EOFError
            if self._questions is None or self._process is None or not self._process.is_alive():
                self._end()
                self._start()
            assert self._questions is not None
            return self._questions

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit locks of other threads
        self._questions, theirs = context.Pipe()
        self._process = context.Process(target=keep_reading, args=(theirs, self._memory), daemon=True)
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(1.0)
        if self._questions is not None:
            with suppress(OSError):
                self._questions.close()
        self._process = self._questions = None


@dataclass(frozen=True)
class ParsingOutcome:
    """The outcome of parsing: a value, a `DynarouteError`, or the text of an unexpected failure."""

    value: Any = None
    error: DynarouteError | None = None
    failure: str | None = None


def keep_reading(questions: Connection, memory: int) -> None:
    """Parse one body after the other until the service ends, with this much additional memory."""
    # A terminal sends signals to all processes, but only the service should handle them; it stops this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _bound_memory(memory)
    with suppress(EOFError, OSError):
        while True:
            parse, body = questions.recv()
            outcome = _read(parse, body)
            del body
            questions.send(outcome)
            del outcome


def _read(parse: Parse, body: bytes) -> ParsingOutcome:
    try:
        return ParsingOutcome(parse(body))
    except DynarouteError as error:
        return ParsingOutcome(error=error.with_traceback(None))
    except MemoryError:
        return ParsingOutcome(error=make_large_error("parsing this body takes more memory than a request may use."))
    except Exception:
        return ParsingOutcome(failure=traceback.format_exc())


def _bound_memory(more: int) -> None:
    """Limit the memory of this process."""
    with suppress(ImportError, ValueError, OSError):  # the system has no such limits
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
