from __future__ import annotations

from pathlib import Path

import pytest
from command_line import assert_refused, invoke, invoke_json
from policies import SMALL_AM, make_policy

from dynaroute.model import ModelCard, Policy, PolicyConfig

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.fixture
def shipped(shelf: Path) -> Path:
    card = ModelCard(name="amd-20", size=20, minutes=12.5, greedy_lengths={"20": 6.28, "50": 11.1})
    make_policy(card=card).save_pretrained(shelf / "amd-20")
    make_policy(SMALL_AM, card=ModelCard(name="am")).save_pretrained(shelf / "am")
    return shelf


def count_parameters(config: PolicyConfig) -> int:
    return sum(parameter.numel() for parameter in Policy(config).parameters())


def test_nothing_that_ships_is_said_plainly() -> None:
    result = invoke("models")

    assert result.exit_code == 0
    assert result.stdout.startswith("No trained model ships with this version.")
    assert invoke_json("models") == []


def test_json_describes_each_model(shipped: Path) -> None:
    static, dynamic = invoke_json("models")

    assert dynamic == {
        "name": "amd-20",
        "size": 20,
        "smallest_size": None,
        "distribution": "",
        "chosen_for": "sizes nearest to 20",
        "kind": "AM-D",
        "parameters": count_parameters(make_policy().config),
        "minutes": 12.5,
        "trajectories": None,
        "hardware": "",
        "recipe": "",
        "greedy_lengths": {"20": 6.28, "50": 11.1},
    }
    assert static == {
        "name": "am",
        "size": None,
        "smallest_size": None,
        "distribution": "",
        "chosen_for": "only by name",
        "kind": "AM",
        "parameters": count_parameters(SMALL_AM),
        "minutes": None,
        "trajectories": None,
        "hardware": "",
        "recipe": "",
        "greedy_lengths": {},
    }


def test_models_are_shown_line_by_line(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    headings, static, dynamic = invoke("models").stdout.splitlines()

    assert headings.split()[:2] == ["Name", "Customers"]
    assert static.split()[:2] == ["am", "AM"]
    assert dynamic.split()[:3] == ["amd-20", "20", "AM-D"]
    assert dynamic.rstrip().endswith("12.5  sizes nearest to 20  6.280  11.100")


def test_a_model_of_many_sizes_is_shown_with_all_of_them(shelf: Path) -> None:
    make_policy(card=ModelCard("amd", 500, smallest_size=20, distribution="mixed")).save_pretrained(shelf / "amd")
    assert invoke_json("models")[0]["distribution"] == "mixed"
    assert "20-500" in invoke("models").stdout


def test_damaged_weights_are_named(shipped: Path) -> None:
    (shipped / "am" / "model.safetensors").write_bytes(b"cut")

    assert_refused(invoke("models"), "model.safetensors", "damaged")


def test_card_tells_what_a_model_is_for_and_how_it_was_trained(shelf: Path) -> None:
    recipe = "n=20: REINFORCE; then n=50: REINFORCE"
    card = ModelCard(name="amd-20", size=20, minutes=12.5, recipe=recipe, greedy_lengths={"20": 6.28})
    make_policy(card=card).save_pretrained(shelf / "amd-20")

    told = invoke("models", "amd-20").stdout

    for words in ("sizes nearest to 20", "12.5 min", "6.280 at n=20", "1. n=20: REINFORCE", "2. n=50: REINFORCE"):
        assert words in told
    assert invoke_json("models", "amd-20")["recipe"] == recipe


def test_card_of_an_unknown_model_is_refused() -> None:
    assert_refused(invoke("models", "nobody"), "there is no model")
