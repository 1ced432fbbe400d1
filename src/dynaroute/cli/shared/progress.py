"""While a command works: what is loaded and shown, and how Ctrl-C ends it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from dynaroute.cli.shared.output import make_console, print_note, show_length

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance
    from dynaroute.search.search import Improvement
    from dynaroute.solving.options import SolveOptions

USUAL_SECONDS = 5.0  # longer than loading libraries and machine code takes

FIRST_LINE_AFTER, LONGEST_SILENCE = 10.0, 60.0  # seconds, if there is no terminal for a bar


def preload_search(options: SolveOptions, instances: Sequence[Instance]) -> None:
    """Load everything a search needs before its clock starts, and say if something must be compiled."""
    from dynaroute.solving.choose import choose, load_code

    approaches = choose(instances, options, is_started=options.start is not None)
    if options.improver == "none":
        return
    patience = threading.Timer(
        USUAL_SECONDS,
        print_note,
        ["compiling once for this machine, which takes up to a minute; the time limit starts afterwards."],
    )
    patience.start()
    try:
        load_code(approaches)
        if options.searches:
            import dynaroute.solving.searching
        if any(approach.is_together or approach.is_beside for approach in approaches):
            from dynaroute.solving.together import prepare_device

            prepare_device(options.device)
        if any(approach.start == "policy" for approach in approaches):
            import dynaroute.solving.in_time  # noqa: F401
    finally:
        patience.cancel()


@contextmanager
def show_progress(total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left; for one instance, or without a terminal, print a line now and then.

    Yields
    ------
    Callable[[int], None]
        Call it with the number of instances finished since the last call.
    """
    console = make_console(stderr=True)
    if total == 1 or not console.is_terminal:
        began, done = time.perf_counter(), [0]

        def count(number: int) -> None:
            done[0] += number

        with print_at_intervals(
            lambda: f"{doing}: {done[0]:,} of {total:,} after {time.perf_counter() - began:,.0f} s"
        ):
            yield count
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


@contextmanager
def print_at_intervals(describe: Callable[[], str]) -> Iterator[None]:
    """Print lines at growing intervals, so that a log shows that work continues.

    Parameters
    ----------
    describe
        Returns the line to print now; called in another thread.
    """
    is_over = threading.Event()

    def print_lines() -> None:
        wait = FIRST_LINE_AFTER
        while not is_over.wait(wait):
            print_note(describe())
            wait = min(2 * wait, LONGEST_SILENCE)

    printer = threading.Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield
    finally:
        is_over.set()
        printer.join()


@contextmanager
def show_work(doing: str) -> Iterator[Callable[[str, float], None]]:
    """Show a bar with the time left for work in several steps, on a terminal.

    Yields
    ------
    Callable[[str, float], None]
        Call it with the current step and the share of all work done.
    """
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield lambda words, done: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    # minutes may pass between two calls, so the speed is averaged over the whole time
    columns = (BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, speed_estimate_period=3600) as bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda words, done: bar.update(task, description=words, completed=done)


@contextmanager
def show_search(seconds: float | None, unit: str | None = None) -> Iterator[Callable[[int, Improvement], None]]:
    """Show best cost, improvement and time left of one search, on a terminal.

    Parameters
    ----------
    seconds
        Duration of the search, if known.
    unit
        Unit of the costs, if known.

    Yields
    ------
    Callable[[int, Improvement], None]
        Call it with the index of the instance and each improvement.
    """
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield lambda index, improvement: None
        return
    from rich.live import Live

    line = SearchLine(seconds, unit)
    with Live(line, console=console, refresh_per_second=8, transient=True):
        yield line.note


class SearchLine:
    """The state of a search as a line of text, updated whenever it is shown.

    Parameters
    ----------
    seconds
        Duration of the search, if known.
    unit
        Unit of the costs, if known.
    """

    def __init__(self, seconds: float | None, unit: str | None = None) -> None:
        self.seconds = seconds
        self.unit = unit
        self.began = time.perf_counter()
        self.first: float | None = None
        self.best = 0.0

    def note(self, index: int, improvement: Improvement) -> None:
        """Record a better solution."""
        self.best = improvement.cost
        if self.first is None:
            self.first = improvement.cost

    def __rich__(self) -> str:
        elapsed = time.perf_counter() - self.began
        clock = f"{elapsed:.0f} s" if self.seconds is None else f"{max(0.0, self.seconds - elapsed):.0f} s left"
        if self.first is None:
            return f"searching: {clock}"
        saved = f" (-{100 * (1 - self.best / self.first):.2f} %)" if self.best < self.first else ""
        return f"searching: cost {show_length(self.best, self.unit)}{saved}, {clock}; Ctrl-C keeps the best"


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
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
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
