from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from rule_problems import ALL_RULES, draw_ruled, list_subsets

from dynaroute.base.errors import UnsupportedError
from dynaroute.batch import InstanceBatch
from dynaroute.batch.rules import NEVER, find_rules
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

SQUARE = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
DEMANDS = np.array([0, 1, 1])


def make(**fields: object) -> Instance:
    return Instance(SQUARE, DEMANDS, **{"capacity": 9, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", list_subsets(), ids=lambda rules: " ".join(sorted(rules)) or "plain")
def test_the_rules_of_an_instance_are_found_by_name(rules: frozenset[str]) -> None:
    instance = draw_ruled(np.random.default_rng(1), rules, 6)
    assert find_rules(instance) == rules


def test_a_rule_that_the_policy_does_not_know_is_refused_by_name() -> None:
    instance = make(windows=np.array([[0.0, 99], [0, 50], [0, 60]]), speed=1.0)
    with pytest.raises(UnsupportedError, match="has time windows, which this policy does not know"):
        InstanceBatch.from_instances([instance], ("open",))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"vehicles": (VehicleType(9, count=2),)}, "a limited number of vehicles"),
        ({"vehicles": (VehicleType(9, max_stops=2),)}, "a limited number of stops"),
        ({"vehicles": (VehicleType(9), VehicleType(5, max_distance=30.0))}, "types with different limits"),
        ({"distances": np.array([[0.0, 1, 2], [3, 0, 4], [5, 6, 0]])}, "one-way distances"),
        ({"prizes": np.array([np.inf, 3.0, np.inf])}, "customers with a prize"),
        ({"pickups": DEMANDS, "backhauls": "strict"}, "strict backhauls"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_policy_knows_is_refused_by_name(fields: dict[str, object], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        InstanceBatch.from_instances([make(**fields)], ALL_RULES)


def test_of_several_vehicle_types_the_largest_is_driven() -> None:
    batch = InstanceBatch.from_instances([make(vehicles=(VehicleType(5), VehicleType(9)))], ("types",))
    assert batch.capacity.tolist() == [9]


def test_whole_numbers_are_whole_ticks_and_others_are_rounded_to_the_safe_side() -> None:
    windows = np.array([[0.0, 99], [6, 50], [10.1, 60.1]])
    vehicles = (VehicleType(9, max_distance=24.5),)
    instance = make(windows=windows, service=np.array([0, 0.1, 2]), speed=1.0, vehicles=vehicles)
    rules = InstanceBatch.from_instances([instance], ALL_RULES).rules
    assert rules is not None
    tick = float(rules.legs[0, 0, 1]) / 5
    assert tick == 2 ** np.log2(tick) and rules.legs[0, 0, 2] == 10 * tick
    begin = np.floor((10.1 - 10) * tick)  # leaving earlier is of no use
    assert rules.early[0, 1] == 6 * tick - begin and rules.late[0, 1] == 50 * tick - begin
    assert 0 <= float(rules.early[0, 2]) - (10.1 * tick - begin) < 1
    assert 0 <= 60.1 * tick - begin - float(rules.late[0, 2]) < 1
    assert 0 <= float(rules.service[0, 1]) - 0.1 * tick < 1
    assert rules.longest_distance.tolist() == [24.5 * tick] and rules.longest_duration.tolist() == [NEVER]


def test_legs_are_rounded_up() -> None:
    instance = draw_ruled(np.random.default_rng(1), frozenset({"windows"}), 9, "square")
    rules = InstanceBatch.from_instances([instance], ALL_RULES).rules
    assert rules is not None
    excess = rules.legs[0].double() - torch.tensor(instance.distance_matrix) * rules.per_length
    assert bool(((excess >= 0) & (excess < 1)).all())


def test_a_plain_instance_looks_plain_among_others() -> None:
    random = np.random.default_rng(3)
    plain, other = (draw_ruled(random, frozenset(rules), 7) for rules in ((), ("windows", "pickups", "distance")))
    alone, both = (InstanceBatch.from_instances(each, ALL_RULES) for each in ([plain], [plain, other]))
    assert alone.rules is None
    node = torch.arange(8)
    features = both.features(torch.zeros_like(node), node, torch.float64)
    assert torch.equal(features[:, :3], alone.features(torch.zeros_like(node), node, torch.float64))
    assert not features[:, 3:].any()


def test_random_streams_depend_on_the_rules_and_not_on_the_batch() -> None:
    random = np.random.default_rng(4)
    first, second = (draw_ruled(random, frozenset({"windows"}), size) for size in (5, 8))
    assert second.windows is not None
    late = replace(second, windows=second.windows + np.array([0.0, 1.0]))
    keys = InstanceBatch.from_instances([first, second, late], ALL_RULES).keys.tolist()
    assert keys[:1] == InstanceBatch.from_instances([first], ALL_RULES).keys.tolist()
    assert keys[1] != keys[2]


def test_copies_of_an_instance_share_its_table() -> None:
    batch = InstanceBatch.from_instances([draw_ruled(np.random.default_rng(5), frozenset({"windows"}), 5)], ALL_RULES)
    copies = batch.repeat_each(3)[torch.tensor([0, 2])]
    assert batch.rules is not None and copies.rules is not None
    assert copies.rules.legs is batch.rules.legs and copies.rules.row.tolist() == [0, 0]


def test_an_open_route_does_not_pay_its_way_back() -> None:
    from dynaroute.batch import RouteBatch
    from dynaroute.problem.solution import Solution

    instance = make(vehicles=(VehicleType(9, end="open"),))
    batch = InstanceBatch.from_instances([instance], ALL_RULES)
    solution = Solution(((1, 2),))
    assert RouteBatch.from_solutions([solution], batch).lengths(batch).tolist() == [solution.cost(instance)]
