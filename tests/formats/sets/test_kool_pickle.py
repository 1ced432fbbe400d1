from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from problems import make_instance

from dynaroute.base.errors import DynarouteError, FormatError, InstanceError
from dynaroute.formats.sets import kool_pickle
from dynaroute.formats.sets.kool_pickle import parse_kool_pickle

SOUND = ([0.5, 0.5], [[0.1, 0.2], [0.3, 0.4]], [3, 4], 30.0)
EXPECTED = make_instance([[0.5, 0.5], [0.1, 0.2], [0.3, 0.4]], [0, 3, 4], 30)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_published_set_is_read(protocol: int) -> None:
    instances = parse_kool_pickle(pickle.dumps([SOUND, SOUND], protocol), source="vrp20_test.pkl")

    assert instances == [EXPECTED, EXPECTED]
    assert [instance.name for instance in instances] == ["vrp20_test-1", "vrp20_test-2"]


@pytest.mark.parametrize(
    "item",
    [
        ((0.5, 0.5), ((0.1, 0.2), (0.3, 0.4)), (3, 4), 30),
        [[0.5, 0.5], [[0.1, 0.2], [0.3, 0.4]], [3.0, 4], 30.0],
    ],
)
def test_lists_for_tuples_and_integers_for_floats_are_the_same(item: object) -> None:
    assert parse_kool_pickle(pickle.dumps((item,))) == [EXPECTED]


def test_the_published_generator_is_read_exactly() -> None:
    generator = np.random.RandomState(1234)
    depot, customers = generator.uniform(size=(5, 2)), generator.uniform(size=(5, 20, 2))
    demand = generator.randint(1, 10, (5, 20))
    published = list(zip(depot.tolist(), customers.tolist(), demand.tolist(), [30.0] * 5, strict=True))

    instances = parse_kool_pickle(pickle.dumps(published, pickle.HIGHEST_PROTOCOL))

    for index, instance in enumerate(instances):
        assert instance.coordinates is not None
        assert np.array_equal(instance.coordinates[1:], customers[index])
        assert np.array_equal(instance.demands[1:], demand[index])


DEPOT, CUSTOMERS, DEMAND, CAPACITY = SOUND


@pytest.mark.parametrize(
    "document, field",
    [
        (5, "document"),
        ("text", "document"),
        ([5], "[0]"),
        ([SOUND, SOUND[:3]], "[1]"),
        ([(0.5, CUSTOMERS, DEMAND, CAPACITY)], "[0].depot"),
        ([([0.5], CUSTOMERS, DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, [[0.1, 0.2], [0.3]], DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, [[0.1, 0.2], "ab"], DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, [[0.1, "b"], [0.3, 0.4]], DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, [[0.1, [1]], [0.3, 0.4]], DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, [[0.1, 10**400], [0.3, 0.4]], DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, 7, DEMAND, CAPACITY)], "[0].customers"),
        ([(DEPOT, CUSTOMERS, [3], CAPACITY)], "[0].demand"),
        ([(DEPOT, CUSTOMERS, [3, "4"], CAPACITY)], "[0].demand"),
        ([(DEPOT, CUSTOMERS, 3, CAPACITY)], "[0].demand"),
        ([(DEPOT, CUSTOMERS, DEMAND, [30.0])], "[0].capacity"),
        ([(DEPOT, CUSTOMERS, DEMAND, "30")], "[0].capacity"),
    ],
)
def test_another_shape_is_refused_by_its_place(document: object, field: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_kool_pickle(pickle.dumps(document))

    assert caught.value.where.field == field
    assert caught.value.remedy


@pytest.mark.parametrize(
    "item, field",
    [
        ((DEPOT, CUSTOMERS, [3, 31], CAPACITY), "[0].demand"),
        ((DEPOT, CUSTOMERS, [3, -1], CAPACITY), "[0].demand"),
        ((DEPOT, CUSTOMERS, [3, float("nan")], CAPACITY), "[0].demand"),
        ((DEPOT, CUSTOMERS, [3, 10**30], CAPACITY), "[0].demand"),
        ((DEPOT, CUSTOMERS, DEMAND, 0.0), "[0].capacity"),
        ((DEPOT, CUSTOMERS, DEMAND, float("inf")), "[0].capacity"),
        ((DEPOT, CUSTOMERS, DEMAND, 10**30), "[0].capacity"),
        (([float("nan"), 0], CUSTOMERS, DEMAND, CAPACITY), "[0].depot"),
        ((DEPOT, [[0.1, 0.2], [float("inf"), 0]], DEMAND, CAPACITY), "[0].customers"),
        ((DEPOT, [], [], CAPACITY), "[0].demand"),
        ((DEPOT, CUSTOMERS, [math.pi / 7, math.e / 8], 1.0), "[0].capacity"),
    ],
)
def test_values_that_are_no_problem_are_refused_by_their_place(item: object, field: str) -> None:
    with pytest.raises(InstanceError) as caught:
        parse_kool_pickle(pickle.dumps([item]))

    assert caught.value.where.field == field


def test_a_list_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.extend([loop] * 4)

    with pytest.raises(DynarouteError):
        parse_kool_pickle(pickle.dumps(loop))


def test_15_9_one_instance_repeated_without_end_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kool_pickle, "_read_instance", lambda *_: pytest.fail("an instance was made"))

    with pytest.raises(FormatError, match="200,001 instances"):
        parse_kool_pickle(pickle.dumps([SOUND] * 200_001))
