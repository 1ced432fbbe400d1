from __future__ import annotations

import numpy as np
import pytest
import torch
from rule_problems import ALL_RULES, allows, draw_ruled, list_subsets

from dynaroute.batch import InstanceBatch
from dynaroute.model.rules import SegmentRules
from dynaroute.model.state import RouteState
from dynaroute.problem.instance import Instance

KINDS = ("plane", "square", "table")
SUBSETS = [rules for rules in list_subsets() if rules]


def begin(instance: Instance) -> tuple[RouteState, SegmentRules]:
    batch = InstanceBatch.from_instances([instance], ALL_RULES)
    assert batch.rules is not None
    nodes, count = torch.arange(instance.size + 1)[None], torch.tensor([instance.size + 1])
    rules = SegmentRules.of(batch.rules, torch.tensor([0]), nodes, batch.demands, batch.capacity, count, torch.float64)
    return RouteState.at_depot(batch.demands, batch.capacity, nodes > 0, rules), rules


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


def test_the_state_is_reset_at_the_depot() -> None:
    state, rules = begin(draw_ruled(np.random.default_rng(2), frozenset(ALL_RULES) - {"types", "backhauls"}, 6))
    back = state.update(torch.tensor([1])).update(torch.tensor([0]))
    assert back.progress == rules.begin()
