"""The process that parses bodies. It may be killed at any moment, and its memory is limited."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dynaroute.base.errors import DynarouteError
from dynaroute.service.messages.refusals import make_large_error

__all__ = ["ParsingOutcome", "keep_reading"]

Parse = Callable[[bytes], Any]


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
