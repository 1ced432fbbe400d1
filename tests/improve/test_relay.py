"""Ruin and recreate, then the genetic search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.distributions import draw_paper_set
from dynaroute.improve.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.relay import Relay
from dynaroute.instance import Instance
from dynaroute.savings import build_by_savings
from dynaroute.solution import Solution, check


def _make_relay(instance: Instance, start: Solution, handover: float = 0.2) -> Relay:
    problem = SearchProblem.from_instance(instance)
    return Relay(problem, RuinAndRecreate(problem, start.routes, AnnealingSettings(), seed=1), handover, seed=1)


@settings(max_examples=25)
@given(st.data())
def test_what_it_finds_is_feasible_costs_what_it_says_and_is_never_worse(data: st.DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 25)))
    start = data.draw(solutions_of(instance))
    relay = _make_relay(instance, start)
    relay.run(2000, Pace(0.0, 1 / 2000))
    found = Solution(relay.best_routes)
    assert not check(instance, found)
    assert found.cost(instance) == pytest.approx(relay.best_cost, rel=1e-9)
    assert relay.best_cost <= start.cost(instance)


def test_it_does_not_matter_in_how_many_calls_iterations_are_run() -> None:
    instance = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]
    start, pace = build_by_savings(instance), Pace(0.0, 1 / 10_000)
    at_once, piecewise = _make_relay(instance, start), _make_relay(instance, start)
    at_once.run(10_000, pace)
    for count in (1, 1998, 2, 3000, 4999):
        piecewise.run(count, pace)
    assert at_once.best_routes == piecewise.best_routes


def test_the_second_goes_on_where_the_first_ended() -> None:
    instance = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]
    start = build_by_savings(instance)
    relay = _make_relay(instance, start)
    relay.run(4000, Pace(0.0, 1 / 20_000))
    half_way = relay.best_cost
    relay.run(16_000, Pace(0.0, 1 / 20_000))
    assert relay.best_cost <= half_way < start.cost(instance)


def test_a_halted_relay_does_no_more() -> None:
    instance = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]
    relay = _make_relay(instance, build_by_savings(instance), handover=0.0001)
    relay.halt()
    relay.run(1, Pace(0.5, 0.0))
    before = relay.best_cost
    relay.run(10_000, Pace(0.5, 0.0))
    assert relay.best_cost == before
