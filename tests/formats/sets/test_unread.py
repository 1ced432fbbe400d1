from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import UnsupportedError
from dynaroute.formats.sets.unread import refuse_constraint

INF, NAN = np.inf, np.nan
CUSTOMERS = (2, 3)  # instances, and customers of each


def refuse(name: str, values: Any) -> None:
    refuse_constraint("array", name, [np.asarray(values)], CUSTOMERS)


@pytest.mark.parametrize(
    "name",
    [
        "time_windows",
        "timeWindows",
        "timewindow",
        "tw",
        "tw_start",
        "durations",
        "service_time",
        "servicetime",
        "distance_limit",
        "distanceLimit",
        "max_route_length",
        "maxlength",
        "open_route",
        "openroute",
        "demand_backhaul",
        "backhaul_class",
        "vehicle_capacity",
        "num_vehicles",
        "num_agents",
        "speed",
        "prize",
        "penalty",
        "release",
        "cost_matrix",
        "zeitfenster",
    ],
)
def test_what_looks_like_a_constraint_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"the array {name} looks like a constraint") as caught:
        refuse(name, [5.0, 7.0])
    assert caught.value.where.field == name
    assert "remove the array" in caught.value.remedy


@pytest.mark.parametrize("name", ["time_windows", "open_route"])
def test_a_constraint_whose_values_are_not_numbers_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedError):
        refuse_constraint("array", name, [None])


@pytest.mark.parametrize(
    "name, values",
    [
        ("distance_limit", [INF, INF]),
        ("max_duration", [INF, NAN]),
        ("time_windows", [[[0, INF]] * 4] * 2),
        ("tw", [[[NAN, NAN]] * 4] * 2),
        ("tw_end", [[INF] * 3] * 2),
        ("open_route", [False, False]),
        ("demand_backhaul", np.zeros((2, 3))),
        ("service_time", np.zeros((2, 4), np.int64)),
        ("speed", np.ones((2, 1))),
        ("durations", np.zeros((2, 0))),
    ],
)
def test_values_that_say_nothing_may_pass(name: str, values: Any) -> None:
    refuse(name, values)


@pytest.mark.parametrize(
    "name, values",
    [
        ("distance_limit", [INF, 3.0]),
        ("distance_limit", [0.0, 0.0]),
        ("time_windows", [[[0, INF]] * 3 + [[1, INF]]] * 2),
        ("time_windows", [[[0, INF]] * 3 + [[0, 9]]] * 2),
        ("open_route", [False, True]),
        ("demand_backhaul", [[0, 0, 0], [0, 0, 2]]),
        ("speed", [1.0, 2.0]),
    ],
)
def test_a_single_value_that_says_something_is_enough(name: str, values: Any) -> None:
    with pytest.raises(UnsupportedError):
        refuse(name, values)


def test_every_chunk_is_looked_at_until_one_says_something() -> None:
    chunks = iter([np.zeros(2), np.ones(2), np.zeros(2)])
    with pytest.raises(UnsupportedError):
        refuse_constraint("column", "service", chunks)
    assert len(list(chunks)) == 1


@pytest.mark.parametrize("shape", [(2, 3), (2, 4), (2, 4, 4), (2, 3, 2)])
def test_a_value_for_each_customer_whose_meaning_is_unknown_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(UnsupportedError, match="one value per customer"):
        refuse("kolom", np.ones(shape))


@pytest.mark.parametrize(
    "name, values",
    [
        ("routes", [[1, 2, 0, 3]] * 2),
        ("route_lengths", np.ones((2, 3))),
        ("action_mask", np.ones((2, 4))),
        ("customer_ids", [[7, 8, 9]] * 2),
        ("best_distance", [4.0, 5.0]),
        ("solve_time", [4.0, 5.0]),
        ("cost", [4.0, 5.0]),
        ("capacity_original", [[30.0], [30.0]]),
        ("colour", np.ones((2, 5))),
    ],
)
def test_a_description_passes(name: str, values: Any) -> None:
    refuse(name, values)


def test_texts_of_customers_pass() -> None:
    refuse_constraint("array", "places", [None], CUSTOMERS)
