from __future__ import annotations

from pathlib import Path

import pytest
from command_line import RIGHT_SOLUTION, save
from policies import draw_instances

from dynaroute import write
from dynaroute.base.errors import DynarouteError, FileError, OptionError, SolutionError
from dynaroute.cli.shared.jobs import SolveJob, read_starts
from dynaroute.search.savings import build_by_savings


def jobs(*sizes: int) -> list[SolveJob]:
    return [SolveJob(instance, Path("set.npz"), f"set-{instance.size}") for instance in draw_instances(*sizes)]


@pytest.mark.parametrize("name", ["a.sol", "a.json"])
def test_file_is_for_one_instance(tmp_path: Path, name: str) -> None:
    (job,) = jobs(7)
    start = build_by_savings(job.instance)
    write(start, tmp_path / name)

    assert [known.solution.routes for known in read_starts(tmp_path / name, [job])] == [start.routes]


def test_folder_holds_a_file_for_each(tmp_path: Path) -> None:
    several = jobs(7, 5)
    starts = [build_by_savings(job.instance) for job in several]
    for job, start in zip(several, starts, strict=True):
        write(start, tmp_path / f"{job.label}.sol")

    assert [known.solution.routes for known in read_starts(tmp_path, several)] == [start.routes for start in starts]


def test_file_for_many_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="of one instance, not of 2"):
        read_starts(save(tmp_path, "a.sol", RIGHT_SOLUTION), jobs(3, 4))


def test_folder_that_lacks_one_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_starts(tmp_path, jobs(3, 4))

    assert caught.value.where.file == str(tmp_path / "set-3.sol")


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("Route #1: 1 2\nRoute #2: 2\n", SolutionError, "already visited"),
        ("Route #1: 1 2 3 4\n", SolutionError, "customers are 1 to 3"),
        ("Route #1: one\n", DynarouteError, "line 1"),
    ],
)
def test_wrong_solution_is_refused_with_its_file(
    tmp_path: Path, text: str, kind: type[DynarouteError], words: str
) -> None:
    path = save(tmp_path, "a.sol", text)

    with pytest.raises(kind) as caught:
        read_starts(path, jobs(3))

    assert str(path) in str(caught.value)
    assert words in str(caught.value)
