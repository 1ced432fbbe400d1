"""Plans under any combination of rules: right for `check`, and the best of all on small problems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_args

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich_problems import RULE_MAKERS, draw_problem

from dynaroute.base.errors import DynarouteError
from dynaroute.base.stopping import Stopping
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.search.rules import SEARCHED_RULES, RulesCode, count_matrices, name_rules_code, refuse_unsearched_rules
from dynaroute.search.with_limits.problem import read_problem
from dynaroute.search.with_limits.search import make_tiny_instance, search_with_limits

_find_type: Any = numba.typeof
_SUPPORT = Path(__file__).parents[2] / "support"


def run_in_plain_python(name: str, *arguments: int) -> list[Any]:
    """What a program of `support` prints, a line of JSON for each problem."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    program = [sys.executable, str(_SUPPORT / name), *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def find_faults(first: int, last: int) -> tuple[list[object], list[object]]:
    """The problems with violations, and those whose plan is not the best of all."""
    found: list[dict[str, object]] = run_in_plain_python("rich_searches.py", first, last)
    assert len(found) == last - first
    broken: list[object] = [each for each in found if each["violations"] or float(str(each["excess"])) < -1e-7]
    worse: list[object] = [each for each in found if float(str(each["excess"])) > 1e-7]
    return broken, worse


def test_rules_change_nothing_where_they_say_the_same_as_none() -> None:
    compared = {name: (cost, known) for name, cost, known in run_in_plain_python("reductions.py")}
    assert {name: cost for name, (cost, _) in compared.items()} == pytest.approx(
        {name: known for name, (_, known) in compared.items()}
    )


def test_plans_keep_any_combination_of_rules_and_are_the_best_of_all() -> None:
    broken, worse = find_faults(0, 25)
    assert not broken
    assert len(worse) <= 2  # sixty iterations do not always find the best


def test_plans_cost_as_much_as_those_of_other_solvers_where_they_know_the_rule() -> None:
    problems = json.loads((_SUPPORT.parent / "data" / "rules_by_peers.json").read_text())
    found = run_in_plain_python("peer_rules.py")
    assert found == [[[], problem["cost"]] for problem in problems]


@settings(max_examples=max(1, settings().max_examples // 50), deadline=None)
@given(st.integers(100, 10**6))
def test_more_plans_keep_any_combination_of_rules(first: int) -> None:
    broken, _ = find_faults(first, first + 10)
    assert not broken


@pytest.mark.parametrize("code", get_args(RulesCode))
def test_what_is_loaded_in_advance_is_the_version_asked_for(code: RulesCode) -> None:
    assert name_rules_code(make_tiny_instance(code)) == code


def test_a_search_needs_no_other_machine_code_than_what_is_loaded_in_advance() -> None:
    compared = set()
    for seed in range(100):
        random = np.random.default_rng(seed)
        chosen = random.choice(sorted(RULE_MAKERS), int(random.integers(1, 5)), replace=False).tolist()
        try:
            instance = draw_problem(random, set(chosen), size=5)
            refuse_unsearched_rules(instance)
        except DynarouteError:  # these rules contradict each other, or are not searched
            continue
        if not instance.rules:
            continue
        code = name_rules_code(instance)
        tiny = read_problem(make_tiny_instance(code))
        assert _find_type(read_problem(instance)) == _find_type(tiny), chosen
        compared.add(code)
    assert len(compared) >= 6


def test_compiled_search_uses_the_vehicles_that_cost_least() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [10.0, 0.0], [11.0, 0.0], [12.0, 0.0]]),
        np.array([0, 3, 3, 3]),
        9,
        vehicles=(VehicleType(9, "truck", fixed_cost=100.0), VehicleType(3, "bicycle", distance_cost=0.5)),
    )
    outcome = search_with_limits(instance, None, Stopping(iterations=50))
    assert check(instance, outcome.solution) == []
    assert outcome.cost == 0.5 * 2 * (10 + 11 + 12)
    assert set(outcome.solution.vehicles or ()) == {1}


def test_compiled_search_fetches_and_loads_again() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [10.0, 0.0], [12.0, 0.0], [-10.0, 0.0], [0.0, 9.0]]),
        np.array([0, 0, 3, 8, 7]),
        10,
        pickups=np.array([0, 3, 0, 0, 0]),
        partners=np.array([0, 2, 1, 0, 0]),
        release=np.array([0.0, 0.0, 0.0, 0.0, 60.0]),
        speed=1.0,
        vehicles=(VehicleType(10, count=1, reload=("depot",)),),
    )
    solution = search_with_limits(instance, None, Stopping(iterations=200), seed=1).solution
    assert check(instance, solution) == []
    assert len(solution.routes) == 1


def test_backhauls_that_come_last_may_have_a_route_of_their_own() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [10.0, 0.0], [11.0, 0.0], [-10.0, 0.0]]),
        np.array([0, 2, 0, 0]),
        5,
        pickups=np.array([0, 0, 3, 3]),
        backhauls="last",
    )
    solution = search_with_limits(instance, None, Stopping(iterations=100), seed=1).solution
    assert check(instance, solution) == []
    assert sorted(solution.routes) == [(1, 2), (3,)]


def test_every_version_of_the_machine_code_has_a_name() -> None:
    random = np.random.default_rng(0)
    codes = {
        name_rules_code(draw_problem(random, set(rules), size=4))
        for rules in (("costs",), ("shipments",), ("prizes",), ("shipments", "prizes"), ("breaks",), ("reload",))
    }
    assert len(codes) == 6


def test_rules_that_are_searched_are_known() -> None:
    from dynaroute.problem.rules import RULES

    assert set(RULES) >= SEARCHED_RULES


def test_without_time_every_order_has_a_vehicle_of_its_own() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 0.0]]),
        np.array([0, 0, 2, 1, 1, 1]),
        2,
        pickups=np.array([0, 2, 0, 0, 0, 0]),
        partners=np.array([0, 2, 1, 0, 0, 0]),
        one_of=("", "", "", "x", "x", ""),
        vehicles=(VehicleType(2, "a", count=2), VehicleType(2, "b", min_vehicles=1)),
    )
    outcome = search_with_limits(instance, None, Stopping(deadline=time.perf_counter() - 1))
    assert check(instance, outcome.solution) == []
    assert sorted(outcome.solution.routes) == [(1, 2), (3,), (5,)]


@pytest.mark.parametrize(("compactness", "matrices"), [(0.0, 8), (1.0, 11)])
def test_matrices_of_all_kinds_of_drivers_are_counted(compactness: float, matrices: int) -> None:
    fleet = tuple(VehicleType(2, name, speed_factor=len(name)) for name in ("a", "bb", "ccc", "ddd"))
    instance = Instance(np.zeros((2, 2)), np.array([0, 1]), 2, vehicles=fleet, compactness=compactness)
    assert count_matrices(instance) == matrices
    assert count_matrices(Instance(np.zeros((2, 2)), np.array([0, 1]), 2)) == 2
