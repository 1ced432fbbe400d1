"""Reading instances from the files and folders a user names, and known solutions for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import DynarouteError, OptionError, Where, in_file, merge_notes
from dynaroute.cli.shared.tables import TableOptions
from dynaroute.problem.statements import Statements

if TYPE_CHECKING:
    from dynaroute.plans.matching import KnownRoutes
    from dynaroute.problem.instance import Instance


@dataclass(frozen=True)
class SolveJob:
    """One instance to solve.

    Parameters
    ----------
    instance
        The problem.
    file
        The file it was read from.
    label
        The stem of its file and, for a set, its number: the name of output files.
    """

    instance: Instance
    file: Path
    label: str

    @property
    def name(self) -> str:
        """The instance's own name, or the label if it has none."""
        return self.instance.name or self.label


def gather_jobs(paths: Iterable[Path], tables: TableOptions) -> list[SolveJob]:
    """Read all instances of all files and folders.

    Parameters
    ----------
    paths
        Files and folders, as the user named them.
    tables
        The user's options for tables.

    Raises
    ------
    ExceptionGroup
        With one error per unreadable file.
    """
    from dynaroute.formats.collection import list_instance_files

    files = [file for path in paths for file in list_instance_files(path)]
    jobs: list[SolveJob] = []
    faults: list[DynarouteError] = []
    for file in files:
        try:
            jobs += _read_jobs(file, tables)
        except DynarouteError as error:
            faults.append(error)
    if faults:
        raise ExceptionGroup("files that cannot be read", faults)
    return jobs


def refuse_impossible_jobs(jobs: Iterable[SolveJob]) -> None:
    """Raise if an instance has no feasible plan, before search code is loaded.

    Raises
    ------
    ExceptionGroup
        With one error per impossible instance.
    """
    from dynaroute.problem.impossible import refuse_impossible

    faults: list[DynarouteError] = []
    for job in jobs:
        try:
            with in_file(job.file):
                refuse_impossible(job.instance)
        except DynarouteError as error:
            faults.append(error)
    if faults:
        raise ExceptionGroup("problems that no plan can solve", faults)


def _read_jobs(file: Path, tables: TableOptions) -> list[SolveJob]:
    instances = tables.read_set(file)
    label = "stdin" if str(file) == "-" else file.stem
    if len(instances) == 1:
        return [SolveJob(instances[0], file, label)]
    return [SolveJob(instance, file, f"{label}-{number}") for number, instance in enumerate(instances, start=1)]


def read_starts(path: Path, jobs: Sequence[SolveJob]) -> list[KnownRoutes]:
    """Read known routes of each instance, and check them.

    Parameters
    ----------
    path
        A .sol, .json, .csv, .xlsx or .geojson file for a single instance; or a folder with NAME.sol for each, as
        written by ``--out``.
    jobs
        The instances.

    Raises
    ------
    OptionError
        If a file is given for many instances.
    SolutionError
        If a solution is wrong for its instance.
    """
    if len(jobs) > 1 and not path.is_dir():
        raise OptionError(
            f"a file holds the routes of one instance, not of {len(jobs)}.",
            where=Where(file=str(path), field="--start"),
            remedy="Name a folder with NAME.sol for each.",
        )
    return [_read_start(file, job) for file, job in zip(list_starts(path, jobs), jobs, strict=True)]


def list_starts(path: Path | None, jobs: Sequence[SolveJob]) -> list[Path]:
    """List the files that `read_starts` reads."""
    if path is None:
        return []
    return [path / f"{job.label}.sol" for job in jobs] if path.is_dir() else [path]


def _read_start(path: Path, job: SolveJob) -> KnownRoutes:
    from dynaroute.plans.read import read_known_routes
    from dynaroute.solving.solve import refuse_wrong_start

    with in_file(path), merge_notes(""):  # if the routes are refused, there is nothing to note
        known = read_known_routes(path, job.instance)
        refuse_wrong_start(job.instance, replace(known.solution, statements=Statements(waiting=known.new)))
    return known
