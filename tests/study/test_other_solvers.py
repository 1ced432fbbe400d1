"""LKH3 by way of its files: a script stands in for the program, which may not be shipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from policies import draw_instances

from dynaroute.base.errors import FileError, FormatError
from dynaroute.problem.solution import Solution, check
from dynaroute.study.other_solvers import read_lkh_tour, solve_with_lkh

SCRIPT = """#!{python}
import sys
from pathlib import Path
from dynaroute.formats.read import read
from dynaroute.search.savings import build_by_savings

lines = Path(sys.argv[1]).read_text().splitlines()
settings = dict(line.split(" = ") for line in lines if " = " in line)
assert "SPECIAL" in lines and settings["SEED"] == "7" and settings["RUNS"] == "1"
instance = read(settings["PROBLEM_FILE"])
assert instance.rounding == "nearest"
nodes, depot = [], 1
for route in build_by_savings(instance).routes:
    nodes += [depot, *(customer + 1 for customer in route)]
    depot = instance.size + 2 if depot == 1 else depot + 1
body = "\\n".join(map(str, nodes[2:] + nodes[:2]))
Path(settings["OUTPUT_TOUR_FILE"]).write_text(f"NAME : x\\nTOUR_SECTION\\n{{body}}\\n-1\\nEOF\\n")
"""


def write_program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_is_given_parameters_and_its_tour_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    program = write_program(tmp_path / "LKH", SCRIPT.format(python=sys.executable))
    (instance,) = draw_instances(12)
    routes = solve_with_lkh(program, instance, seed=7)
    assert len(routes) > 1
    assert check(instance, Solution(tuple(map(tuple, routes)))) == []


@pytest.mark.parametrize(
    ("text", "words"), [("#!/bin/sh\necho no licence >&2\nexit 3\n", "no licence"), ("no program", "did not solve")]
)
def test_a_program_that_leaves_no_tour_is_told(tmp_path: Path, text: str, words: str) -> None:
    program = write_program(tmp_path / "LKH", text)
    with pytest.raises(FileError, match=words):
        solve_with_lkh(program, draw_instances(5)[0], seed=1)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError) as told:
        solve_with_lkh(tmp_path / "nowhere", draw_instances(5)[0], seed=1)
    assert told.value.where is not None
    assert told.value.where.file == str(tmp_path / "nowhere")


def test_a_tour_is_a_circle_in_which_other_numbers_are_the_depot() -> None:
    assert read_lkh_tour("TOUR_SECTION\n3\n7\n2\n5\n1\n4\n6\n-1\nEOF\n", 5) == [[1, 4], [3, 5, 2]]


def test_what_is_no_tour_is_refused() -> None:
    with pytest.raises(FormatError, match="not a node number"):
        read_lkh_tour("TOUR_SECTION\nhello\n", 5)
