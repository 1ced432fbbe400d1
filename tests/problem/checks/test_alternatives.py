"""Of several alternatives one is served, and all of them are one order."""

from __future__ import annotations

import numpy as np
import pytest

from dynaroute.base.errors import InstanceError
from dynaroute.problem.checks.alternatives import find_unserved, take_largest
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.unserved import explain_unserved

LABELS = ("", "home", "home", "", "work", "work")


@pytest.mark.parametrize(
    ("served", "missing"),
    [((), [1, 3, 4]), ((2, 3), [4]), ((1, 5), [3]), ((1, 2, 3, 4, 5), [])],
)
def test_of_alternatives_the_first_is_missing_if_none_is_served(served: tuple[int, ...], missing: list[int]) -> None:
    assert find_unserved(5, LABELS, served) == missing


def test_without_labels_everybody_on_no_route_is_missing() -> None:
    assert find_unserved(3, None, {2}) == [1, 3]


def test_all_alternatives_count_as_much_as_the_largest() -> None:
    assert take_largest(np.arange(6.0), LABELS).tolist() == [0, 2, 2, 3, 5, 5]


def test_both_stops_of_a_shipment_have_the_same_label() -> None:
    with pytest.raises(InstanceError, match="have different labels") as caught:
        make_shipments(("", "x", "", "x", "x"))
    assert caught.value.where.field == "one_of"


def test_a_shipment_counts_once() -> None:
    instance = make_shipments(("", "x", "x", "x", "x"))
    assert check(instance, Solution(((1, 2),))) == []
    assert [found.kind for found in check(instance, Solution(((1, 2, 3, 4),)))] == ["group"]


def test_half_of_a_shipment_is_found() -> None:
    instance = make_shipments(("", "x", "x", "x", "x"))
    assert [found.kind for found in check(instance, Solution(((1,),)))] == ["pair"]


def test_an_order_is_possible_if_one_alternative_is() -> None:
    none: frozenset[str] = frozenset()
    lift = frozenset({"lift"})
    refuse_impossible(make_instance(one_of=("", "x", "x"), skills=(none, lift, none)))
    with pytest.raises(InstanceError, match="customer 1: it needs lift"):
        refuse_impossible(make_instance(one_of=("", "x", "x"), skills=(none, lift, lift)))


def test_an_order_that_is_left_out_is_explained_once_with_all_alternatives() -> None:
    instance = make_instance(one_of=("", "x", "x"), prizes=np.array([np.inf, 1.0, 1.0]))
    (told,) = explain_unserved(instance, Solution(()))
    assert told.customer == 1
    assert told.reason.count("serving it would cost more than leaving it out") == 2
    assert check(instance, Solution(())) == []


def make_instance(**fields: object) -> Instance:
    """Two customers on a line."""
    return Instance(
        np.array([[0.0, 0.0], [3.0, 0.0], [5.0, 0.0]]),
        np.array([0, 1, 1]),
        2,
        vehicles=(VehicleType(2),),
        **fields,  # type: ignore[arg-type]
    )


def make_shipments(labels: tuple[str, ...]) -> Instance:
    """Two shipments, from 1 to 2 and from 3 to 4."""
    return Instance(
        np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]),
        np.array([0, 0, 1, 0, 1]),
        2,
        pickups=np.array([0, 1, 0, 1, 0]),
        partners=np.array([0, 2, 1, 4, 3]),
        one_of=labels,
    )
