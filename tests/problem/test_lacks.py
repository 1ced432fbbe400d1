"""What vehicles lack to serve one more customer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fleet_strategies import fleet_instances
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.problem.assigning import can_drive
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.unserved import Candidate, Lack, find_lacks, list_candidates


def line(**vehicle: object) -> Instance:
    """Customers at 1, 2 and 3 on a line, and vehicles that hold two of them."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    limits: dict[str, object] = {"count": 1, **vehicle}
    return Instance(places, np.array([0, 1, 1, 1]), 2, speed=1.0, vehicles=(VehicleType(2, **limits),))  # type: ignore[arg-type]


@given(st.data())
def test_nothing_is_lacking_exactly_where_a_route_with_the_customer_can_be_driven(data: st.DataObject) -> None:
    instance = data.draw(fleet_instances())
    kind = data.draw(st.integers(0, len(instance.fleet) - 1))
    order = data.draw(st.permutations(range(1, instance.size + 1)))
    stops = tuple(order[: data.draw(st.integers(0, instance.size - 1))])
    others = order[len(stops) :]

    lacks = find_lacks(instance, Candidate(kind, stops), np.array(others))
    for customer, lack in zip(others, lacks.tolist(), strict=True):
        longer = [(*stops[:place], customer, *stops[place:]) for place in range(len(stops) + 1)]
        assert (lack == Lack.NOTHING) == any(can_drive(instance, route, kind) for route in longer)


@pytest.mark.parametrize(
    ("limit", "lack"),
    [
        ({"max_stops": 2}, Lack.ROOM),
        ({"max_stops": 1}, Lack.STOPS),
        ({"max_distance": 4.5}, Lack.DISTANCE),
        ({"max_duration": 4.5}, Lack.TIME),
        ({"max_distance": 6.0, "max_duration": 6.0}, Lack.NOTHING),
    ],
)
def test_what_is_lacking_is_told(limit: dict[str, float], lack: Lack) -> None:
    instance = line(**limit)
    stops = (1, 2) if lack == Lack.ROOM else (2,)

    assert find_lacks(instance, Candidate(0, stops), np.array([3])).tolist() == [lack]


def test_unused_vehicles_are_candidates_too() -> None:
    instance = replace(line(), vehicles=(VehicleType(2, "van", count=3), VehicleType(3, "bike")))
    found = list(list_candidates(instance, Solution(((1, 2),), vehicles=(0,))))

    assert found == [Candidate(0, (1, 2), route=1), Candidate(0, count=2), Candidate(1)]
