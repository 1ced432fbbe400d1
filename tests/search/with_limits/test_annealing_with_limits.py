"""The searcher of plans for fleets."""

from __future__ import annotations

import pytest
from fleet_problems import make_delivery_day

from dynaroute.search.searchers import Pace
from dynaroute.search.with_limits.annealing import PlanAnnealing, PlanSettings
from dynaroute.search.with_limits.problem import TypedRoutes, count_fewest_routes, price_routes, read_problem

_PROBLEM = read_problem(make_delivery_day(count=6))
_FEW_PLANS = PlanSettings(plans=3, child_iterations=4.0)


def make_searcher(settings: PlanSettings = _FEW_PLANS, stream: int = 0, start: TypedRoutes = ()) -> PlanAnnealing:
    return PlanAnnealing(_PROBLEM, start, settings, seed=1, stream=stream)


@pytest.mark.parametrize(
    "settings",
    [
        PlanSettings(plans=1),
        PlanSettings(plans=3, child_iterations=4.0),
        PlanSettings(plans=3, child_iterations=0.5, first_share=0.1, patience=1),  # several rounds
    ],
)
def test_it_does_not_matter_in_how_many_calls_it_runs(settings: PlanSettings) -> None:
    at_once, piece_by_piece = make_searcher(settings), make_searcher(settings)
    pace = Pace(0.0, 1 / 1200)
    assert at_once.run(1200, pace) == 1200
    for count in (1, 99, 350, 50, 700):
        assert piece_by_piece.run(count, pace) == count
    assert at_once.best_routes == piece_by_piece.best_routes
    assert at_once.best_cost == piece_by_piece.best_cost


def test_its_price_is_that_of_its_routes() -> None:
    searcher = make_searcher()
    for _ in range(6):
        searcher.run(150, Pace(0.0, 1 / 900))
        assert searcher.best_cost == price_routes(_PROBLEM, searcher.best_routes)


def test_who_is_halted_runs_no_more() -> None:
    searcher = make_searcher()
    searcher.halt()
    assert searcher.run(100, Pace(0.0, 0.01)) == 0


def test_a_plan_that_is_adopted_is_not_lost() -> None:
    better = make_searcher(stream=1)
    better.run(2000, Pace(0.0, 1 / 2000))
    searcher = make_searcher()
    searcher.adopt(better.best_routes, better.best_cost)
    searcher.run(50, Pace(0.0, 1 / 1000))
    assert searcher.best_cost <= better.best_cost


def test_the_best_plan_is_kept_from_a_start_on() -> None:
    known = make_searcher(stream=1)
    known.run(1000, Pace(0.0, 1 / 1000))
    searcher = make_searcher(PlanSettings(plans=2, child_iterations=4.0), start=known.best_routes)
    for _ in range(8):
        searcher.run(100, Pace(0.0, 1 / 800))
        assert searcher.best_cost <= known.best_cost + 1e-9


def test_what_was_found_is_kept_over_all_rounds() -> None:
    searcher = make_searcher(PlanSettings(plans=2, child_iterations=0.5, first_share=0.05, patience=1))
    best = searcher.best_cost
    for _ in range(200):
        searcher.run(20, Pace(0.0, 1 / 4000))
        assert searcher.best_cost <= best
        best = searcher.best_cost


def test_vehicles_are_saved_one_by_one_until_no_fewer_could_hold_everything() -> None:
    problem = read_problem(make_delivery_day(), vehicles_first=True)
    searcher = PlanAnnealing(problem, (), _FEW_PLANS, seed=1)
    before = len(searcher.best_routes)
    searcher.run(4000, Pace(0.0, 1 / 4000))
    assert count_fewest_routes(problem) <= len(searcher.best_routes) < before
