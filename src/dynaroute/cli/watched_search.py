"""A search that can be watched, traced and interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.cli.interrupt import note_interrupt
from dynaroute.cli.jobs import Job
from dynaroute.cli.progress import show_progress, show_search
from dynaroute.cli.trace_file import open_trace

if TYPE_CHECKING:
    from dynaroute.improve.search import Improvement
    from dynaroute.solving.options import SolveSettings
    from dynaroute.solving.result import Result

__all__ = ["search_jobs"]


def search_jobs(jobs: Sequence[Job], settings: SolveSettings, trace: Path | None) -> list[Result]:
    """Search every instance; the first Ctrl-C ends the search with the best so far, the second ends the program.

    Parameters
    ----------
    jobs
        The instances.
    settings
        Of `dynaroute.solver.solve`.
    trace
        Where to write cost over time, if at all.
    """
    from dynaroute.solver import solve
    from dynaroute.solving.options import SolveOptions

    seconds = SolveOptions(**settings).search_seconds
    with (
        note_interrupt() as is_interrupted,
        open_trace(trace, jobs) as write_line,
        show_progress(len(jobs), "searching") as advance,
        _show_one(jobs, seconds) as show,
    ):

        def tell(index: int, improvement: Improvement) -> None:
            write_line(index, improvement)
            show(index, improvement)

        watched: SolveSettings = {
            **settings,
            "progress": advance,
            "on_improvement": tell,
            "is_cancelled": is_interrupted,
        }
        return solve([job.instance for job in jobs], **watched)


@contextmanager
def _show_one(jobs: Sequence[Job], seconds: float | None) -> Iterator[Callable[[int, Improvement], None]]:
    """Show a single search; of many, there is a bar."""
    if len(jobs) > 1:
        yield lambda index, improvement: None
        return
    with show_search(seconds) as show:
        yield show
