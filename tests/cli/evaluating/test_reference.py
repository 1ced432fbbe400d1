from __future__ import annotations

from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, WRONG_SOLUTION, save

from dynaroute.base.errors import DynarouteError
from dynaroute.cli.evaluating.reference import read_reference
from dynaroute.formats import parse_vrplib
from dynaroute.problem.instance import Instance


@pytest.fixture
def instance() -> Instance:
    return parse_vrplib(INSTANCE)


@pytest.mark.parametrize(("text", "length"), [("15.5", 15.5), ("14", 14.0), ("1e1", 10.0)])
def test_number_is_a_mean_length(instance: Instance, text: str, length: float) -> None:
    assert read_reference(text, [instance, instance]) == length


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("costs.txt", "14\n\n 15.5 \r\n"),
        ("costs", "14\n15.5"),
        ("costs.json", "[14, 15.5]"),
        ("costs.json", '[{"cost": 14, "routes": []}, {"cost": 15.5}]'),
    ],
)
def test_file_holds_the_cost_of_each_instance(tmp_path: Path, instance: Instance, name: str, content: str) -> None:
    assert read_reference(str(save(tmp_path, name, content)), [instance, instance]) == [14.0, 15.5]


def test_solution_is_priced_whether_or_not_it_states_its_cost(tmp_path: Path, instance: Instance) -> None:
    path = save(tmp_path, "a.sol", RIGHT_SOLUTION.replace("Cost 14", ""))

    assert read_reference(str(path), [instance]) == [14.0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("costs.txt", "14\n", "1 costs for 2 instances"),
        ("costs.txt", "14\n15\n16\n", "3 costs for 2 instances"),
        ("costs.txt", "14\nfifteen\n", "line 2"),
        ("costs.txt", "", "empty"),
        ("costs.json", "[14", "not JSON"),
        ("costs.json", "14", "a list"),
        ("costs.json", '[14, "15"]', "[1]"),
        ("costs.json", '[14, {"length": 3}]', "[1]"),
        ("a.sol", RIGHT_SOLUTION, "holds one solution"),
    ],
)
def test_file_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, instance: Instance, name: str, content: str, words: str
) -> None:
    with pytest.raises(DynarouteError) as caught:
        read_reference(str(save(tmp_path, name, content)), [instance, instance])

    assert words in str(caught.value)
    assert name in str(caught.value)


def test_wrong_solution_is_no_reference(tmp_path: Path, instance: Instance) -> None:
    with pytest.raises(DynarouteError, match="the solution is wrong"):
        read_reference(str(save(tmp_path, "a.sol", WRONG_SOLUTION)), [instance])


def test_file_that_is_not_there_is_refused(instance: Instance) -> None:
    with pytest.raises(DynarouteError, match="no such file"):
        read_reference("none.txt", [instance])
