"""``--start``: known solutions to improve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.cli.jobs import Job
from dynaroute.errors import OptionError, Where, in_file

if TYPE_CHECKING:
    from dynaroute.solution import Solution

__all__ = ["read_starts"]


def read_starts(path: Path, jobs: Sequence[Job]) -> list[Solution]:
    """Read a known solution of each instance, and refuse wrong ones.

    Parameters
    ----------
    path
        A .sol or .json file for a single instance; a folder with NAME.sol for each, as ``--out`` writes it.
    jobs
        The instances.

    Raises
    ------
    OptionError
        If a file is given for many instances.
    SolutionError
        If a solution is wrong for its instance.
    """
    if path.is_dir():
        return [_read_start(path / f"{job.label}.sol", job) for job in jobs]
    if len(jobs) > 1:
        raise OptionError(
            f"a file holds the routes of one instance, not of {len(jobs)}.",
            where=Where(file=str(path), field="--start"),
            remedy="Name a folder that holds NAME.sol for each.",
        )
    return [_read_start(path, jobs[0])]


def _read_start(path: Path, job: Job) -> Solution:
    from dynaroute.formats import read_solution
    from dynaroute.solving.options import refuse_wrong_start

    with in_file(path):
        solution = read_solution(path)
        refuse_wrong_start(job.instance, solution)
    return solution
