from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from command_line import assert_refused, invoke

from dynaroute.base.errors import ModelError
from dynaroute.cli.commands.batch import batch
from dynaroute.cli.commands.evaluate import evaluate
from dynaroute.cli.commands.solve import solve
from dynaroute.cli.shared.options import print_void_options, refuse_unknown_model
from dynaroute.solving.options import DECLARATIONS, SolveOptions

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize(
    ("command", "missing"), [(solve, set()), (evaluate, {"start"}), (batch, {"start", "target", "threads"})]
)
def test_every_option_of_solving_is_one_of_the_command(command: Any, missing: set[str]) -> None:
    assert DECLARATIONS.keys() - inspect.signature(command).parameters.keys() == missing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--time-limit", "-1"), ("field --time-limit: ",)),
        (("--iterations", "0"), ("field --iterations: ",)),
        (("--target", "inf"), ("field --target: ",)),
        (("--improve", "2opt", "--time-limit", "2"), ("field --time-limit: ", "use --improve search.")),
        (("--samples", "4"), ("field --samples: ", "Use --decode sample, multistart, beam or sgbs.")),
        (("--decode", "greedy", "--samples", "4"), ("field --samples: ",)),
        (("--decode", "multistart", "--temperature", "2"), ("field --temperature: ", "Use --decode sample.")),
        (("--decode", "sample", "--temperature", "0"), ("field --temperature: ", "from 1e-06 to 1e+06")),
        (("--model", "savings", "--decode", "greedy"), ("field --decode: ",)),
        (("--model", "savings", "--samples", "4"), ("field --samples: ",)),
        (("--model", "savings", "--augment"), ("field --augment: ", "Leave out the option, or name")),
        (("--model", "absent"), ("field --model: ",)),
    ],
)
def test_wrong_option_is_refused_by_the_name_that_the_user_knows(
    tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(invoke("solve", tmp_path / "none.vrp", *options), *words)


@pytest.mark.parametrize(
    ("given", "has_start", "option"),
    [
        ({"seed": 1}, False, "--seed"),
        ({"decode": "multistart", "seed": 1, "improve": "local"}, False, "--seed"),
        ({"model": "savings", "device": "cpu"}, False, "--device"),
        ({"device": "cpu", "time_limit": 1.0}, False, "--device"),
        ({"augment": True, "time_limit": 1.0}, False, "--augment"),
        ({"decode": "greedy", "improve": "local"}, True, "--decode"),
        ({"threads": 2}, False, "--threads"),
    ],
)
def test_options_that_change_nothing_are_named(
    given: dict[str, Any], has_start: bool, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_void_options(SolveOptions(**given), has_start=has_start)

    assert capsys.readouterr().err.startswith(f"note: {option} has no effect")


@pytest.mark.parametrize(
    "given",
    [
        {"decode": "sample", "samples": 4, "temperature": 2.0, "augment": True, "seed": 1, "device": "cpu"},
        {"seed": 1, "time_limit": 1.0, "threads": 2},
        {"augment": True, "device": "cpu", "improve": "2opt", "threads": 2},
        {"model": "named", "augment": True, "device": "cpu", "time_limit": 1.0},
    ],
)
def test_options_that_count_are_not_named(given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    print_void_options(SolveOptions(**given))

    assert capsys.readouterr().err == ""


def test_model_that_is_not_there_is_refused_at_once(model: Path) -> None:
    with pytest.raises(ModelError, match="no model 'absent'"):
        refuse_unknown_model(SolveOptions(model="absent"))

    for known in ("auto", "savings", str(model)):
        refuse_unknown_model(SolveOptions(model=known))
