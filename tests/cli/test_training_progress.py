from __future__ import annotations

import pytest

from dynaroute.cli.training_progress import find_references
from dynaroute.reference_lengths import HGS_LENGTHS
from dynaroute.training.recipes import make_plan


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
