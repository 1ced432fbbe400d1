from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from policies import draw_instances, make_policy

from dynaroute import draw as distributions
from dynaroute.base.errors import FormatError, ModelError
from dynaroute.formats import write
from dynaroute.model import ModelCard
from dynaroute.search.savings import build_by_savings
from dynaroute.study import generalisation
from dynaroute.study.generalisation import Generalisation, MeasuredSet, measure_generalisation
from dynaroute.weights import shipped_models


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform sets that a random policy builds in no time."""
    draw = distributions.draw_published_set
    monkeypatch.setattr(generalisation, "draw_published_set", lambda size, count: draw(size // 50, count, capacity=20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "X"
    place.mkdir()
    lines = ["name,best_known_cost"]
    for number, instance in enumerate(draw_instances(5, 8)):
        write(instance, place / f"{number}.vrp")
        lines.append(f"{number},{build_by_savings(instance).cost(instance)}")
    (place / "best.csv").write_text("\n".join(lines))
    return place


def test_savings_and_a_model_are_measured_on_every_set_that_is_given(folder: Path, model: Path) -> None:
    told: list[float] = []
    measured = measure_generalisation(
        str(model), x=folder, count=2, device="cpu", progress=lambda words, done: told.append(done)
    )
    rows = ["savings", "tiny (greedy)", "tiny (greedy, x8)"]
    assert list(measured.entries) == [(row, name) for row in rows for name in ("X", "U200", "U500", "U1000")]
    assert measured.skipped == ("XML100",)
    assert measured.entries["savings", "X"].gaps == pytest.approx((0.0, 0.0), abs=1e-6)
    for name in ("X", "U200", "U500", "U1000"):
        greedy, augmented = (measured.entries[row, name].mean_length for row in rows[1:])
        assert augmented <= greedy
    assert all(after > before - 1e-9 for before, after in pairwise(told))
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert "Only parts of the sets" in measured.to_markdown()
    assert "Instances: X 2 of 100, U200 2 of 128, U500 2 of 128, U1000 2 of 100." in measured.to_markdown()


def test_the_generalist_is_measured_if_it_ships_and_a_specialist_otherwise(shelf: Path, folder: Path) -> None:
    with pytest.raises(ModelError, match="no trained model"):
        measure_generalisation(x=folder, count=2, device="cpu")
    for name, size in (("amd-20", 20), ("amd", 500)):
        make_policy(card=ModelCard(name, size)).save_pretrained(shelf / name)
        shipped_models.cache_clear()
        assert measure_generalisation(x=folder, count=2, device="cpu").model == name


def test_instances_without_best_known_costs_are_told(folder: Path, model: Path) -> None:
    (folder / "best.csv").unlink()
    with pytest.raises(FormatError, match="no table of best known costs"):
        measure_generalisation(str(model), x=folder, device="cpu")


def test_the_table_puts_ours_beside_what_is_quoted() -> None:
    entries = {
        ("savings", "X"): MeasuredSet(2, 10.0, (5.0, 7.0), (7.0,), 0.004),
        ("amd (greedy)", "X"): MeasuredSet(2, 10.0, (3.0, 4.0), (4.0,), 0.002),
        ("amd (greedy)", "U500"): MeasuredSet(128, 37.5, None, (), 1.5),
    }
    lines = Generalisation("amd", "a GPU", entries, ("XML100",)).to_markdown().splitlines()
    assert "Not given, so not measured: XML100." in lines[0]
    assert "| ICAM (*quoted*) | 5.00 % |  |  |  |  | 37.49 | 43.07 |" in lines
    assert "| **amd (greedy)** | 3.50 % | 4.0 % | 4.00 % |  |  | 37.500, 2.57 % |  |" in lines
    assert "| **savings**, one core | 4 ms |  |" in lines
    assert "| **amd (greedy)**, a GPU | 2 ms | 1.50 s |" in lines
    assert "| ReLD (*quoted*) | 0.41 s |  |" in lines
