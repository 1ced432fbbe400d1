from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from policies import SMALL_AMD, make_policy

from dynaroute.base.errors import OptionError
from dynaroute.model import ModelCard
from dynaroute.study.variant_sets import _PUBLISHED, measure_variants


def test_a_model_is_measured_on_the_variants_that_it_knows(tmp_path: Path) -> None:
    make_policy(replace(SMALL_AMD, rules=("open",)), card=ModelCard(name="tiny")).save_pretrained(tmp_path)
    measured = measure_variants(str(tmp_path), 2, "cpu")
    assert [(each.name, each.size) for each in measured.entries] == [
        ("cvrp", 50), ("ovrp", 50), ("cvrp", 100), ("ovrp", 100)
    ]  # fmt: skip
    assert len(measured.skipped) == 28
    first = measured.entries[0]
    assert first.gap == pytest.approx(100 * (first.length / 10.3721 - 1))
    assert "| mean of 2 of one depot | |" in measured.to_markdown()
    assert measured.means["of one depot, n=50"] == pytest.approx((first.gap + measured.entries[1].gap) / 2)
    assert f"| OVRP | {measured.entries[1].length:.4f} |" in measured.to_markdown()


def test_several_depots_are_measured_where_there_is_a_reference(tmp_path: Path) -> None:
    make_policy(replace(SMALL_AMD, rules=("depots",)), card=ModelCard(name="tiny")).save_pretrained(tmp_path)
    measured = measure_variants(str(tmp_path), 2, "cpu")
    assert [(each.name, each.size) for each in measured.entries] == [("cvrp", 50), ("cvrp", 100), ("mdcvrp", 100)]
    assert f"| mean of 1 with several depots | | {measured.entries[2].gap:.2f} |" in measured.to_markdown()


def test_published_means_are_those_of_their_papers() -> None:
    averaged = [sets[0] for name, sets in _PUBLISHED.items() if name not in ("ovrpl", "ovrpltw")][:14]
    for column, mean in ((1, 2.09), (2, 1.84)):
        assert sum((each and each[column]) or 0.0 for each in averaged) / 14 == pytest.approx(mean, abs=0.006)


def test_a_model_without_rules_is_refused(tmp_path: Path) -> None:
    make_policy(SMALL_AMD).save_pretrained(tmp_path)
    with pytest.raises(OptionError, match="knows no rules beyond capacity"):
        measure_variants(str(tmp_path), 2, "cpu")
