"""``dynaroute evaluate``: measure a model's mean length on a set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dynaroute.base.errors import OptionError
from dynaroute.cli.evaluating.comparison import Compared, format_comparison, list_rows, parse_decodings, require_table
from dynaroute.cli.evaluating.reference import print_gaps, read_reference, write_gaps
from dynaroute.cli.shared.jobs import SolveJob, gather_jobs
from dynaroute.cli.shared.options import (
    BestOption,
    JsonOption,
    ModelsOption,
    option,
    print_void_options,
    refuse_unknown_model,
    takes_solving,
)
from dynaroute.cli.shared.output import (
    list_files,
    list_model_files,
    print_facts,
    print_json,
    print_note,
    print_table,
    refuse_missing_folder,
    refuse_overwriting,
    show_counts,
    show_length,
)
from dynaroute.cli.shared.progress import preload_search, show_progress
from dynaroute.cli.shared.tables import CapacityOption, TableOptions
from dynaroute.solving.options import Observers, SolveOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynaroute.formats.collection import BestCosts
    from dynaroute.study.evaluation import Evaluation


@takes_solving(without=["model"])
def evaluate(
    data: Annotated[Path, option("SET", "A set, an instance, or a folder of them.")],
    model: ModelsOption,
    options: SolveOptions,
    reference: Annotated[
        str | None,
        option(
            "LENGTH|FILE",
            "Mean length to compare with; or a file with one cost per line, a JSON list of costs, or a .sol file.",
        ),
    ] = None,
    best: BestOption = None,
    gaps: Annotated[Path | None, option("FILE.csv", "Write the gap of every instance to its best known cost.")] = None,
    decodings: Annotated[
        str | None,
        option(
            "HOW,HOW,...",
            "Compare several decodings: greedy, sample 16, multistart 8, beam 4, sgbs 16, each optionally with x8.",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("TABLE", "Write a table with one row per model and decoding: .csv, .md or .tex.")
    ] = None,
    limit: Annotated[int | None, option("N", "Only the first N instances.", min=1)] = None,
    capacity: CapacityOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a model's mean length and time on a set.

    The gap is mean length / mean reference - 1: a fraction in JSON, percent on
    the screen. The time is that of building and improving routes, without
    reading files and loading the model. A named model is not replaced by
    savings. With --best it reports the gaps of the instances to their best
    known costs: mean, median and worst, always in percent.

    Example:
      dynaroute evaluate --data t100.npz --model amd-100 --reference 15.563
      dynaroute evaluate --data X --best best.csv --model amd-100 --gaps gaps.csv
      dynaroute evaluate --data t100.npz --model amd-100 --improve 2opt
      dynaroute evaluate --data t100.npz --model amd --model am-20 --out table.md
      dynaroute evaluate --data X --model amd --decodings "greedy, greedy x8"
    """
    options = replace(options, model=model[0])
    each_decoding = [options] if decodings is None else parse_decodings(decodings, options)
    methods = [replace(each, model=name) for name in model for each in each_decoding]
    for method in methods:
        refuse_unknown_model(method)
    print_void_options(options)
    read = [*list_files(data, best, reference), *(file for name in model for file in list_model_files(name))]
    for file in (gaps, out):
        if file is not None:
            refuse_missing_folder(file)
    refuse_overwriting([("--gaps", gaps), ("--out", out)], read)
    suffix = None if out is None else require_table(out)
    if gaps is not None and len(methods) > 1:
        remedy = "Give one model and one decoding, or --out."
        raise OptionError.about("gaps", "there would be one table per model and decoding.", remedy)
    jobs = gather_jobs([data], TableOptions(capacity))
    instances = [job.instance for job in jobs]
    known = _read_best(data, best, jobs, limit)
    if gaps is not None and known is None:
        raise OptionError.about("gaps", "there are no best known costs.", "Give --best FILE.csv.")
    costs = None if reference is None else read_reference(reference, instances)
    if isinstance(costs, list):
        costs = costs[:limit]
    elif costs is not None and limit is not None and limit < len(instances):
        print_note(f"only the first {limit} instances are measured; {costs:g} may be the mean of others.")

    from dynaroute.study.evaluation import evaluate_all

    chosen = instances[:limit]
    compared = []
    for method in methods:
        preload_search(method, chosen)
        with show_progress(len(chosen), "evaluating") as advance:
            evaluation = evaluate_all(chosen, method, Observers(advance), costs, None if known is None else known.costs)
        compared.append(Compared(str(method.model), _describe_decoding(method), evaluation))

    if out is not None and suffix is not None:
        from dynaroute.base.files import write_bytes

        write_bytes(out, format_comparison(compared, suffix).encode())
    if len(methods) > 1:
        if json:
            print_json([row.to_json() for row in compared])
        else:
            heading, *rows = list_rows(compared)
            print_table(heading, rows)
        return
    if gaps is not None and known is not None:
        write_gaps(gaps, known, chosen, evaluation)
    if not json:
        _print_evaluation(data, evaluation)
        if known is not None:
            print_gaps(known, chosen, evaluation)
        return
    if options.model == "auto":
        print_note(f"routes were built by {show_counts(evaluation.methods)}.")
    print_json(compared[0].to_json())


def _describe_decoding(options: SolveOptions) -> str:
    """Describe how routes are built and improved."""
    built = str(options.decoding) if options.uses_policy else "savings"
    return built if options.improver == "none" else f"{built} + {options.improver}"


def _read_best(data: Path, best: Path | None, jobs: Sequence[SolveJob], limit: int | None) -> BestCosts | None:
    """Read the best known costs from the given table or the one in the folder, for the measured instances."""
    from dynaroute.formats.collection import BestCosts, Collection, find_best_costs, read_best_costs

    table = best if best is not None else find_best_costs(data)
    if table is None:
        return None
    is_by_name = all(job.file.suffix.lower() == ".vrp" for job in jobs)
    names = [job.file.stem if is_by_name else job.instance.name or "" for job in jobs]
    known = read_best_costs(table, Collection(names, [job.instance for job in jobs], is_by_name))
    return BestCosts(known.names[:limit], known.costs[:limit])


def _print_evaluation(data: Path, evaluation: Evaluation) -> None:
    error = evaluation.standard_error
    facts = [
        ("instances", f"{evaluation.count}"),
        ("routes by", show_counts(evaluation.methods)),
        ("mean length", show_length(evaluation.mean_length)),
        ("standard error", "unknown for one instance" if error is None else f"{error:.4g}"),
        ("time", _show_time(evaluation.seconds_per_instance)),
    ]
    if evaluation.gap is not None:
        facts.append(("gap", f"{100 * evaluation.gap:.2f} % (mean length / mean reference - 1)"))
    print_facts(str(data), facts)


def _show_time(seconds: float) -> str:
    return f"{seconds:.3f} s per instance" if seconds >= 1 else f"{1000 * seconds:.3g} ms per instance"
