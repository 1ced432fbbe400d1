"""Running ``dynaroute train``: a new run or one to resume, what it shows meanwhile, and its last words."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.base.errors import FileError, Where
from dynaroute.base.machine import choose_device
from dynaroute.cli.shared.exit_codes import INTERRUPTED
from dynaroute.cli.shared.output import count_of, make_console, print_json, print_line, print_note
from dynaroute.cli.shared.progress import note_interrupt
from dynaroute.cli.training.options import make_policy
from dynaroute.study.reference_lengths import HGS_LENGTHS
from dynaroute.training.files import RUN_FILES

if TYPE_CHECKING:
    from dynaroute.model import Policy
    from dynaroute.training.files import Reference
    from dynaroute.training.plan.plan import Stage, TrainingPlan
    from dynaroute.training.run.state import Outcome, RunProgress


def find_references(plan: TrainingPlan) -> dict[int, Reference]:
    """Find reference lengths for validation, by size.

    HGS if the capacity is that of the published sets; best known costs or savings if lengths are relative.
    """
    from dynaroute.draw import usual_capacity
    from dynaroute.training.files import Reference

    references = {}
    for stage in plan.stages:
        files = plan.validation or stage.data
        if files is None and stage.variants:
            references[stage.size] = Reference("a vehicle for each customer", 1.0)
        elif files is not None or stage.distribution is not None:
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


_DRAWN_SEED = 4321  # as of the validation sets


def run_training(
    folder: Path,
    plan: TrainingPlan | None,
    device: str | None,
    json: bool,
    tracker: Callable[[dict[str, Any]], None],
    more: dict[str, float],
) -> None:
    """Start a run with this plan, or resume the one in the folder, possibly with a larger budget.

    Parameters
    ----------
    folder
        Folder of the run.
    plan
        The plan of a new run; None to resume.
    device
        The device, as given by the user.
    json
        Whether to print JSON.
    tracker
        Called with every line of metrics.
    more
        What to add to the budget of a resumed run.
    """
    from dynaroute.solving.solve import load_policy
    from dynaroute.training.files import hold_folder
    from dynaroute.training.plan.plan import read_plan, write_plan
    from dynaroute.training.ranks import Ranks
    from dynaroute.training.run.trainer import BEST, LAST, Trainer

    if plan is not None:
        _require_no_run(folder)
    elif not (folder / "plan.toml").exists():
        raise FileError(
            "there is no run here.",
            where=Where(file=str(folder)),
            remedy="Name a run's folder, or start a run with --out.",
        )
    settled = plan if plan is not None else read_plan(folder / "plan.toml")
    for budget, amount in more.items():
        settled = settled.extend(budget, amount)  # only one of them is the plan's
    # a run killed before its first checkpoint starts again
    is_begun = plan is None and any((folder / name).exists() for name in (LAST, BEST))
    chosen = choose_device(device)
    ranks = Ranks.join(chosen)
    if settled.init is not None and is_begun and (folder / "config.json").exists():
        model: str | None = str(folder.absolute())  # the model it started from may be gone
    else:
        model = settled.init
    policy = load_policy(make_policy(settled, model), ranks.device)
    before = None if is_begun and settled.init is not None else deepcopy(policy)
    if chosen == "cpu" and ranks.writes:
        print_note("no GPU is used; training on the CPU is only good for trying things out.")
    if plan is not None and ranks.writes:
        _tell_rate(plan)
        _make_folder(folder)
    with (
        hold_folder(folder) if ranks.writes else nullcontext(),
        note_interrupt(signal.SIGINT, signal.SIGTERM) as is_interrupted,
        show_training(settled, is_quiet=not ranks.writes) as (on_progress, on_event),
    ):
        if plan is not None and ranks.writes:
            write_plan(plan, folder / "plan.toml")
        trainer = Trainer(policy, settled, folder, ranks, on_progress, on_event, is_interrupted, track=tracker)
        if is_begun:
            trainer.restore(extends=bool(more))
        if more and ranks.writes:
            write_plan(settled, folder / "plan.toml")
        outcome = trainer.run()
    if ranks.writes:
        _finish(folder, settled, outcome, before, json)
    del trainer, policy
    ranks.leave()
    if outcome.is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _tell_rate(plan: TrainingPlan) -> None:
    """Say at which rate a run begins from a model, because a high one makes the model worse."""
    if plan.init is not None:
        print_note(f"the run begins from {plan.init}, with a peak learning rate of {plan.stages[0].rate:g} (--rate).")


def _require_no_run(folder: Path) -> None:
    # a run with only a plan was killed at once
    there = next((name for name in RUN_FILES[1:] if os.path.lexists(folder / name)), None)
    if there is not None:
        is_run = (folder / "plan.toml").exists()
        raise FileError(
            "the folder already contains a run."
            if is_run
            else f"the folder contains {there}, which a run would replace.",
            where=Where(file=str(folder)),
            remedy="Resume it with --resume, or use another folder." if is_run else "Use another folder.",
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot create the folder: {error.strerror}.", where=Where(file=str(folder)), remedy="Use another one."
        ) from error


def _finish(folder: Path, plan: TrainingPlan, outcome: Outcome, before: Policy | None, json: bool) -> None:
    from dynaroute.training.files import save_learning_curve

    references = find_references(plan)
    # printed first, so that a failing plot cannot hide it
    _print_outcome(folder, outcome, references.get(plan.stages[-1].size), json)
    picture = save_learning_curve(folder, references)
    drawn = ""
    if before is not None and (folder / "config.json").exists():
        drawn = f", its routes before and after are {_draw_routes(folder, plan.stages[-1].size, before)}"
    if not json:
        print_line(f"The learning curve is {picture}{drawn}; use the model with --model {folder}")


def _draw_routes(folder: Path, size: int, before: Policy) -> Path:
    """Draw what the policy made of the same instance before and after the run."""
    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import Greedy, construct
    from dynaroute.draw import draw_published_set
    from dynaroute.model import Policy
    from dynaroute.plotting.growing import plot_side_by_side
    from dynaroute.plotting.pictures import save_figure

    (instance,) = draw_published_set(size, 1, seed=_DRAWN_SEED).instances()
    batch = InstanceBatch.from_instances([instance])
    policies = (before.cpu().eval(), Policy.from_pretrained(folder))
    first, last = (construct(policy, batch, Greedy()).to_solutions(batch)[0] for policy in policies)
    titles = [f"{when}: {solution.cost(instance):.3f}" for when, solution in (("before", first), ("after", last))]
    axes = plot_side_by_side(instance, [first, last], titles)
    save_figure(axes, folder / "routes.png")
    return folder / "routes.png"


def _print_outcome(folder: Path, outcome: Outcome, reference: Reference | None, json: bool) -> None:
    if json:
        print_json(
            {
                "run": str(folder),
                "updates": outcome.step,
                "validation_length": outcome.best_length,
                "best_update": outcome.best_step,
                "interrupted": outcome.is_interrupted,
            }
        )
        return
    if outcome.is_interrupted:
        print_note(f"stopped after update {outcome.step}; resume with: dynaroute train --resume {folder}")
    if outcome.step == 0:
        print_note("no update was made, so the model is unchanged. Give more time, or a smaller --validation-count.")
    if outcome.best_length is None:
        print_line(f"{folder}: {count_of(outcome.step, 'update')}, greedy length not measured yet at this size.")
        return
    length = f"length {outcome.best_length:.4f}"
    if reference is not None and reference.is_unit:  # relative lengths need their reference
        length = describe_length(outcome.best_length, reference)
    words = f"greedy {length} on the validation set after update {outcome.best_step:,}"
    print_line(f"{folder}: {words} of {outcome.step:,}.")
