"""What is told of stops beside the problem."""

from __future__ import annotations

from typing import Any

import pytest

from dynaroute.base.errors import InstanceError
from dynaroute.problem.details import Details
from dynaroute.problem.instance import Instance


def test_tells_of_a_node_what_is_not_empty() -> None:
    details = Details(("name", "phone"), (("Depot", ""), ("Meyer", "040 1")))
    assert details.of(0) == {"name": "Depot"}
    assert details.of(1) == {"name": "Meyer", "phone": "040 1"}


def test_texts_become_one_line() -> None:
    assert Details(("an\naddress",), (("Hafen 1\n20457  Hamburg\x1b",),)) == Details(
        ("an address",), (("Hafen 1 20457 Hamburg",),)
    )


@pytest.mark.parametrize(
    ("columns", "rows"),
    [(("a", "a"), ()), (("",), ()), (("a",), (("x", "y"),)), (("a",), ((1,),)), ("a", ()), ((1,), ())],
)
def test_what_are_no_texts_under_names_is_refused(columns: Any, rows: Any) -> None:
    with pytest.raises(InstanceError) as raised:
        Details(columns, rows)
    assert raised.value.where.field == "details"


def test_an_instance_has_a_row_for_each_node() -> None:
    rows = (("Depot",), ("Meyer",))
    assert Instance([[0, 0], [1, 1]], [0, 1], 5, details=Details(("name",), rows)).details is not None  # type: ignore[arg-type]
    with pytest.raises(InstanceError, match="details for 1 nodes, not 2"):
        Instance([[0, 0], [1, 1]], [0, 1], 5, details=Details(("name",), rows[:1]))  # type: ignore[arg-type]


def test_details_play_no_part_in_comparisons() -> None:
    plain = Instance([[0, 0], [1, 1]], [0, 1], 5)  # type: ignore[arg-type]
    told = Instance([[0, 0], [1, 1]], [0, 1], 5, details=Details(("name",), (("Depot",), ("Meyer",))))  # type: ignore[arg-type]
    assert plain == told
    assert hash(plain) == hash(told)
