"""From the files and folders a user names to labelled instances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dynaroute.cli.exit_codes import INPUT_FAULT
from dynaroute.cli.output import print_error
from dynaroute.errors import DynarouteError, FileError, Where

if TYPE_CHECKING:
    from dynaroute.instance import Instance

__all__ = ["Job", "gather_jobs"]


@dataclass(frozen=True)
class Job:
    """One instance to solve.

    Parameters
    ----------
    instance
        The problem.
    file
        Where it was read.
    label
        The stem of its file, and its number there if the file is a set: the name of what is written for it.
    """

    instance: Instance
    file: Path
    label: str

    @property
    def name(self) -> str:
        """The instance's own name, or the label if it has none."""
        return self.instance.name or self.label


def gather_jobs(paths: Iterable[Path], capacity: float | None) -> list[Job]:
    """Read all instances of all files; a folder stands for the instance files in it.

    Every file that cannot be read is named on stderr before the command ends.

    Parameters
    ----------
    paths
        Files and folders, as the user named them.
    capacity
        Vehicle capacity, for files that do not state it.
    """
    files = [file for path in paths for file in (_list_folder(path) if path.is_dir() else [path])]
    jobs: list[Job] = []
    faults: list[DynarouteError] = []
    for file in files:
        try:
            jobs += _read_jobs(file, capacity)
        except DynarouteError as error:
            faults.append(error)
    for fault in faults:
        print_error(str(fault))
    if faults:
        raise typer.Exit(INPUT_FAULT)
    return jobs


def _list_folder(folder: Path) -> list[Path]:
    from dynaroute.formats import INSTANCE_SUFFIXES

    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in INSTANCE_SUFFIXES and file.is_file())
    if not files:
        raise FileError(
            "the folder holds no instance file.",
            where=Where(file=str(folder)),
            remedy=f"Instance files end in {', '.join(INSTANCE_SUFFIXES)}; folders inside it are not searched.",
        )
    return files


def _read_jobs(file: Path, capacity: float | None) -> list[Job]:
    from dynaroute.formats import read_set

    instances = read_set(file, capacity=capacity)
    if len(instances) == 1:
        return [Job(instances[0], file, file.stem)]
    return [Job(instance, file, f"{file.stem}-{number}") for number, instance in enumerate(instances, start=1)]
