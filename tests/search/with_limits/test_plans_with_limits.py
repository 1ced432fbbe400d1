"""The plans that a search for fleets crosses."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from fleet_problems import make_delivery_day

from dynaroute.search.core.random_numbers import make_random_state
from dynaroute.search.searchers import Pace
from dynaroute.search.with_limits.annealing import PlanAnnealing, PlanSettings
from dynaroute.search.with_limits.plans import Plans, PricedRoutes, cross_plans
from dynaroute.search.with_limits.problem import begin_routes, read_problem

_STATE = make_random_state(0)


def make_plans(*prices: float, most: int = 8) -> Plans:
    plans = Plans(most)
    for price in prices:
        plans.keep(make_plan(price))
    return plans


def make_plan(price: float) -> PricedRoutes:
    """A plan of this price; others of the same price are the same."""
    return PricedRoutes(price, ((0, int(price)),))


def test_without_plans_the_best_has_no_routes() -> None:
    assert Plans(3).best == (math.inf, ())


def test_the_worst_goes_if_there_are_too_many() -> None:
    plans = make_plans(3.0, 9.0, 5.0, 4.0, most=3)
    parents = {plans.choose_parents(_STATE)[0].price for _ in range(3)}
    assert parents == {3.0, 4.0, 5.0}


def test_the_same_plan_is_kept_once() -> None:
    assert len(make_plans(3.0, 4.0, 3.0)) == 2


def test_each_plan_is_a_mother_in_turn_and_never_the_father_of_her_own_child() -> None:
    plans = make_plans(3.0, 4.0, 5.0)
    parents = [plans.choose_parents(_STATE) for _ in range(6)]
    assert [mother.price for mother, _ in parents] == [3.0, 4.0, 5.0, 3.0, 4.0, 5.0]
    assert all(mother != father for mother, father in parents)


def test_a_plan_alone_is_mother_and_father() -> None:
    mother, father = make_plans(3.0).choose_parents(_STATE)
    assert mother == father


def test_a_better_child_takes_its_mothers_place() -> None:
    plans = make_plans(3.0, 5.0)
    plans.replace_mother(make_mother(plans, 5.0), make_plan(2.0))
    assert plans.best.price == 2.0
    assert len(plans) == 2


def make_mother(plans: Plans, price: float) -> PricedRoutes:
    """The plan of this price, when it is its turn."""
    return next(mother for mother, _ in iter(lambda: plans.choose_parents(_STATE), None) if mother.price == price)


def test_children_that_are_no_better_or_another_plan_are_in_vain() -> None:
    plans = make_plans(3.0, 5.0)
    mother = make_mother(plans, 5.0)
    plans.replace_mother(mother, make_plan(6.0))
    plans.replace_mother(mother, make_plan(3.0))
    assert plans.idle_children == 2
    plans.replace_mother(mother, make_plan(4.0))
    assert plans.idle_children == 0
    assert len(plans) == 2


def test_the_best_of_each_round_is_a_champion() -> None:
    plans = make_plans(3.0, 5.0)
    plans.end_round()
    assert len(plans) == 0
    assert plans.has_champions
    assert plans.best.price == 3.0
    plans.keep(make_plan(4.0))
    plans.keep(make_plan(6.0))
    plans.end_round()
    plans.call_champions()
    assert {plans.choose_parents(_STATE)[0].price for _ in range(2)} == {3.0, 4.0}
    assert not plans.has_champions


def test_champions_that_were_crossed_stay_champions() -> None:
    plans = make_plans(3.0)
    plans.end_round()
    plans.keep(make_plan(4.0))
    plans.end_round()
    plans.call_champions()
    plans.end_round()
    plans.call_champions()
    assert len(plans) == 2


def test_who_tries_again_has_no_idle_children() -> None:
    plans = make_plans(3.0)
    plans.replace_mother(make_mother(plans, 3.0), make_plan(4.0))
    plans.try_again()
    assert plans.idle_children == 0


def test_a_child_has_whole_routes_of_one_and_what_is_left_of_the_other() -> None:
    problem = read_problem(make_delivery_day(count=6))
    mother, father = (PlanAnnealing(problem, (), PlanSettings(plans=1), seed=1, stream=stream) for stream in (1, 2))
    for parent in (mother, father):
        parent.run(300, Pace(0.0, 1 / 300))
    state = make_random_state(0)
    for _ in range(50):
        child = cross_plans(mother.best_routes, father.best_routes, problem, state, most=7)
        customers = [customer for _, *stops in child for customer in stops]
        assert len(customers) == len(set(customers))
        assert len(child) <= 7
        used = Counter(kind for kind, *_ in child)
        assert all(count <= problem.kinds.counts[kind] for kind, count in used.items())
        assert set(child) & set(father.best_routes)


def test_a_child_keeps_the_beginnings_of_routes() -> None:
    day = make_delivery_day(count=6)
    begun = replace(day.fleet[0], name="begun", count=1, beginning=(3, 5))
    problem = read_problem(replace(day, vehicles=(begun, *day.fleet)))
    kind = next(kind for kind, stops in enumerate(problem.rules.beginnings) if stops.any())
    assert begin_routes(problem, ()) == ((kind, 3, 5),)
    assert begin_routes(problem, ((kind, 3, 5, 2), (1 - kind, 1))) == ((kind, 3, 5, 2), (1 - kind, 1))
    assert begin_routes(problem, ((1 - kind, 1, 3), (kind, 2))) == ((1 - kind, 1), (kind, 3, 5, 2))
    mother, father = ((kind, 3, 5, 1, 2), (1 - kind, 4, 6)), ((kind, 3, 5, 6), (1 - kind, 1, 2, 4))
    state = make_random_state(0)
    for _ in range(50):
        child = begin_routes(problem, cross_plans(mother, father, problem, state, most=7))
        assert [stops[:2] for own, *stops in child if own == kind] == [[3, 5]]
