"""``dynaroute train``: a policy from nothing, or from another one."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.cli.exit_codes import INTERRUPTED
from dynaroute.cli.interrupt import note_interrupt
from dynaroute.cli.options import BestOption, DeviceOption, JsonOption
from dynaroute.cli.output import count_of, print_json, print_line, print_note
from dynaroute.cli.places import list_files, list_model_files, refuse_overwriting
from dynaroute.cli.train_plan import (
    Source,
    change_plan,
    find_tracker,
    find_validation,
    make_policy,
    parse_numbers,
    refuse_options,
)
from dynaroute.device import choose_device
from dynaroute.errors import FileError, OptionError, Where
from dynaroute.training.names import BaselineName, OptimiserName, PolicyName, RecipeName
from dynaroute.training.run_files import RUN_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynaroute.training.journal import Reference
    from dynaroute.training.plan import TrainingPlan
    from dynaroute.training.trainer import Outcome

BUDGET, STEP = "Budget (one of them)", "Each update"
INSTANCES, POLICY, VALIDATION = "Instances", "Policy", "Validation"


def train(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="Folder for the run; the best model is in it.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="Customers.", rich_help_panel=INSTANCES)
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="N,N-M,...",
            help="A curriculum: one size, or range of sizes, after the other.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option(
            "--distribution",
            metavar="NAME|FILE.toml",
            help="paper: uniform (the default). x: the X set's kinds. mixed: both, many sizes. Or a file.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER|SET",
            help="Your own instances, turned, mirrored and with demands dealt anew.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    recipe: Annotated[
        RecipeName | None,
        typer.Option(
            "--recipe",
            help="fast: ours (the default). paper: Algorithm 1 with the paper's settings (gradients clipped to norm 1, "
            "which it leaves open). am: Kool et al.'s.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE.toml", help="A whole plan, as a run's plan.toml, instead of a recipe."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a run; with --minutes for so many more.")
    ] = None,
    init: Annotated[
        str | None,
        typer.Option("--init", metavar="NAME|FOLDER", help="A model to start from.", rich_help_panel=POLICY),
    ] = None,
    policy: Annotated[
        PolicyName | None,
        typer.Option(
            "--policy",
            help="amd: dynamic; am: static; rl: a pointer network. The recipe's otherwise.",
            rich_help_panel=POLICY,
        ),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option("--layers", metavar="N", min=1, help="Of the encoder; usual: 3.", rich_help_panel=POLICY),
    ] = None,
    growing_attention: Annotated[
        bool,
        typer.Option(
            "--growing-attention",
            help="Attention that grows with the logarithm of what is left.",
            rich_help_panel=POLICY,
        ),
    ] = False,
    distance_bias: Annotated[
        bool, typer.Option("--distance-bias", help="Distances in the decoder.", rich_help_panel=POLICY)
    ] = False,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="Q,Q,...",
            help="Vehicle capacities, mixed at random; usual: the size's.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="M", help="All included.", rich_help_panel=BUDGET)
    ] = None,
    updates: Annotated[int | None, typer.Option("--updates", metavar="U", rich_help_panel=BUDGET)] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", metavar="E", rich_help_panel=BUDGET)] = None,
    instances: Annotated[
        int | None, typer.Option("--instances", metavar="B", help="Of each process.", rich_help_panel=STEP)
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", metavar="K", help="Of each instance.", rich_help_panel=STEP)
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="ETA", help="Peak learning rate.", rich_help_panel=STEP)
    ] = None,
    entropy: Annotated[
        float | None,
        typer.Option(
            "--entropy",
            metavar="W",
            help="What a unit of entropy is worth, in deviations of lengths; 0: nothing.",
            rich_help_panel=STEP,
        ),
    ] = None,
    baseline: Annotated[BaselineName | None, typer.Option("--baseline", rich_help_panel=STEP)] = None,
    optimiser: Annotated[OptimiserName | None, typer.Option("--optimiser", rich_help_panel=STEP)] = None,
    validation_count: Annotated[
        int | None,
        typer.Option(
            "--validation-count",
            metavar="N",
            help="Instances of a validation; usual: 10000, of a distribution 1000.",
            rich_help_panel=VALIDATION,
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            metavar="FOLDER|SET",
            help="Instances to choose the best model by; usual: drawn as those of training.",
            rich_help_panel=VALIDATION,
        ),
    ] = None,
    best: BestOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="Of parameters and instances; usual: 1.")
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="MODULE:FUNCTION",
            help="Call this function of yours with every line of metrics, for a tracker such as Weights & Biases.",
        ),
    ] = None,
    device: DeviceOption = None,
    json: JsonOption = False,
) -> None:
    """Train a policy by REINFORCE.

    The folder holds the best model so far (use it with --model RUN), the plan,
    metrics.jsonl, TensorBoard's files, checkpoints and a picture of the curve.
    Ctrl-C saves and leaves; --resume goes on, with --minutes for longer. Several GPUs: start it with
    torchrun --nproc-per-node 4 -m dynaroute train ...

    Example:
      dynaroute train --size 20 --minutes 5 --out my-run
      dynaroute train --resume my-run
      dynaroute train --resume my-run --minutes 5
      dynaroute train --sizes 20,50,100 --minutes 60 --out curriculum
      dynaroute train --distribution mixed --init amd-100 --minutes 60 --out general
      dynaroute train --data my-instances --init amd-100 --minutes 10 --out mine
    """
    tracker = find_tracker(track)
    source = Source(size, sizes, recipe, distribution, data)
    overrides: dict[str, Any] = {
        "init": init,
        "policy": policy,
        "layers": layers,
        "growing_attention": growing_attention or None,
        "distance_bias": distance_bias or None,
        "baseline": baseline,
        "optimiser": optimiser,
        "validation_count": validation_count,
        "seed": seed,
    }
    budget = {"minutes": minutes, "updates": updates, "epochs": epochs}
    steps: dict[str, Any] = {"instances": instances, "samples": samples, "rate": rate, "entropy": entropy}
    if resume is not None:
        given = {**overrides, **steps, **vars(source), "capacity": capacity, "out": out, "config": config}
        given |= {"validation": validation, "best": best}
        refuse_options(given, "resume", "A run goes on as it was begun: leave it out.")
        _run(resume, None, device, json, tracker, {name: value for name, value in budget.items() if value is not None})
        return
    if out is None:
        raise OptionError("there is no folder for the run.", where=Where(field="out"), remedy="Give --out RUN.")
    if config is not None:
        remedy = "The file has sizes and settings of its own: leave it out, or change the file."
        refuse_options(vars(source), "config", remedy)
    if capacity is not None:
        steps["capacities"] = parse_numbers("capacity", capacity)
    on_cpu = choose_device(device) == "cpu"
    plan = _read_plan(config) if config is not None else source.make_plan(init, on_cpu)
    overrides["validation"] = find_validation(validation, best)
    changed = change_plan(plan, overrides, budget, steps)
    read = [config, *list_files(source.data, validation, best), *list_model_files(changed.init)]
    refuse_overwriting([("--out", out / name) for name in RUN_FILES], read)
    _run(out, changed, device, json, tracker, {})


def _read_plan(path: Path) -> TrainingPlan:
    from dynaroute.training.plan import read_plan

    return read_plan(path)


def _run(
    folder: Path,
    plan: TrainingPlan | None,
    device: str | None,
    json: bool,
    tracker: Callable[[dict[str, Any]], None],
    more: dict[str, float],
) -> None:
    """Begin a run with this plan, or go on with the one in the folder, for more of its budget if there is some."""
    from dynaroute.cli.training_progress import show_training
    from dynaroute.solver import load_policy
    from dynaroute.training.plan import write_plan
    from dynaroute.training.ranks import Ranks
    from dynaroute.training.run_files import hold_folder
    from dynaroute.training.trainer import BEST, LAST, Trainer

    if plan is not None:
        _require_no_run(folder)
    elif not (folder / "plan.toml").exists():
        raise FileError(
            "there is no run here.",
            where=Where(file=str(folder)),
            remedy="Name a run's folder, or begin one with --out.",
        )
    settled = plan if plan is not None else _read_plan(folder / "plan.toml")
    for budget, amount in more.items():
        settled = settled.extend(budget, amount)  # of which but one is the plan's
    # a run that was killed before its first checkpoint is begun again
    is_begun = plan is None and any((folder / name).exists() for name in (LAST, BEST))
    chosen = choose_device(device)
    ranks = Ranks.join(chosen)
    if settled.init is not None and is_begun and (folder / "config.json").exists():
        model: str | None = str(folder.absolute())  # what it started from may be gone by now
    else:
        model = settled.init
    policy = load_policy(make_policy(settled, model), ranks.device)
    if chosen == "cpu" and ranks.writes:
        print_note("there is no GPU in use: training on the CPU is for trying things out.")
    if plan is not None and ranks.writes:
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


def _require_no_run(folder: Path) -> None:
    # one that has a plan alone was killed at once
    there = next((name for name in RUN_FILES[1:] if os.path.lexists(folder / name)), None)
    if there is not None:
        is_run = (folder / "plan.toml").exists()
        raise FileError(
            "there is a run already." if is_run else f"the folder holds {there}, which a run would replace.",
            where=Where(file=str(folder)),
            remedy="Go on with --resume, or use another folder." if is_run else "Use another folder.",
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder: {error.strerror}.", where=Where(file=str(folder)), remedy="Use another one."
        ) from error


def _finish(folder: Path, plan: TrainingPlan, outcome: Outcome, json: bool) -> None:
    from dynaroute.cli.training_progress import find_references
    from dynaroute.training.journal import save_learning_curve

    references = find_references(plan)
    # first: a picture that cannot be drawn must not hide it
    _tell(folder, outcome, references.get(plan.stages[-1].size), json)
    picture = save_learning_curve(folder, references)
    if not json:
        print_line(f"The curve is {picture}; use the model with --model {folder}")


def _tell(folder: Path, outcome: Outcome, reference: Reference | None, json: bool) -> None:
    from dynaroute.cli.training_progress import describe_length

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
        print_note(f"stopped after update {outcome.step}; go on with: dynaroute train --resume {folder}")
    if outcome.step == 0:
        print_note(
            "no update was done: the model is what it was before. Give more time, or a smaller --validation-count."
        )
    if outcome.best_length is None:
        print_line(f"{folder}: {count_of(outcome.step, 'update')}, greedy length not measured yet at this size.")
        return
    length = f"length {outcome.best_length:.4f}"
    if reference is not None and reference.is_unit:  # relative lengths mean nothing by themselves
        length = describe_length(outcome.best_length, reference)
    words = f"greedy {length} on the validation set after update {outcome.best_step:,}"
    print_line(f"{folder}: {words} of {outcome.step:,}.")
