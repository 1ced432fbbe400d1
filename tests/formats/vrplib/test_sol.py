from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from strategies import solutions

from dynaroute.base.errors import FormatError, InputWarning
from dynaroute.formats import format_sol, parse_sol
from dynaroute.problem.solution import Solution

vrplib = pytest.importorskip("vrplib")


@given(solutions)
def test_a_written_solution_reads_back_the_same(solution: Solution) -> None:
    assert parse_sol(format_sol(solution)) == solution


def test_a_whole_cost_is_written_without_decimals() -> None:
    assert format_sol(Solution(((3, 1), (2,)), 27591.0)) == "Route #1: 3 1\nRoute #2: 2\nCost 27591\n"


def test_without_a_cost_none_is_written() -> None:
    assert format_sol(Solution(((1,),))) == "Route #1: 1\n"


def test_another_reader_understands_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.sol").write_text(format_sol(Solution(((3, 1), (2,)), 12.5)))

    assert vrplib.read_solution(str(tmp_path / "a.sol")) == {"routes": [[3, 1], [2]], "cost": 12.5}


def test_a_customer_of_ten_thousand_digits_is_no_customer() -> None:
    with pytest.raises(FormatError, match="not a customer"):
        parse_sol("Route #1: " + "9" * 10_000)


def test_other_lines_are_ignored_with_a_warning() -> None:
    with pytest.warns(InputWarning, match="Routes 2"):
        assert parse_sol("Routes 2\nRoute 1: 1\n") == Solution(((1,),))


@pytest.mark.parametrize("text", ["Route #1: 1\nCost 1e999\n", "Route #1: 1\nCost inf\n", "Route #1: 1\nCost 5 6\n"])
def test_a_cost_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_sol(text)

    assert (caught.value.where.line, caught.value.where.field) == (2, "Cost")


def test_15_9_a_line_of_blanks_is_refused_at_once() -> None:
    with pytest.raises(FormatError):  # the time grew with the cube of the blanks: a day for these
        parse_sol(f"Route{' ' * 50_000}x\n")
