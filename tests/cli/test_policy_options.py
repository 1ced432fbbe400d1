from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.errors import ModelError, OptionError
from dynaroute.solving.options import SolveOptions

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"samples": 4}, "--samples"),
        ({"decode": "greedy", "samples": 4}, "--samples"),
        ({"temperature": 2.0}, "--temperature"),
        ({"decode": "multistart", "temperature": 2.0}, "--temperature"),
        ({"model": "savings", "decode": "greedy"}, "--decode"),
        ({"model": "savings", "samples": 4}, "--samples"),
        ({"model": "savings", "temperature": 1.0}, "--temperature"),
        ({"model": "savings", "augment": True}, "--augment"),
    ],
)
def test_options_that_cannot_be_obeyed_together_are_refused(given: dict[str, Any], option: str) -> None:
    with pytest.raises(OptionError) as caught:
        PolicyOptions(**{"model": "auto", **given})

    assert caught.value.where.field == option
    assert caught.value.remedy


def test_model_that_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match="no model 'absent'"):
        PolicyOptions("absent")


def test_given_options_become_settings(model: Path) -> None:
    options = PolicyOptions(str(model), "sample", 4, 2.0, True, 1, "cpu")

    assert options.settings() == {
        "model": str(model),
        "decode": "sample",
        "samples": 4,
        "temperature": 2.0,
        "augment": True,
        "seed": 1,
        "device": "cpu",
    }


def test_options_left_out_get_the_defaults_of_the_solver() -> None:
    assert SolveOptions(**PolicyOptions("auto").settings()) == SolveOptions()
