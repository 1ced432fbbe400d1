"""A bar for work on many instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dynaroute.cli.output import make_console

__all__ = ["show_progress"]


@contextmanager
def show_progress(total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left, on a terminal and for more than one instance.

    Parameters
    ----------
    total
        Number of instances.
    doing
        What is done with them, in a word.

    Yields
    ------
    Callable[[int], None]
        To be called with the number of instances finished since the last call.
    """
    console = make_console(stderr=True)
    if total == 1 or not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(doing, total=total, rate="")

        def advance(number: int) -> None:
            bar.advance(task, number)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:.3g}/s" if speed else "")

        yield advance
