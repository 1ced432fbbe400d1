"""Leg lengths for compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from dynaroute.base.vocabulary import Metric, Rounding
from dynaroute.problem.instance import Instance
from dynaroute.search.core.legs import Globe, Plane, measure_leg, measure_legs, place_around_depot, place_nodes

_RANDOM = np.random.default_rng(3)
_ONES, _OTHERS = _RANDOM.integers(0, 31, (2, 200))
_DEMANDS = np.r_[0, np.ones(30, dtype=np.int64)]


@pytest.mark.parametrize("rounding", ["none", "nearest", "up"])
def test_legs_in_the_plane_are_those_of_the_instance(rounding: Rounding) -> None:
    instance = Instance(100 * _RANDOM.random((31, 2)), _DEMANDS, 5, rounding=rounding)
    places = place_nodes(instance)
    assert isinstance(places, Plane)
    assert (measure_legs(places, _ONES, _OTHERS) == instance.leg_lengths(_ONES, _OTHERS)).all()


@pytest.mark.parametrize("rounding", ["none", "nearest", "up"])
def test_legs_on_the_globe_are_those_of_the_instance(rounding: Rounding) -> None:
    coordinates = np.stack([_RANDOM.uniform(45, 46, 31), _RANDOM.uniform(5, 6, 31)], axis=1)
    instance = Instance(coordinates, _DEMANDS, 5, rounding=rounding, metric="great_circle")
    places = place_nodes(instance)
    assert isinstance(places, Globe)
    assert measure_legs(places, _ONES, _OTHERS) == pytest.approx(instance.leg_lengths(_ONES, _OTHERS), abs=1e-4)


def test_legs_of_a_matrix_are_looked_up() -> None:
    matrix = _RANDOM.random((31, 31))
    assert (measure_legs(matrix, _ONES, _OTHERS) == matrix[_ONES, _OTHERS]).all()


@pytest.mark.parametrize("metric", ["euclidean", "great_circle"])
def test_a_leg_is_as_long_in_plain_python_as_in_compiled_code(metric: Metric) -> None:
    instance = Instance(40 + 5 * _RANDOM.random((31, 2)), _DEMANDS, 5, metric=metric)
    for distances in (place_nodes(instance), instance.distance_matrix.copy()):
        plain = [measure_leg(distances, one, other) for one, other in zip(_ONES, _OTHERS, strict=True)]
        assert plain == pytest.approx(measure_legs(distances, _ONES, _OTHERS), rel=1e-12)


def test_places_follow_from_distances_up_to_a_reflection() -> None:
    distances = Instance(_RANDOM.random((31, 2)), _DEMANDS, 5).distance_matrix
    places = place_around_depot(distances)
    between = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.testing.assert_allclose(between, distances, atol=1e-6)


def test_places_of_one_spot_are_the_depot() -> None:
    assert not place_around_depot(np.zeros((4, 4))).any()
