"""Running ``dynaroute train``: a new run or one to resume, from its folder to its last words."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.base.device import choose_device
from dynaroute.base.errors import FileError, Where
from dynaroute.cli.shared.exit_codes import INTERRUPTED
from dynaroute.cli.shared.interrupt import note_interrupt
from dynaroute.cli.shared.output import count_of, print_json, print_line, print_note
from dynaroute.cli.training.plan import make_policy
from dynaroute.training.run.files import RUN_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynaroute.training.plan.plan import TrainingPlan
    from dynaroute.training.run.journal import Reference
    from dynaroute.training.run.state import Outcome

__all__ = ["run_training"]


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
    from dynaroute.cli.training.progress import show_training
    from dynaroute.solving.solve import load_policy
    from dynaroute.training.plan.plan import read_plan, write_plan
    from dynaroute.training.ranks import Ranks
    from dynaroute.training.run.files import hold_folder
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
        _finish(folder, settled, outcome, json)
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


def _finish(folder: Path, plan: TrainingPlan, outcome: Outcome, json: bool) -> None:
    from dynaroute.cli.training.progress import find_references
    from dynaroute.training.run.journal import save_learning_curve

    references = find_references(plan)
    # printed first, so that a failing plot cannot hide it
    _print_outcome(folder, outcome, references.get(plan.stages[-1].size), json)
    picture = save_learning_curve(folder, references)
    if not json:
        print_line(f"The learning curve is {picture}; use the model with --model {folder}")


def _print_outcome(folder: Path, outcome: Outcome, reference: Reference | None, json: bool) -> None:
    from dynaroute.cli.training.progress import describe_length

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
