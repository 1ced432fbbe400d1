"""Small instances are built without PyTorch, and exactly as with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynaroute.batch import InstanceBatch
from dynaroute.construct.choose import MostLikely
from dynaroute.construct.eager import construct_eagerly
from dynaroute.model import Policy
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.small import SmallPolicy, find_small_policy
from dynaroute.solving.solve import solve
from dynaroute.weights import find_model, shipped_models

AMD = find_model("amd")
DYNAMIC = [name for name in shipped_models() if name.startswith("amd")]


def make_instance(size: int, seed: int, **more: object) -> Instance:
    random = np.random.default_rng(seed)
    demands = np.array([0, *random.integers(0, 10, size)])
    return Instance(coordinates=random.random((size + 1, 2)) * 100, demands=demands, capacity=25, **more)  # type: ignore[arg-type]


def load(model: str) -> SmallPolicy:
    policy = find_small_policy([make_instance(1, 0)], model, SolveOptions())
    assert policy is not None
    return policy


@pytest.mark.parametrize("model", DYNAMIC)
@pytest.mark.parametrize("size", [1, 2, 5, 13, 40])
def test_routes_are_those_of_the_reference(model: str, size: int) -> None:
    policy = Policy.from_pretrained(find_model(model)).eval()
    for seed in range(3):
        instance = make_instance(size, seed)
        batch = InstanceBatch.from_instances([instance])
        (expected,) = construct_eagerly(policy, batch, MostLikely()).to_solutions(batch)
        built = load(model).build(instance)

        assert check(instance, built) == []
        assert built.cost(instance) == pytest.approx(expected.cost(instance), rel=1e-9)


def test_places_on_the_globe_and_full_vehicles_are_handled() -> None:
    degrees = np.array([[53.5, 10.0], [53.6, 10.1], [53.7, 9.9], [53.7, 9.9]])
    instance = Instance(coordinates=degrees, demands=np.array([0, 5, 5, 0]), capacity=5, metric="great_circle")

    assert check(instance, load("amd").build(instance)) == []


def test_only_what_pytorch_would_build_the_same_is_built_here() -> None:
    small, options = [make_instance(20, 1)], SolveOptions()

    assert find_small_policy(small, "amd", options) is not None
    assert find_small_policy(small * 20, "amd", options) is None
    for other in ("savings", "am-20", "rl-20", "elsewhere/"):
        assert find_small_policy(small, other, options) is None
    for changed in (SolveOptions(device="cpu"), SolveOptions(decode="sample"), SolveOptions(augment=True)):
        assert find_small_policy(small, "amd", changed) is None


def test_damaged_weights_are_left_to_the_loader_that_explains_them(shelf: Path) -> None:
    shutil.copytree(AMD, shelf / "amd")
    small = [make_instance(5, 1)]
    assert find_small_policy(small, "amd", SolveOptions()) is not None

    weights = bytearray((shelf / "amd" / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (shelf / "amd" / "model.safetensors").write_bytes(weights)
    assert find_small_policy(small, "amd", SolveOptions()) is None


def test_a_policy_still_competes_with_savings() -> None:
    result = solve(make_instance(30, 2))
    by_savings, by_policy = solve(make_instance(30, 2), model="savings"), solve(make_instance(30, 2), model="amd")

    assert result.cost == min(by_savings.cost, by_policy.cost)


def test_a_small_file_is_solved_fast_without_loading_pytorch() -> None:
    code = (
        "import sys, numpy\n"
        "from dynaroute.problem.instance import Instance\n"
        "from dynaroute.solving.solve import solve\n"
        "places = numpy.array([[0, 0], [3, 4], [6, 0]])\n"
        "solve(Instance(coordinates=places, demands=numpy.array([0, 1, 1]), capacity=2))\n"
        "print([name for name in ('torch', 'numba', 'matplotlib') if name in sys.modules])"
    )

    assert subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True).stdout == "[]\n"
