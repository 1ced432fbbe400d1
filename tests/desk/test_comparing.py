"""What is different between two plans."""

from __future__ import annotations

from desk_days import make_day_plan

from dynaroute.desk.comparing import compare
from dynaroute.plans import Plan
from dynaroute.problem.solution import Solution


def test_a_plan_is_no_different_from_itself() -> None:
    comparison = compare(make_day_plan(), make_day_plan())

    assert comparison.before == comparison.after
    assert (comparison.moved, {change.seconds for change in comparison.changes}) == ((), {0.0})


def test_the_order_of_routes_does_not_matter() -> None:
    assert compare(make_day_plan(), make_day_plan([[4, 5, 6], [1, 2, 3], [7]])).moved == ()


def test_a_stop_on_another_route_moved_and_is_reached_later() -> None:
    comparison = compare(make_day_plan(), make_day_plan([[1, 2], [4, 5, 6, 3], [7]]))

    (clinic,) = comparison.moved
    assert clinic.before is not None
    assert clinic.after is not None
    assert (clinic.id, clinic.before.vehicle, clinic.after.vehicle) == ("Clinic", "Sprinter", "Sprinter 2")
    assert clinic.seconds == clinic.after.arrival - clinic.before.arrival > 0  # type: ignore[operator]


def test_the_same_stops_by_another_type_have_moved() -> None:
    before = make_day_plan()
    after = Plan(before.instance, Solution(((1, 2, 3), (4, 5, 6), (7,)), vehicles=(0, 1, 0)))

    assert [change.id for change in compare(before, after).moved] == ["Museum", "Market", "Library", "Florist"]


def test_customers_of_one_plan_only_are_listed() -> None:
    comparison = compare(make_day_plan(), make_day_plan([[1, 2, 3], [4, 5, 6]]))

    florist = next(change for change in comparison.changes if change.id == "Florist")
    assert (florist.after, florist.is_moved, comparison.after.unserved) == (None, False, ("Florist",))


def test_lateness_is_added_up() -> None:
    after = make_day_plan([[2, 1, 3], [4, 5, 6], [7]])  # School at 08:40, Bakery at 09:10

    assert (after and compare(make_day_plan(), after).after.late, compare(after, after).after.lateness) == (1, 600)
