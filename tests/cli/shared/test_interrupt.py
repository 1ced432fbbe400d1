from __future__ import annotations

import os
import signal
from threading import Thread

import pytest

from dynaroute.cli.shared.progress import note_interrupt


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_first_interrupt_is_noted_and_the_second_ends_the_program() -> None:
    with note_interrupt() as is_interrupted:
        assert not is_interrupted()
        interrupt()
        assert is_interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_afterwards_an_interrupt_does_what_it_did_before() -> None:
    before = signal.getsignal(signal.SIGINT)

    with note_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before

    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_leave_the_signal_alone() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with note_interrupt() as is_interrupted:
            seen.append((is_interrupted(), signal.getsignal(signal.SIGINT)))

    thread = Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [(False, before)]
