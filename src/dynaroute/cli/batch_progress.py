"""Shows the progress of a batch: one updated line on a terminal, otherwise a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dynaroute.cli.output import make_console, print_note
from dynaroute.cli.progress import FIRST_LINE_AFTER, LONGEST_SILENCE
from dynaroute.times import format_duration

if TYPE_CHECKING:
    from dynaroute.scale.run import Progress

__all__ = ["describe_progress", "show_batch"]


@contextmanager
def show_batch() -> Iterator[Callable[[Progress], None]]:
    """Show rows done, rate, time left, workers and failures.

    Yields
    ------
    Callable[[Progress], None]
        Call it whenever something has changed.
    """
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield _Lines().show
        return
    from rich.live import Live

    with Live("starting the workers", console=console, refresh_per_second=4, transient=True) as line:
        yield lambda progress: line.update(describe_progress(progress))


def describe_progress(progress: Progress) -> str:
    """Describe rows done, rate, time left, workers and failures in one line.

    Parameters
    ----------
    progress
        The progress of the run.
    """
    words = [f"{progress.done:,} of {progress.total:,} rows", f"{progress.rate:,.1f} per second"]
    if progress.seconds_left:
        words.append(f"{format_duration(progress.seconds_left)} left")
    workers = f"{progress.workers.alive} workers"
    words.append(f"{workers}, {progress.workers.replaced} replaced" if progress.workers.replaced else workers)
    words.append(f"{progress.failed:,} with errors")
    return ", ".join(words)


class _Lines:
    """Prints a line after some seconds, and others at growing intervals."""

    def __init__(self) -> None:
        self.wait = FIRST_LINE_AFTER
        self.due = time.perf_counter() + self.wait

    def show(self, progress: Progress) -> None:
        if time.perf_counter() < self.due:
            return
        print_note(describe_progress(progress))
        self.wait = min(2 * self.wait, LONGEST_SILENCE)
        self.due = time.perf_counter() + self.wait
