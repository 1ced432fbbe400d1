"""Shows the progress of a batch, however long a row takes: one updated line on a terminal, otherwise some lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dynaroute.cli.shared.output import make_console
from dynaroute.cli.shared.progress import print_at_intervals
from dynaroute.problem.times import format_duration

if TYPE_CHECKING:
    from dynaroute.scale.run import Progress

__all__ = ["BatchLine", "describe_progress", "show_batch"]


@contextmanager
def show_batch() -> Iterator[Callable[[Progress], None]]:
    """Show rows done, rate, time left, workers and failures.

    Yields
    ------
    Callable[[Progress], None]
        Call it whenever something has changed.
    """
    console = make_console(stderr=True)
    line = BatchLine()
    if not console.is_terminal:
        with print_at_intervals(line.__rich__):
            yield line.note
        return
    from rich.live import Live

    with Live(line, console=console, refresh_per_second=4, transient=True):
        yield line.note


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


class BatchLine:
    """The state of a batch as a line of text, which tells the time even while nothing else changes."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.progress: Progress | None = None

    def note(self, progress: Progress) -> None:
        """Record the progress."""
        self.progress = progress

    def __rich__(self) -> str:
        state = "the first rows are not done yet" if self.progress is None else describe_progress(self.progress)
        return f"{state}, after {time.perf_counter() - self.began:,.0f} s"
