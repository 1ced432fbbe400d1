"""Handling Ctrl-C without losing work: the first one ends the work and keeps its results."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType

__all__ = ["note_interrupt"]


@contextmanager
def note_interrupt(*numbers: signal.Signals) -> Iterator[Callable[[], bool]]:
    """Record the first Ctrl-C instead of ending the program; the second ends it at once.

    Parameters
    ----------
    *numbers
        Signals to handle; SIGINT by default.

    Yields
    ------
    Callable[[], bool]
        Tells whether a signal arrived.
    """
    interrupted = Event()
    if current_thread() is not main_thread():  # only the main thread handles signals
        yield interrupted.is_set
        return

    # created before the first signal can arrive
    usual = {int(number): signal.getsignal(number) for number in numbers or (signal.SIGINT,)}

    def take_note(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        signal.signal(number, usual[number])

    try:
        for number in usual:
            signal.signal(number, take_note)
        yield interrupted.is_set
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
