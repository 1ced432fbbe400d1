"""``dynaroute train``: train a policy, from scratch or from another one."""

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
    from dynaroute.training.run_state import Outcome

BUDGET, STEP = "Budget (give one)", "Each update"
INSTANCES, POLICY, VALIDATION = "Instances", "Policy", "Validation"


def train(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="Folder for the run; it will contain the best model.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="Customers.", rich_help_panel=INSTANCES)
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="N,N-M,...",
            help="A curriculum: sizes or ranges of sizes, one after the other.",
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
            help="Your own instances, which are rotated, mirrored and given shuffled demands.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    recipe: Annotated[
        RecipeName | None,
        typer.Option(
            "--recipe",
            help="fast: our own (the default). paper: Algorithm 1 with the paper's settings, plus gradient clipping "
            "to norm 1. am: Kool et al.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE.toml", help="A complete plan, like a run's plan.toml, instead of a recipe."
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUN", help="Resume a run; with --minutes, for that many more minutes."),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option("--init", metavar="NAME|FOLDER", help="A model to start from.", rich_help_panel=POLICY),
    ] = None,
    policy: Annotated[
        PolicyName | None,
        typer.Option(
            "--policy",
            help="amd: dynamic; am: static; rl: a pointer network. Default: the recipe's.",
            rich_help_panel=POLICY,
        ),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option("--layers", metavar="N", min=1, help="Encoder layers; default: 3.", rich_help_panel=POLICY),
    ] = None,
    growing_attention: Annotated[
        bool,
        typer.Option(
            "--growing-attention",
            help="Scale attention with the logarithm of the number of remaining nodes.",
            rich_help_panel=POLICY,
        ),
    ] = False,
    distance_bias: Annotated[
        bool, typer.Option("--distance-bias", help="Show distances to the decoder.", rich_help_panel=POLICY)
    ] = False,
    edge_scores: Annotated[
        bool,
        typer.Option(
            "--edge-scores", help="Compare nodes with the last one and the load directly.", rich_help_panel=POLICY
        ),
    ] = False,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="Q,Q,...",
            help="Vehicle capacities, chosen at random; default: the usual one of the size.",
            rich_help_panel=INSTANCES,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes", metavar="M", help="Minutes, including compiling and validation.", rich_help_panel=BUDGET
        ),
    ] = None,
    updates: Annotated[int | None, typer.Option("--updates", metavar="U", rich_help_panel=BUDGET)] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", metavar="E", rich_help_panel=BUDGET)] = None,
    instances: Annotated[
        int | None, typer.Option("--instances", metavar="B", help="Instances per process.", rich_help_panel=STEP)
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", metavar="K", help="Samples per instance.", rich_help_panel=STEP)
    ] = None,
    replayed: Annotated[
        int | None,
        typer.Option(
            "--replayed",
            metavar="M",
            help="Learn from the M samples of an instance whose lengths differ most; default: all.",
            rich_help_panel=STEP,
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="ETA", help="Peak learning rate.", rich_help_panel=STEP)
    ] = None,
    entropy: Annotated[
        float | None,
        typer.Option(
            "--entropy",
            metavar="W",
            help="Weight of the entropy bonus for the largest instances, in standard deviations of lengths; 0: none.",
            rich_help_panel=STEP,
        ),
    ] = None,
    size_weight: Annotated[
        float | None,
        typer.Option(
            "--size-weight",
            metavar="E",
            help="If sizes vary, an instance of n customers counts (n / 100) ^ E times; default: 0, all alike.",
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
            help="Instances per validation; default: 10000, or 1000 for a distribution.",
            rich_help_panel=VALIDATION,
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            metavar="FOLDER|SET",
            help="Instances to select the best model on; default: drawn like those of training.",
            rich_help_panel=VALIDATION,
        ),
    ] = None,
    best: BestOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="Seed of parameters and instances; default: 1.")
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="MODULE:FUNCTION",
            help="Your own function, called with every line of metrics, for a tracker such as Weights & Biases.",
        ),
    ] = None,
    device: DeviceOption = None,
    json: JsonOption = False,
) -> None:
    """Train a policy by REINFORCE.

    The folder holds the best model so far (use it with --model RUN), the plan,
    metrics.jsonl, TensorBoard's files, checkpoints and a plot of the learning
    curve. Ctrl-C saves and stops; --resume continues, with --minutes for
    longer. For several GPUs, start it with torchrun --nproc-per-node 4 -m
    dynaroute train ...

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
        "edge_scores": edge_scores or None,
        "baseline": baseline,
        "optimiser": optimiser,
        "validation_count": validation_count,
        "seed": seed,
    }
    budget = {"minutes": minutes, "updates": updates, "epochs": epochs}
    steps: dict[str, Any] = {
        "instances": instances,
        "samples": samples,
        "replayed": replayed,
        "rate": rate,
        "entropy": entropy,
        "size_weight": size_weight,
    }
    if resume is not None:
        given = {**overrides, **steps, **vars(source), "capacity": capacity, "out": out, "config": config}
        given |= {"validation": validation, "best": best}
        refuse_options(given, "resume", "A run is resumed with its own settings: leave it out.")
        _run(resume, None, device, json, tracker, {name: value for name, value in budget.items() if value is not None})
        return
    if out is None:
        raise OptionError("the folder for the run is missing.", where=Where(field="out"), remedy="Give --out RUN.")
    if config is not None:
        remedy = "The file has its own sizes and settings: leave it out, or change the file."
        refuse_options(vars(source), "config", remedy)
    if capacity is not None:
        steps["capacities"] = parse_numbers("capacity", capacity)
    on_cpu = choose_device(device) == "cpu"
    plan = _read_plan(config) if config is not None else source.make_plan(init, on_cpu, policy)
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
    """Start a run with this plan, or resume the one in the folder, possibly with a larger budget."""
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
            remedy="Name a run's folder, or start a run with --out.",
        )
    settled = plan if plan is not None else _read_plan(folder / "plan.toml")
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
    from dynaroute.cli.training_progress import find_references
    from dynaroute.training.journal import save_learning_curve

    references = find_references(plan)
    # printed first, so that a failing plot cannot hide it
    _print_outcome(folder, outcome, references.get(plan.stages[-1].size), json)
    picture = save_learning_curve(folder, references)
    if not json:
        print_line(f"The learning curve is {picture}; use the model with --model {folder}")


def _print_outcome(folder: Path, outcome: Outcome, reference: Reference | None, json: bool) -> None:
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
