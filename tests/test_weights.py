from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from policies import SMALL_AM, make_policy

from dynaroute.base.errors import ModelError
from dynaroute.model import ModelCard, Policy
from dynaroute.weights import GENERALIST, find_model, nearest_shipped_model, shipped_models


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for shipped models."""
    monkeypatch.setattr("dynaroute.weights._FOLDER", tmp_path)
    shipped_models.cache_clear()
    yield tmp_path
    shipped_models.cache_clear()


def put(shelf: Path, name: str, size: int | None) -> None:
    make_policy(card=ModelCard(name=name, size=size)).save_pretrained(shelf / name)


def test_shipped_models_are_listed_with_their_sizes(shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    put(shelf, "am", None)
    (shelf / "notes").mkdir()
    assert shipped_models() == {"am": None, "amd-20": 20}


def test_an_empty_shelf_has_no_models(shelf: Path) -> None:
    assert shipped_models() == {}
    assert nearest_shipped_model(20) is None


@pytest.mark.parametrize(
    ("size", "nearest"),
    [(1, "amd-20"), (20, "amd-20"), (34, "amd-20"), (36, "amd-50"), (90, "amd-100"), (9999, "amd-100")],
)
def test_the_nearest_size_is_chosen(size: int, nearest: str, shelf: Path) -> None:
    for trained in (20, 50, 100):
        put(shelf, f"amd-{trained}", trained)
    put(shelf, "am", None)
    assert nearest_shipped_model(size) == nearest


def test_a_static_model_is_used_by_name_alone(shelf: Path) -> None:
    make_policy(SMALL_AM, card=ModelCard(name="am-20", size=20)).save_pretrained(shelf / "am-20")
    assert nearest_shipped_model(20) is None
    assert find_model("am-20") == shelf / "am-20"


def test_a_model_for_a_range_of_sizes_is_used_by_name_alone(shelf: Path) -> None:
    put(shelf, "amd-100", 100)
    card = ModelCard(name="amd-uniform", size=110, smallest_size=10, distribution="uniform: capacity 30")
    make_policy(card=card).save_pretrained(shelf / "amd-uniform")
    assert nearest_shipped_model(110) == "amd-100"
    assert find_model("amd-uniform") == shelf / "amd-uniform"


def test_of_two_as_near_the_larger_is_chosen(shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    put(shelf, "amd-50", 50)
    assert nearest_shipped_model(35) == "amd-50"


def test_a_shipped_model_is_loaded_by_its_name(shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    assert find_model("amd-20") == shelf / "amd-20"
    assert Policy.from_pretrained("amd-20").card.size == 20


def test_any_folder_is_a_model_of_ones_own(tmp_path: Path) -> None:
    assert find_model(str(tmp_path)) == tmp_path


def test_a_shipped_name_goes_before_a_folder_of_that_name(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(shelf, "amd-20", 20)
    (shelf / "elsewhere" / "amd-20").mkdir(parents=True)
    monkeypatch.chdir(shelf / "elsewhere")
    assert find_model("amd-20") == shelf / "amd-20"


@pytest.mark.parametrize("name", ["amd-21", "no/such/folder", "x" * 5000])
def test_an_unknown_name_is_answered_with_those_that_ship(name: str, shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    with pytest.raises(ModelError) as caught:
        find_model(name)
    assert "amd-20" in caught.value.remedy


def test_what_ships_can_be_loaded() -> None:
    for name, size in shipped_models().items():
        policy = Policy.from_pretrained(name)
        is_chosen = policy.config.dynamic and (name == GENERALIST or policy.card.smallest_size is None)
        assert size == (policy.card.size if is_chosen else None)


def test_an_empty_name_is_no_model() -> None:
    with pytest.raises(ModelError):
        find_model("")
