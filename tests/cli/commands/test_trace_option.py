from __future__ import annotations

import json
from pathlib import Path

import pytest
from policies import draw_instances

from dynaroute.base.errors import FileError, OptionError
from dynaroute.cli.commands.solve import check_trace, open_trace
from dynaroute.cli.shared.jobs import SolveJob
from dynaroute.problem.solution import Solution
from dynaroute.search.search import Improvement
from dynaroute.solving.options import SolveOptions

SEARCH = SolveOptions(time_limit=1.0)
FIRST, SECOND = (Improvement(seconds, cost, Solution(((1,),))) for seconds, cost in ((0.25, 30.0), (1.5, 28.5)))


def jobs(count: int) -> list[SolveJob]:
    return [
        SolveJob(instance, Path("set.npz"), f"set-{number}")
        for number, instance in enumerate(draw_instances(*[3] * count))
    ]


def test_one_instance_gets_seconds_and_costs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    with open_trace(path, jobs(1)) as write:
        write(0, FIRST)
        write(0, SECOND)

    assert path.read_text() == "seconds,cost\n0.25,30\n1.5,28.5\n"


def test_many_instances_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    with open_trace(path, jobs(2)) as write:
        write(1, FIRST)

    assert path.read_text() == "instance,seconds,cost\nset-1,0.25,30\n"


@pytest.mark.parametrize(("count", "name"), [(1, {}), (2, {"instance": "set-0"})])
def test_json_lines_hold_the_same(tmp_path: Path, count: int, name: dict[str, str]) -> None:
    path = tmp_path / "a.jsonl"

    with open_trace(path, jobs(count)) as write:
        write(0, FIRST)
        write(0, SECOND)

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [{**name, "seconds": 0.25, "cost": 30}, {**name, "seconds": 1.5, "cost": 28.5}]


def test_every_line_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    with open_trace(path, jobs(1)) as write:
        write(0, FIRST)
        assert path.read_text() == "seconds,cost\n0.25,30\n"


def test_without_a_path_nothing_is_written() -> None:
    with open_trace(None, jobs(1)) as write:
        write(0, FIRST)


def test_without_a_search_there_is_no_trace() -> None:
    with pytest.raises(OptionError, match="only a search"):
        check_trace(Path("a.csv"), SolveOptions(improve="local"))

    check_trace(None, SolveOptions(improve="local"))


@pytest.mark.parametrize("name", ["a.txt", "a"])
def test_unknown_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"\.csv"):
        check_trace(tmp_path / name, SEARCH)


def test_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(FileError), open_trace(tmp_path / "a.csv", jobs(1)):
        pass
    with pytest.raises(FileError, match="does not exist"):
        check_trace(tmp_path / "none" / "a.csv", SEARCH)
