"""How a training run shows itself: a bar with the length, the gap, the pace and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from dynaroute.cli.output import make_console
from dynaroute.reference_lengths import HGS_LENGTHS

if TYPE_CHECKING:
    from dynaroute.training.plan import TrainingPlan
    from dynaroute.training.trainer import RunProgress

__all__ = ["find_references", "show_training"]


def find_references(plan: TrainingPlan) -> dict[int, float]:
    """Lengths to compare validation with, by size: where vehicles have the capacity of the published sets.

    Parameters
    ----------
    plan
        Of the run.
    """
    from dynaroute.distributions import usual_capacity

    usual = {stage.size for stage in plan.stages if stage.capacities[0] == usual_capacity(stage.size)}
    return {size: length for size, length in HGS_LENGTHS.items() if size in usual}


@contextmanager
def show_training(
    plan: TrainingPlan, is_quiet: bool
) -> Iterator[tuple[Callable[[RunProgress], None], Callable[[dict[str, Any] | str], None]]]:
    """Show a bar on a terminal, and a line for each validation everywhere.

    Parameters
    ----------
    plan
        Of the run.
    is_quiet
        Show nothing: another process speaks.

    Yields
    ------
    tuple
        What to call with progress, and with events.
    """
    if is_quiet:
        yield lambda progress: None, lambda event: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = make_console(stderr=True)
    references = find_references(plan)
    sizes = ", ".join(str(stage.size) for stage in plan.stages)
    bar = Progress(
        TextColumn(f"training n={sizes}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("training", total=1.0, words="starting")

        def show_progress(progress: RunProgress) -> None:
            words = (
                f"samples {progress.length:.3f}, "
                f"greedy {_describe_length(progress.best_length, references.get(progress.size))}, "
                f"{progress.trajectories_per_second:,.0f} trajectories/s, {_describe_time(progress.seconds_left)} left"
            )
            bar.update(task, completed=progress.spent, words=words)

        def show_event(event: dict[str, Any] | str) -> None:
            words = event if isinstance(event, str) else _describe_line(event, references.get(event["size"]))
            console.print(words, soft_wrap=True)  # a log has one line for each

        yield show_progress, show_event


def _describe_line(line: dict[str, Any], reference: float | None) -> str:
    return (
        f"{line['minutes']:7.2f} min  update {line['step']:,}  {line['trajectories'] / 1e6:.2f} M trajectories  "
        f"rate {line['rate']:.1e}  greedy {_describe_length(line['validation'], reference)}"
    )


def _describe_length(length: float, reference: float | None) -> str:
    if not isfinite(length):
        return "not measured yet"
    if reference is None:
        return f"{length:.4f}"
    return f"{length:.4f} ({100 * (length / reference - 1):.2f} % above HGS)"


def _describe_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
