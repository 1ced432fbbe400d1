"""Ctrl-C where work would be lost: the first one asks for an end, and what there is so far is kept."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType

__all__ = ["note_interrupt"]


@contextmanager
def note_interrupt(*numbers: signal.Signals) -> Iterator[Callable[[], bool]]:
    """Take note of the first Ctrl-C instead of ending the program; the second ends it at once.

    Parameters
    ----------
    *numbers
        Signals to take note of; Ctrl-C's, SIGINT, if none is given.

    Yields
    ------
    Callable[[], bool]
        Whether there was one.
    """
    interrupted = Event()
    if current_thread() is not main_thread():  # signals are the main thread's alone
        yield interrupted.is_set
        return

    # known before the first signal can be noted, which needs it
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
