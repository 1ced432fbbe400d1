"""``dynaroute evaluate``: the mean length that a model reaches on a set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.cli.jobs import gather_jobs
from dynaroute.cli.loading import load_what_is_needed
from dynaroute.cli.options import (
    AugmentOption,
    CapacityOption,
    DecodeOption,
    DeviceOption,
    ImproveOption,
    IterationsOption,
    JsonOption,
    ModelOption,
    SamplesOption,
    SeedOption,
    TargetOption,
    TemperatureOption,
    ThreadsOption,
    TimeLimitOption,
    print_void_options,
    refuse_unknown_model,
)
from dynaroute.cli.output import print_facts, print_json, print_note, show_counts, show_length
from dynaroute.cli.progress import show_progress
from dynaroute.cli.reference import read_reference
from dynaroute.solving.options import Observers, SolveOptions

if TYPE_CHECKING:
    from dynaroute.evaluation import Evaluation


def evaluate(
    data: Annotated[
        Path, typer.Option("--data", metavar="SET", readable=False, help="A set, an instance, or a folder of them.")
    ],
    model: ModelOption,
    decode: DecodeOption = None,
    samples: SamplesOption = None,
    temperature: TemperatureOption = None,
    augment: AugmentOption = False,
    seed: SeedOption = None,
    device: DeviceOption = None,
    improve: ImproveOption = None,
    time_limit: TimeLimitOption = None,
    iterations: IterationsOption = None,
    target: TargetOption = None,
    threads: ThreadsOption = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="LENGTH|FILE",
            help="Mean length to compare with; or a file with a cost a line, a JSON list of them, or a .sol.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N instances.")
    ] = None,
    capacity: CapacityOption = None,
    json: JsonOption = False,
) -> None:
    """Tell the mean length that a model reaches on a set, and its time.

    The gap is mean length / mean reference - 1: a fraction in JSON, per cent
    on the screen. The time is that of building and improving routes, without
    reading files and loading the model. A model that is named gets no help
    from savings.

    Example:
      dynaroute evaluate --data t100.npz --model amd-100 --reference 15.563
      dynaroute evaluate --data t100.npz --model amd-100 --improve 2opt
    """
    options = SolveOptions(
        model=model,
        decode=decode,
        samples=samples,
        temperature=temperature,
        augment=augment,
        seed=seed,
        device=device,
        improve=improve,
        time_limit=time_limit,
        iterations=iterations,
        target=target,
        threads=threads,
    )
    refuse_unknown_model(options)
    print_void_options(options)
    instances = [job.instance for job in gather_jobs([data], capacity)]
    costs = None if reference is None else read_reference(reference, instances)
    if isinstance(costs, list):
        costs = costs[:limit]
    elif costs is not None and limit is not None and limit < len(instances):
        print_note(f"the gap is to {costs:g}, whichever instances that is the mean of; the first {limit} are measured.")

    from dynaroute.evaluation import evaluate_all

    chosen = instances[:limit]
    load_what_is_needed(options, chosen)
    with show_progress(len(chosen), "evaluating") as advance:
        evaluation = evaluate_all(chosen, options, Observers(advance), costs)

    if not json:
        _print_evaluation(data, evaluation)
        return
    if model == "auto":
        print_note(f"the routes are by {show_counts(evaluation.ways)}.")
    print_json(evaluation.to_json())


def _print_evaluation(data: Path, evaluation: Evaluation) -> None:
    error = evaluation.standard_error
    facts = [
        ("instances", f"{evaluation.count}"),
        ("routes by", show_counts(evaluation.ways)),
        ("mean length", show_length(evaluation.mean_length)),
        ("standard error", "unknown for one instance" if error is None else f"{error:.4g}"),
        ("time", _show_time(evaluation.seconds_per_instance)),
    ]
    if evaluation.gap is not None:
        facts.append(("gap", f"{100 * evaluation.gap:.2f} % (mean length / mean reference - 1)"))
    print_facts(str(data), facts)


def _show_time(seconds: float) -> str:
    return f"{seconds:.3f} s an instance" if seconds >= 1 else f"{1000 * seconds:.3g} ms an instance"
