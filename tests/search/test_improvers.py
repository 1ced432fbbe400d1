"""The table of improvers."""

from __future__ import annotations

import runpy
import subprocess
import sys
from typing import Any, get_args

import numpy as np
import pytest

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.ruin_recreate import anneal
from dynaroute.search.genetic.genetic import (
    add_children,
    add_feasible,
    draw_children,
    evolve,
    find_best_child,
    improve_children,
)
from dynaroute.search.improvers import IMPROVERS
from dynaroute.search.local.local_search import descend
from dynaroute.search.local.two_opt import improve_paths
from dynaroute.search.many import BatchSearchRequest, search_side_by_side
from dynaroute.search.savings import build_by_savings
from dynaroute.solving.options import Improve
from dynaroute.solving.solve import solve

IN_THE_PLANE = Instance(np.random.default_rng(0).random((13, 2)), np.array([0] + [1] * 12), 5)
ON_THE_GLOBE = Instance(np.random.default_rng(0).random((13, 2)), np.array([0] + [1] * 12), 5, metric="great_circle")
BY_A_MATRIX = Instance(None, np.array([0] + [1] * 12), 5, distances=IN_THE_PLANE.distance_matrix)
KERNELS: tuple[Any, ...] = (
    anneal,
    evolve,
    add_feasible,
    draw_children,
    improve_children,
    add_children,
    find_best_child,
    descend,
    improve_paths,
)


def improve(name: str, instance: Instance, start: Solution) -> Solution:
    if name in IMPROVERS:
        return IMPROVERS[name]().improve([instance], [start], threads=2)[0]
    request = BatchSearchRequest([instance], begin=lambda: Stopping(iterations=500), find_start=lambda *_: start)
    return search_side_by_side(request, 2)[0].solution


def test_options_name_the_same_improvers() -> None:
    assert get_args(Improve) == ("none", *IMPROVERS, "search", "active")


@pytest.mark.parametrize("instance", [IN_THE_PLANE, ON_THE_GLOBE, BY_A_MATRIX], ids=["plane", "globe", "matrix"])
@pytest.mark.parametrize("name", [*IMPROVERS, "search"])
def test_every_improver_takes_any_instance_and_a_start(name: str, instance: Instance) -> None:
    start = Solution(tuple((one, one + 6, one + 3) for one in (1, 2, 3)) + tuple((one,) for one in (10, 11, 12)))
    improved = improve(name, instance, start)
    assert check(instance, improved) == []
    assert improved.cost(instance) < start.cost(instance)


@pytest.mark.parametrize("name", IMPROVERS)
def test_tensors_are_improved_like_solutions(name: str) -> None:
    instances = draw_paper_set(20, 3, np.random.default_rng(1)).instances()
    batch = InstanceBatch.from_instances(instances)
    starts = [build_by_savings(instance) for instance in instances]
    improved = IMPROVERS[name]().improve_tensors(batch, RouteBatch.from_solutions(starts, batch), threads=1)
    assert [each.routes for each in improved.to_solutions(batch)] == [
        each.routes for each in IMPROVERS[name]().improve(instances, starts, threads=1)
    ]


def test_the_compile_step_leaves_nothing_to_compile(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["search"])
    runpy.run_module("dynaroute.search", run_name="__main__")
    assert "compiled" in capsys.readouterr().out
    before = [len(kernel.signatures) for kernel in KERNELS]
    assert all(before)
    instances = draw_paper_set(30, 2, np.random.default_rng(1)).instances()
    solve([*instances, BY_A_MATRIX], iterations=20_000)
    solve(BY_A_MATRIX, iterations=20_000, threads=2)
    solve([*instances, BY_A_MATRIX], model="savings", improve="2opt")
    solve([*instances, BY_A_MATRIX], model="savings", improve="local")
    assert [len(kernel.signatures) for kernel in KERNELS] == before


def test_the_table_is_light_to_import() -> None:
    program = "import sys, dynaroute.search.improvers; print({'numba', 'numpy', 'torch'} & set(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert finished.stdout.strip() == "set()"
