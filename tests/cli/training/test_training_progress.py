from __future__ import annotations

from dataclasses import replace

import pytest

from dynaroute.cli.training.run import describe_length, find_references
from dynaroute.draw.distribution import BUILT_IN
from dynaroute.study.reference_lengths import HGS_LENGTHS
from dynaroute.training.files import Reference
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.recipes import make_distribution_plan, make_plan


@pytest.mark.parametrize(
    ("sizes", "capacities", "expected"),
    [((20, 50, 75), (), {20, 50}), ((20,), (30, 60), {20}), ((20,), (60, 30), set())],
    ids=["sizes that are published", "validated with the published capacity", "validated with another"],
)
def test_lengths_are_compared_with_those_of_the_same_problem_only(
    sizes: tuple[int, ...], capacities: tuple[int, ...], expected: set[int]
) -> None:
    assert find_references(make_plan("fast", sizes, capacities)) == {
        size: ("HGS", HGS_LENGTHS[size]) for size in expected
    }


def test_relative_lengths_are_told_as_what_they_are_above_or_below() -> None:
    mixed = make_distribution_plan("fast", [BUILT_IN["mixed"]])
    savings = find_references(mixed)[500]
    assert savings == ("savings", 1.0)
    assert describe_length(1.05, savings) == "5.00 % above savings"
    assert describe_length(0.98, savings) == "2.00 % below savings"
    assert describe_length(6.25, Reference("HGS", 6.13)) == "6.2500 (1.96 % above HGS)"
    with_best = replace(mixed, validation=InstanceFiles("X", "digest", "best.csv"))
    assert find_references(with_best)[500].name == "best known"
