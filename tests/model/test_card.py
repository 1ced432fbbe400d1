from __future__ import annotations

from typing import Any

import pytest

from dynaroute.base.errors import ModelError
from dynaroute.model import ModelCard, PolicyConfig


def test_a_card_tells_what_is_known() -> None:
    card = ModelCard(
        name="amd-20",
        size=20,
        capacity=30,
        recipe="REINFORCE",
        trajectories=5_700_000,
        minutes=2.5,
        hardware="one GPU",
        greedy_lengths={"20": 6.4},
    )
    page = card.to_markdown(PolicyConfig())
    for fact in ("# amd-20", "AM-D", "20 customers, capacity 30", "REINFORCE", "5,700,000", "2.5 (one GPU)", "6.400"):
        assert fact in page


def test_a_page_begins_with_metadata_in_yaml() -> None:
    page = ModelCard(name="mine: a test", greedy_lengths={"20": 6.4}).to_markdown(PolicyConfig())
    head, _, rest = page.removeprefix("---\n").partition("\n---\n")
    metadata = pytest.importorskip("yaml").safe_load(head)
    assert rest.startswith("\n# mine")
    assert metadata["library_name"] == "dynaroute"
    (result,) = metadata["model-index"][0]["results"]
    assert metadata["model-index"][0]["name"] == "mine: a test"
    assert result["metrics"][0]["value"] == 6.4


def test_an_empty_card_is_a_page_without_gaps() -> None:
    page = ModelCard().to_markdown(PolicyConfig.am())
    assert "static (AM)" in page
    assert "None" not in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 3),
        ("name", ["a"]),
        ("recipe", None),
        ("hardware", 1),
        ("size", 0),
        ("size", "20"),
        ("size", 20.0),
        ("size", True),
        ("capacity", -1),
        ("trajectories", 1.5),
        ("minutes", "ten"),
        ("minutes", float("nan")),
        ("minutes", -1),
        ("greedy_lengths", [6.4]),
        ("greedy_lengths", {"20": "short"}),
        ("greedy_lengths", None),
    ],
)
def test_a_fact_of_the_wrong_kind_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ModelError) as caught:
        ModelCard(**{field: value})
    assert caught.value.where.field == f"card.{field}"
    assert caught.value.remedy
