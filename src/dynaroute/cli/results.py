"""Where the results of ``dynaroute solve`` go."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.cli.jobs import Job
from dynaroute.cli.output import plain_number
from dynaroute.cli.places import refuse_missing_folder
from dynaroute.errors import OptionError, Where, in_file
from dynaroute.vocabulary import join_with_or

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dynaroute.solving.result import Result

__all__ = ["check_destinations", "describe", "write_results"]


def describe(job: Job, result: Result) -> dict[str, Any]:
    """Describe a result in the keys that ``solve --json`` promises; loads are in the user's unit."""
    instance, solution = job.instance, result.solution
    document = {
        "instance": job.name,
        "cost": plain_number(result.cost),
        "routes": [list(route) for route in solution.routes],
        "loads": [plain_number(instance.shown_demand(load)) for load in solution.loads(instance)],
        "seconds": result.seconds,
        "method": result.method,
        "model": result.model,
    }
    if not result.trace:
        return document
    return {
        **document,
        "iterations": result.iterations,
        "interrupted": result.is_interrupted,
        "trace": [[round(seconds, 6), plain_number(cost)] for seconds, cost in result.trace],
    }


def check_destinations(jobs: Sequence[Job], out: Path | None, plot: Path | None) -> None:
    """Refuse places that the results cannot be written to, before any work is done for them.

    Parameters
    ----------
    jobs
        What will be solved.
    out
        File or folder for the routes, if wanted.
    plot
        File for the picture, if wanted.
    """
    if plot is not None:
        _check_plot(jobs, plot)
    if out is None:
        return
    from dynaroute.formats import SOLUTION_SUFFIXES

    refuse_missing_folder(out)
    if _is_folder(out):
        _refuse_unusable_folder(jobs, out)
        return
    if out.suffix.lower() not in SOLUTION_SUFFIXES:
        raise _fault(
            "--out", out, "routes have no such format.", f"Name a {join_with_or(SOLUTION_SUFFIXES)} file, or a folder."
        )
    if out.suffix.lower() == ".sol" and len(jobs) > 1:
        message = f"a .sol file holds one solution, not {len(jobs)}."
        raise _fault("--out", out, message, "Name a folder, or a .json file.")
    if out.exists() and any(out.samefile(file) for file in {job.file for job in jobs}):
        raise _fault("--out", out, "the solution would replace the instance.", "Name another file.")


def write_results(jobs: Sequence[Job], results: Sequence[Result], out: Path | None, plot: Path | None) -> None:
    """Write routes and picture where `check_destinations` found them possible."""
    # drawn before anything is written, since not every instance can be drawn
    drawing = None if plot is None else _draw(jobs[0], results[0])
    if out is not None:
        _write_routes(jobs, results, out)
    if plot is not None and drawing is not None:
        from dynaroute.plotting import save_figure

        save_figure(drawing, plot)


def _draw(job: Job, result: Result) -> Axes:
    from dynaroute.plotting import plot_solution, plot_solution_and_trace

    with in_file(job.file):
        if result.iterations is None:
            return plot_solution(job.instance, result.solution)
        return plot_solution_and_trace(job.instance, result.solution, result.trace, until=result.seconds)


def _write_routes(jobs: Sequence[Job], results: Sequence[Result], out: Path) -> None:
    from dynaroute.files import write_bytes
    from dynaroute.formats import write

    if _is_folder(out):
        out.mkdir(exist_ok=True)
        for job, result in zip(jobs, results, strict=True):
            write(result.solution, out / f"{job.label}.sol")
    elif len(jobs) == 1:
        write(results[0].solution, out)
    else:
        documents = [describe(job, result) for job, result in zip(jobs, results, strict=True)]
        write_bytes(out, json.dumps(documents, allow_nan=False).encode())


def _check_plot(jobs: Sequence[Job], plot: Path) -> None:
    from dynaroute.plotting import check_picture_path

    if len(jobs) > 1:
        raise _fault("--plot", plot, f"a picture shows one instance, not {len(jobs)}.", "Use dynaroute plot for each.")
    check_picture_path(plot)
    refuse_missing_folder(plot)


def _is_folder(out: Path) -> bool:
    return out.is_dir() or not out.suffix


def _refuse_unusable_folder(jobs: Sequence[Job], out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise _fault("--out", out, "this is a file, not a folder.", "Name a folder, or a .sol or .json file.")
    label, uses = Counter(job.label for job in jobs).most_common(1)[0]
    if uses > 1:
        message = f"{uses} instances would be written to {label}.sol."
        raise _fault("--out", out, message, "Rename the files, or write one .json file.")


def _fault(option: str, path: Path, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(file=str(path), field=option), remedy=remedy)
