"""Where customers are put into routes of a fleet."""

from __future__ import annotations

import numpy as np
import pytest

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.search.annealing.log import Log, make_log
from dynaroute.search.annealing.recreate import put_back
from dynaroute.search.annealing.routes import make_tours
from dynaroute.search.annealing.tours import BEFORE, ROUTE, USED, Tours
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import make_random_state
from dynaroute.search.with_limits.problem import read_problem

_LINE = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [30.0, 0.0], [31.0, 0.0]])


def make_problem(beside: int) -> SearchProblem:
    """Customers on a line, of whom so many are listed as near to each."""
    instance = Instance(_LINE, np.array([0, 1, 1, 1, 1]), 4, vehicles=(VehicleType(4),))
    return read_problem(instance, beside=beside)


@pytest.fixture
def log() -> Log:
    log = make_log(make_problem(beside=4))
    log.blinks[0] = 100  # nothing is overlooked
    return log


def put_third_back(problem: SearchProblem, log: Log, routes: int, discount: float) -> tuple[Tours, float]:
    """Put the third customer back, where the first two are on a route."""
    tours = make_tours(problem, ((0, 1, 2),))
    return tours, put_back(tours, 3, log, routes, discount, make_random_state(0), 40, problem)


def test_who_is_near_nobody_goes_last_on_a_route_that_lost_customers(log: Log) -> None:
    problem = make_problem(beside=1)
    assert problem.before[3].tolist() == problem.after[3].tolist() == [4]  # who is on no route
    tours, cost = put_third_back(problem, log, routes=1, discount=1.0)
    assert cost == 20.0
    assert tours.nodes[3, BEFORE] == 2


def test_others_have_a_vehicle_of_their_own(log: Log) -> None:
    tours, cost = put_third_back(make_problem(beside=1), log, routes=0, discount=1.0)
    assert cost == 60.0
    assert tours.counts[USED] == 2


def test_a_new_route_costs_what_it_costs_even_if_it_seemed_cheaper(log: Log) -> None:
    tours, cost = put_third_back(make_problem(beside=4), log, routes=1, discount=0.3)
    assert cost == 60.0
    assert tours.nodes[3, ROUTE] != tours.nodes[2, ROUTE]


def test_a_new_route_that_seems_cheaper_is_not_begun_if_it_does_not_seem_cheapest(log: Log) -> None:
    tours, cost = put_third_back(make_problem(beside=4), log, routes=1, discount=0.5)
    assert cost == 20.0
    assert tours.counts[USED] == 1
