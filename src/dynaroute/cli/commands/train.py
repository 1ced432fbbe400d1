"""``dynaroute train``: train a policy, from scratch or from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dynaroute.base.errors import OptionError
from dynaroute.base.machine import choose_device
from dynaroute.cli.shared.options import BestOption, DeviceOption, JsonOption, option, takes_groups
from dynaroute.cli.shared.output import list_files, list_model_files, refuse_overwriting
from dynaroute.cli.training.options import (
    INSTANCES,
    VALIDATION,
    BudgetOptions,
    LearningOptions,
    PolicyOptions,
    Source,
    StepOptions,
    change_plan,
    find_given,
    find_tracker,
    find_validation,
    parse_numbers,
    read_config,
    refuse_options,
)
from dynaroute.cli.training.run import run_training
from dynaroute.training.files import RUN_FILES


@takes_groups
def train(
    *,
    out: Annotated[Path | None, option("RUN", "Folder for the run; it will contain the best model.")] = None,
    source: Source,
    config: Annotated[
        Path | None, option("FILE.toml", "A complete plan, like a run's plan.toml, instead of a recipe.")
    ] = None,
    resume: Annotated[Path | None, option("RUN", "Resume a run; with --minutes, for that many more minutes.")] = None,
    begin: PolicyOptions,
    capacity: Annotated[
        str | None,
        option("Q,Q,...", "Vehicle capacities, chosen at random; default: the usual one of the size.", INSTANCES),
    ] = None,
    budget: BudgetOptions,
    step: StepOptions,
    learning: LearningOptions,
    validation: Annotated[
        Path | None,
        option(
            "FOLDER|SET", "Instances to select the best model on; default: drawn like those of training.", VALIDATION
        ),
    ] = None,
    best: BestOption = None,
    seed: Annotated[int | None, option("S", "Seed of parameters and instances; default: 1.")] = None,
    track: Annotated[
        str | None,
        option(
            "MODULE:FUNCTION",
            "Your own function, called with every line of metrics, for a tracker such as Weights & Biases.",
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
    overrides = {**find_given(begin, learning), "seed": seed}
    steps = find_given(step)
    if resume is not None:
        given = {**overrides, **steps, **vars(source), "capacity": capacity, "out": out, "config": config}
        given |= {"validation": validation, "best": best}
        refuse_options(given, "resume", "A run is resumed with its own settings: leave it out.")
        run_training(resume, None, device, json, tracker, find_given(budget))
        return
    if out is None:
        raise OptionError.about("out", "the folder for the run is missing.", "Give --out RUN.")
    if config is not None:
        remedy = "The file has its own sizes and settings: leave it out, or change the file."
        refuse_options(vars(source), "config", remedy)
    if capacity is not None:
        steps["capacities"] = parse_numbers("capacity", capacity)
    on_cpu = choose_device(device) == "cpu"
    plan = read_config(config) if config is not None else source.make_plan(begin.init, on_cpu, begin.policy)
    overrides["validation"] = find_validation(validation, best)
    changed = change_plan(plan, overrides, vars(budget), steps)
    read = [config, *list_files(source.data, validation, best), *list_model_files(changed.init)]
    refuse_overwriting([("--out", out / name) for name in RUN_FILES], read)
    run_training(out, changed, device, json, tracker, {})
