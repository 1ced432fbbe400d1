"""Progress display of a training run: length, gap, pace and time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from dynaroute.cli.shared.output import make_console
from dynaroute.study.reference_lengths import HGS_LENGTHS

if TYPE_CHECKING:
    from dynaroute.training.plan.plan import TrainingPlan
    from dynaroute.training.plan.stage import Stage
    from dynaroute.training.run.journal import Reference
    from dynaroute.training.run.state import RunProgress

__all__ = ["describe_length", "find_references", "show_training"]


def find_references(plan: TrainingPlan) -> dict[int, Reference]:
    """Find reference lengths for validation, by size.

    HGS if the capacity is that of the published sets; best known costs or savings if lengths are relative.
    """
    from dynaroute.draw import usual_capacity
    from dynaroute.training.run.journal import Reference

    references = {}
    for stage in plan.stages:
        files = plan.validation or stage.data
        if files is not None or stage.distribution is not None:
            has_best = files is not None and files.best is not None
            references[stage.size] = Reference("best known" if has_best else "savings", 1.0)
        elif stage.size in HGS_LENGTHS and stage.capacities[0] == usual_capacity(stage.size):
            references[stage.size] = Reference("HGS", HGS_LENGTHS[stage.size])
    return references


@contextmanager
def show_training(
    plan: TrainingPlan, is_quiet: bool
) -> Iterator[tuple[Callable[[RunProgress], None], Callable[[dict[str, Any] | str], None]]]:
    """Show a bar on a terminal, and print a line for each validation.

    Yields
    ------
    tuple
        The functions to call with progress and with events.
    """
    if is_quiet:
        yield lambda progress: None, lambda event: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = make_console(stderr=True)
    references = find_references(plan)
    sizes = ", ".join(_describe_sizes(stage) for stage in plan.stages)
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
                f"greedy {describe_length(progress.best_length, references.get(progress.size))}, "
                f"{progress.trajectories_per_second:,.0f} trajectories/s, {_describe_time(progress.seconds_left)} left"
            )
            bar.update(task, completed=progress.spent, words=words)

        def show_event(event: dict[str, Any] | str) -> None:
            words = event if isinstance(event, str) else _describe_line(event, references.get(event["size"]))
            console.print(words, soft_wrap=True)  # one line per event in a log

        yield show_progress, show_event


def _describe_sizes(stage: Stage) -> str:
    if stage.distribution is None:
        return f"{stage.size}"
    return f"{stage.distribution.smallest} to {stage.size}"


def _describe_line(line: dict[str, Any], reference: Reference | None) -> str:
    name = "validation" if "validation" in line else "validation_of_mean"
    of_what = "greedy" if name == "validation" else "greedy, mean of the last parameters"
    return (
        f"{line['minutes']:7.2f} min  update {line['step']:,}  {line['trajectories'] / 1e6:.2f} M trajectories  "
        f"rate {line['rate']:.1e}  {of_what} {describe_length(line[name], reference)}"
    )


def describe_length(length: float, reference: Reference | None) -> str:
    """Describe a validation length, with its gap to the reference.

    Parameters
    ----------
    length
        The length; infinite before the first validation.
    reference
        The reference; 1 if lengths are relative to it.
    """
    if not isfinite(length):
        return "not measured yet"
    if reference is None:
        return f"{length:.4f}"
    excess = 100 * (length / reference.length - 1)
    words = f"{abs(excess):.2f} % {'above' if excess >= 0 else 'below'} {reference.name}"
    return words if reference.is_unit else f"{length:.4f} ({words})"


def _describe_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
