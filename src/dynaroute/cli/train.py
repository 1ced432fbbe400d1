"""``dynaroute train``: train a policy, from scratch or from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dynaroute.cli.options import BestOption, DeviceOption, JsonOption
from dynaroute.cli.places import list_files, list_model_files, refuse_overwriting
from dynaroute.cli.train_plan import (
    Source,
    change_plan,
    find_tracker,
    find_validation,
    parse_numbers,
    read_config,
    refuse_options,
)
from dynaroute.cli.train_run import run_training
from dynaroute.device import choose_device
from dynaroute.errors import OptionError, Where
from dynaroute.training.names import BaselineName, OptimiserName, PolicyName, RecipeName
from dynaroute.training.run_files import RUN_FILES

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
        typer.Option(
            "--init",
            metavar="NAME|FOLDER",
            help="A model to start from; the default --rate is then low, so that it does not get worse.",
            rich_help_panel=POLICY,
        ),
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
        float | None,
        typer.Option(
            "--rate",
            metavar="ETA",
            help="Peak learning rate. Default of the recipe fast: 1e-3 (rl: 2e-3), or 1e-4 with --init; a model that "
            "is to learn something new needs more, such as 7e-4.",
            rich_help_panel=STEP,
        ),
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
        more = {name: value for name, value in budget.items() if value is not None}
        run_training(resume, None, device, json, tracker, more)
        return
    if out is None:
        raise OptionError("the folder for the run is missing.", where=Where(field="out"), remedy="Give --out RUN.")
    if config is not None:
        remedy = "The file has its own sizes and settings: leave it out, or change the file."
        refuse_options(vars(source), "config", remedy)
    if capacity is not None:
        steps["capacities"] = parse_numbers("capacity", capacity)
    on_cpu = choose_device(device) == "cpu"
    plan = read_config(config) if config is not None else source.make_plan(init, on_cpu, policy)
    overrides["validation"] = find_validation(validation, best)
    changed = change_plan(plan, overrides, budget, steps)
    read = [config, *list_files(source.data, validation, best), *list_model_files(changed.init)]
    refuse_overwriting([("--out", out / name) for name in RUN_FILES], read)
    run_training(out, changed, device, json, tracker, {})
