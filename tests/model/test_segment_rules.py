from __future__ import annotations

import numpy as np
import pytest
import torch
from rule_problems import ALL_RULES, WITH_DEPOTS, allows, draw_ruled, list_subsets

from dynaroute.batch import InstanceBatch
from dynaroute.model.rules import SegmentRules
from dynaroute.model.state import RouteState
from dynaroute.problem.instance import Instance

KINDS = ("plane", "square", "table")
SUBSETS = [rules for rules in list_subsets() if rules]


def begin_with(instance: Instance, nodes: list[int]) -> RouteState:
    batch = InstanceBatch.from_instances([instance], ALL_RULES)
    assert batch.rules is not None
    here, count = torch.tensor([nodes]), torch.tensor([len(nodes)])
    demands = batch.demands[:, nodes]
    rules = SegmentRules.of(batch.rules, torch.tensor([0]), here, demands, batch.capacity, count, torch.float64)
    return RouteState.at_depot(demands, batch.capacity, here > 0, rules)


def begin(instance: Instance) -> tuple[RouteState, SegmentRules]:
    state = begin_with(instance, list(range(instance.node_count)))
    assert state.rules is not None
    return state, state.rules


@pytest.mark.parametrize("rules", SUBSETS, ids=lambda rules: " ".join(sorted(rules)))
def test_a_vehicle_may_go_exactly_where_check_lets_it(rules: frozenset[str]) -> None:
    random = np.random.default_rng(len(SUBSETS) + SUBSETS.index(rules))
    refused = 0
    for kind in KINDS:
        instance = draw_ruled(random, rules, 8, kind)
        state, _ = begin(instance)
        route: list[int] = []
        while not bool(state.is_done.all()):
            may_return, *found = state.feasible()[0].tolist()
            found = [node for node, is_feasible in enumerate(found, start=1) if is_feasible]
            left = [node for node in range(1, 9) if bool(state.is_open[0, node])]
            assert found == [node for node in left if allows(instance, [*route, node])]
            assert may_return == bool(route)
            refused += len(left) - len(found)
            chosen = int(random.choice(found or [0]))
            route = [*route, chosen] if chosen else []
            state = state.update(torch.tensor([chosen]))
    assert refused > 0 or rules == {"open"}


@pytest.mark.parametrize("rules", SUBSETS, ids=lambda rules: " ".join(sorted(rules)))
def test_running_sums_and_maxima_give_the_states_of_every_step(rules: frozenset[str]) -> None:
    random = np.random.default_rng(SUBSETS.index(rules))
    state, of_slots = begin(draw_ruled(random, rules, 7, KINDS[SUBSETS.index(rules) % 3]))
    found = of_slots.follow(8)
    for slot in range(8):
        assert state.progress is not None
        for name, expected, whole in zip(found._fields, state.progress, found, strict=True):
            assert torch.equal(whole[:, slot : slot + 1], expected), name
        state = state.update(torch.tensor([slot + 1])) if slot < 7 else state


@pytest.mark.parametrize("rules", WITH_DEPOTS, ids=lambda rules: " ".join(sorted(rules)))
def test_a_vehicle_of_any_depot_may_go_exactly_where_check_lets_it(rules: frozenset[str]) -> None:
    random = np.random.default_rng(WITH_DEPOTS.index(rules))
    starts, refused = [], 0
    for kind in KINDS * 2:
        instance = draw_ruled(random, rules, 8, kind)
        types = {node: number for number, node in enumerate(instance.start_nodes)}
        left = list(range(1, 9))
        while left:  # a route
            nodes, depot, route = [0, *left, 9, 10], 0, list[int]()
            state = begin_with(instance, nodes)
            while True:
                found = [nodes[slot] for slot in state.feasible()[0].nonzero()[:, 0].tolist()]
                expected = [node for node in left if allows(instance, [*route, node], types[depot])]
                refused += len(left) - len(expected)
                if route:
                    expected.append(0)
                elif depot == 0:
                    reached = (start for start in (9, 10) for node in left if allows(instance, [node], types[start]))
                    expected += reached
                assert set(found) == set(expected)
                chosen = int(random.choice(found))
                state = state.update(torch.tensor([nodes.index(chosen)]))
                if chosen == 0:
                    break
                if chosen > 8:
                    depot = chosen
                else:
                    route.append(chosen)
                    left.remove(chosen)
                    if not left:
                        break
            starts.append(depot)
    assert set(starts) == {0, 9, 10}
    assert refused > 0 or rules <= {"depots", "open"}


def test_the_state_is_reset_at_the_depot() -> None:
    state, rules = begin(draw_ruled(np.random.default_rng(2), frozenset(ALL_RULES) - {"types", "backhauls"}, 6))
    back = state.update(torch.tensor([1])).update(torch.tensor([0]))
    assert back.progress == rules.begin()
