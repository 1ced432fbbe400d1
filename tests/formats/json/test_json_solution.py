from __future__ import annotations

import json

import pytest
from hypothesis import given
from strategies import solutions

from dynaroute.base.errors import FormatError, InputWarning
from dynaroute.formats import solution_from_json, solution_to_json
from dynaroute.formats.json.solution import format_json_solution, parse_json_solution
from dynaroute.problem.solution import Solution


@given(solutions)
def test_a_written_solution_reads_back_the_same(solution: Solution) -> None:
    assert parse_json_solution(format_json_solution(solution)) == solution
    assert solution_from_json(solution_to_json(solution)) == solution


def test_what_solve_prints_for_one_instance_is_a_solution() -> None:
    printed = [
        {
            "instance": "tiny",
            "cost": 30,
            "routes": [[1, 2], [3]],
            "loads": [9, 6],
            "seconds": 0.1,
            "method": "savings",
            "model": None,
        }
    ]

    assert parse_json_solution(json.dumps(printed)) == Solution(((1, 2), (3,)), 30)


def test_no_routes_are_a_solution_that_misses_everybody() -> None:
    assert parse_json_solution('{"routes": []}') == Solution(())


def test_a_null_cost_is_no_cost() -> None:
    assert parse_json_solution('{"routes": [[1]], "cost": null}').stated_cost is None


def test_an_unknown_key_is_warned_of() -> None:
    with pytest.warns(InputWarning, match=r"a\.json.*author"):
        parse_json_solution('{"routes": [[1]], "author": "me"}', source="a.json")


def test_an_instance_is_no_solution() -> None:
    with pytest.raises(FormatError) as caught:
        parse_json_solution('{"capacity": 10}')

    assert caught.value.where.field == "routes"
