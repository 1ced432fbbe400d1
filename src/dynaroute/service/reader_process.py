"""What runs in a process of its own to understand bodies: it may be ended at any moment, and its memory is bounded."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dynaroute.errors import DynarouteError
from dynaroute.service.refusals import refuse_large

__all__ = ["Reading", "keep_reading"]

Parse = Callable[[bytes], Any]


@dataclass(frozen=True)
class Reading:
    """What became of a body: a value, an error of ours, or a failure of ours in words."""

    value: Any = None
    error: DynarouteError | None = None
    failure: str | None = None


def keep_reading(questions: Connection, memory: int) -> None:
    """Understand one body after the other, until the service is gone.

    Parameters
    ----------
    questions
        Brings a function and a body, and takes the outcome.
    memory
        Bytes that may be taken beside what is taken already.
    """
    # They are for the service, which stops us when it has no more questions; a terminal sends them to all of us.
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


def _read(parse: Parse, body: bytes) -> Reading:
    try:
        return Reading(parse(body))
    except DynarouteError as error:
        return Reading(error=error.with_traceback(None))
    except MemoryError:
        return Reading(error=refuse_large("reading this takes more memory than a request may have."))
    except Exception:
        return Reading(failure=traceback.format_exc())


def _bound_memory(more: int) -> None:
    """Make what would take more memory than that fail in this process, and in no other."""
    with suppress(ImportError, ValueError, OSError):  # where the system does not know of such limits
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
