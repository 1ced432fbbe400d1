from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from importlib import import_module

import pytest
import torch

import dynaroute
from dynaroute.model import PolicyConfig
from dynaroute.solving.options import SolveOptions
from dynaroute.training.replay import replay_log_probabilities


@pytest.mark.parametrize("name", dynaroute.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(dynaroute, name) is not None
    assert name in dir(dynaroute)


def test_names_of_the_design_are_public() -> None:
    assert {"read", "write", "solve", "check", "Instance", "Solution", "Policy"} <= set(dynaroute.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'teleport'"):
        getattr(dynaroute, "teleport")  # noqa: B009 (a type checker knows that it is not there)


def test_import_loads_no_heavy_library() -> None:
    code = (
        "import sys, dynaroute\n"
        "print([name for name in ('numpy', 'torch', 'matplotlib', 'numba') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert result.stdout == "[]\n"


SETTLED = """
dynaroute: read read_set write solve check Instance Solution Policy Result InstanceBatch RouteBatch
dynaroute.batch: InstanceBatch RouteBatch
dynaroute.construct: construct log_probabilities Greedy Sampling MultiStart Beam SGBS Augmented resume
dynaroute.construct.build: construct_once
dynaroute.construct.choose: MostLikely
dynaroute.distributions: draw_published_set
dynaroute.errors: DynarouteError InstanceError FormatError OptionError
dynaroute.model: Policy PolicyConfig
dynaroute.training.replay: replay_log_probabilities
"""


@pytest.mark.parametrize("line", SETTLED.split("\n")[1:-1])
def test_settled_names_stay_where_users_import_them(line: str) -> None:
    path, _, names = line.partition(": ")
    assert [name for name in names.split() if not hasattr(import_module(path), name)] == []


def test_settled_parts_of_the_public_classes_stay() -> None:
    settings = {option.name for option in dataclasses.fields(SolveOptions)}
    results = {part.name for part in dataclasses.fields(dynaroute.Result)}
    config = PolicyConfig(dimension=16, heads=2, layers=1, feed_forward=16, dynamic=False)
    encoder = dynaroute.Policy(config, generator=torch.Generator().manual_seed(1)).encoder
    assert settings >= {"time_limit", "total_time", "threads", "model", "augment", "decode", "samples", "improve"}
    assert settings >= {"iterations", "seed", "device"}
    assert results >= {"cost", "solution", "trace", "iterations"}
    assert callable(dynaroute.Policy.from_pretrained)
    assert callable(dynaroute.InstanceBatch.from_arrays)
    assert callable(dynaroute.InstanceBatch.from_instances)
    assert callable(encoder.embed)
    assert callable(encoder.layers[0].after_attention)


def test_the_replay_takes_what_was_settled() -> None:
    parameters = list(inspect.signature(replay_log_probabilities).parameters)
    assert parameters[:4] == ["policy", "batch", "routes", "samples"]
    assert "precision" in parameters
