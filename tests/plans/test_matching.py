"""Known routes and the customers of a problem that has changed since: found by id, gone, or new."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute import check, read_solution, solve, write_plan
from dynaroute.base.errors import InputWarning, SolutionError, gather_notes
from dynaroute.plans import ROUTE_SUFFIXES, Plan, read_routes
from dynaroute.plans.changes.insertion import add_new_customers
from dynaroute.plans.changes.keeping import hold, parse_keep
from dynaroute.plans.files.json import plan_to_json
from dynaroute.plans.matching import KnownRoutes, match_solution
from dynaroute.plans.read import read_known_routes
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

BY_ID = [suffix for suffix in ROUTE_SUFFIXES if suffix != ".sol"]


def day(names: str = "ABCDEF") -> Instance:
    """Customers around Hamburg, whose places and demands depend on their names only."""
    numbers = [ord(name) - ord("A") for name in names]
    places = [[53.5, 10.0], *([53.5 + 0.01 * number, 10.0 + 0.03 * (number % 3)] for number in numbers)]
    demands = np.array([0, *(1 + number % 4 for number in numbers)])
    return Instance(np.array(places), demands, 12, metric="great_circle", customer_names=tuple(names))


def plan_of_day() -> Plan:
    return Plan(day(), Solution(((1, 2, 3), (5, 4), (6,))))


def save(folder: Path, suffix: str, plan: Plan | None = None) -> Path:
    write_plan(plan or plan_of_day(), folder / f"plan{suffix}")
    return folder / f"plan{suffix}"


def names_of(instance: Instance, solution: Solution) -> list[str]:
    return ["".join(map(instance.customer_name, route)) for route in solution.routes]


@pytest.mark.parametrize("suffix", BY_ID)
def test_customers_in_another_order_are_found_by_id(tmp_path: Path, suffix: str) -> None:
    other = day("FBDACE")
    path = save(tmp_path, suffix)
    known = read_known_routes(path, other)

    assert names_of(other, known.solution) == ["ABC", "ED", "F"]
    assert (known.gone, known.new, known.places) == ((), (), (0, 1, 2))
    assert check(other, read_routes(path, other)) == []


@pytest.mark.parametrize("suffix", BY_ID)
def test_customers_that_are_gone_or_new_are_named_and_the_rest_is_used(tmp_path: Path, suffix: str) -> None:
    other = day("XDAFBY")
    with gather_notes() as notes:
        known = read_known_routes(save(tmp_path, suffix), other)

    assert names_of(other, known.solution) == ["AB", "D", "F"]
    assert (set(known.gone), known.new) == ({"C", "E"}, (1, 6))
    assert "customers C, E of the known routes are gone" in notes[0]
    assert "customers X, Y are new" in notes[1]
    start = add_new_customers(known)
    assert check(other, start) == []
    assert [name.strip("XY") for name in names_of(other, start)][:3] == ["AB", "D", "F"]


@pytest.mark.parametrize("suffix", BY_ID)
def test_route_numbers_count_routes_whose_customers_are_all_gone(tmp_path: Path, suffix: str) -> None:
    other = day("DEFX")
    with gather_notes():
        known = read_known_routes(save(tmp_path, suffix), other)

    assert known.places == (None, 0, 1)
    assert parse_keep(["route:2"], known) == ({0}, set())
    assert parse_keep(["route:1", "stop:A"], known) == (set(), set())
    with pytest.raises(Exception, match="customer 'X' is new"):
        parse_keep(["stop:X"], known)


def test_new_customers_come_neither_to_kept_routes_nor_beside_kept_stops() -> None:
    other = day("ABCDEFXYZ")
    with gather_notes():
        known = match_solution(plan_of_day().solution, day(), other)
    start = add_new_customers(known, {0}, {5})

    assert check(other, start) == []
    assert start.routes[0] == (1, 2, 3)
    assert start.routes[1][:2] == (5, 4)
    held = hold(other, start, {0}, {5})
    found = held.restore(solve(held.instance, start=held.start, iterations=50).solution)
    assert check(other, found) == []
    assert found.routes[0] == (1, 2, 3)


@given(st.data())
def test_any_change_of_customers_leaves_the_kept_route_and_serves_all(data: st.DataObject) -> None:
    whole = data.draw(instances(sizes=st.integers(2, 7), placements=st.just("plane"), scales=st.just(1)))
    whole = replace(whole, customer_names=tuple(f"id {number}" for number in range(whole.size)))
    nodes = data.draw(st.permutations(range(1, whole.size + 1)))
    before, after = (sorted(data.draw(st.sets(st.sampled_from(nodes), min_size=1))) for _ in range(2))
    old, new = take(whole, before), take(whole, data.draw(st.permutations(after)))
    plan = Plan(old, data.draw(solutions_of(old)))
    if not set(before) & set(after):
        with pytest.raises(SolutionError, match="no customer of the known routes"):
            match_solution(plan.solution, old, new)
        return
    with gather_notes():
        known = match_solution(plan.solution, old, new)
    start = add_new_customers(known, {0})

    assert check(new, start) == []
    left = [[name for name in route if name in (new.customer_names or ())] for route in name_all(old, plan.solution)]
    assert name_all(new, start)[0] == next(filter(None, left))
    assert name_all(new, known.solution) == list(filter(None, left))


def take(instance: Instance, customers: list[int]) -> Instance:
    nodes = [0, *customers]
    assert instance.coordinates is not None and instance.customer_names is not None
    return replace(
        instance,
        coordinates=instance.coordinates[nodes],
        demands=instance.demands[nodes],
        customer_names=tuple(instance.customer_names[customer - 1] for customer in customers),
    )


def name_all(instance: Instance, solution: Solution) -> list[list[str]]:
    return [list(map(instance.customer_name, route)) for route in solution.routes]


def test_new_customer_that_fits_only_after_a_search_is_served() -> None:
    instance = Instance(
        np.array([[0, 0], [1, 0], [2, 0], [0, 1], [0, 2], [1, 1]]),
        np.array([0, 3, 3, 2, 2, 2]),
        7,
        vehicles=(VehicleType(6, count=2),),
        customer_names=tuple("ABCDN"),
    )
    known = KnownRoutes(instance, Solution(((1, 3), (2, 4)), vehicles=(0, 0)), (0, 1), (), (5,))
    start = add_new_customers(known)
    assert start.unserved(instance) == [5]

    assert check(instance, solve(instance, start=start, iterations=500).solution) == []


def test_solution_without_its_instance_is_found_by_id_in_another_order(tmp_path: Path) -> None:
    printed = {key: value for key, value in plan_to_json(plan_of_day()).items() if key != "instance"}
    path, other = tmp_path / "printed.json", day("FEDCBA")
    path.write_text(json.dumps([printed]))
    with pytest.warns(InputWarning, match="found by id"):
        assert check(other, read_routes(path, other)) == []
    with pytest.warns(InputWarning, match="found by id"):
        result = solve(other, start=read_solution(path), improve="2opt")

    assert ["".join(sorted(route)) for route in names_of(other, result.solution)] == ["ABC", "DE", "F"]


def test_false_ids_of_a_solution_whose_numbers_fit_are_found(tmp_path: Path) -> None:
    printed: dict[str, Any] = {key: value for key, value in plan_to_json(plan_of_day()).items() if key != "instance"}
    printed["ids"] = [["C", "B", "A"], ["E", "D"], ["F"]]
    path = tmp_path / "printed.json"
    path.write_text(json.dumps(printed))

    assert {found.kind for found in check(day(), read_routes(path, day()))} == {"ids"}
    with pytest.raises(SolutionError, match="its stated id is 'C'"):
        read_known_routes(path, day())


@pytest.mark.parametrize(("key", "value"), [("ids", [["A", "C", "B"], ["E", "D"], ["F"]]), ("loads", [1, 2, 3])])
def test_false_statement_of_a_plan_to_start_from_is_refused(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**plan_to_json(plan_of_day()), key: value}))
    for other in (day(), day("FEDCBA"), day("ABCX")):
        with pytest.raises(SolutionError, match="known routes are wrong"):
            read_known_routes(path, other)


@pytest.mark.parametrize("names", ["ABCDEF", "FEDCBA", "ABCDEX"])
def test_false_cost_of_a_plan_to_start_from_is_a_note(tmp_path: Path, names: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**plan_to_json(plan_of_day()), "cost": 5}))
    with gather_notes() as notes:
        known = read_known_routes(path, day(names))

    assert any("The stated cost is 5, but the routes cost" in note for note in notes)
    assert add_new_customers(known).stated_cost is None


def test_customer_that_the_plan_knows_but_does_not_visit_is_not_new(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(Plan(day(), Solution(((1, 2, 3), (5, 4)))), path)

    assert read_known_routes(path, day("FEDCBA")).new == ()


def test_vehicles_are_found_by_name(tmp_path: Path) -> None:
    van, truck = VehicleType(12, "van", count=1), VehicleType(30, "truck", count=2)
    plan = Plan(replace(day(), vehicles=(van, truck)), Solution(((1, 2, 3), (5, 4), (6,)), vehicles=(0, 1, 1)))
    known = read_known_routes(save(tmp_path, ".json", plan), replace(day("FEDCBA"), vehicles=(truck, van)))

    assert known.solution.vehicle_types(known.instance) == (1, 0, 0)


def number_names(names: str) -> Instance:
    """The same customers, called 1 to 6 instead of A to F."""
    return replace(day(names), customer_names=tuple(str(ord(name) - ord("A") + 1) for name in names))


@pytest.mark.parametrize("suffix", BY_ID)
@pytest.mark.parametrize(("before", "after"), [("ABCDEF", "DAFBEC"), ("DAFBEC", "ABCDEF"), ("DAFBEC", "FEDCBA")])
def test_ids_that_are_numbers_are_found_in_another_order(tmp_path: Path, suffix: str, before: str, after: str) -> None:
    old, new = number_names(before), number_names(after)
    routes = Solution(tuple(tuple(before.index(name) + 1 for name in route) for route in ("ABC", "ED", "F")))
    known = read_known_routes(save(tmp_path, suffix, Plan(old, routes)), new)

    assert ["".join(after[number - 1] for number in route) for route in known.solution.routes] == ["ABC", "ED", "F"]
    assert (known.gone, known.new) == ((), ())


@pytest.mark.parametrize(("before", "after"), [("ABCDEF", "FEDCBA"), ("DAFBEC", "ABCDEF")])
def test_solution_whose_ids_are_numbers_is_found_by_id_in_another_order(
    tmp_path: Path, before: str, after: str
) -> None:
    routes = Solution(tuple(tuple(before.index(name) + 1 for name in route) for route in ("ABC", "ED", "F")))
    document = plan_to_json(Plan(number_names(before), routes))
    path, other = tmp_path / "printed.json", number_names(after)
    path.write_text(json.dumps([{key: value for key, value in document.items() if key != "instance"}]))
    with pytest.warns(InputWarning, match="found by id"):
        known = read_known_routes(path, other)

    assert ["".join(after[number - 1] for number in route) for route in known.solution.routes] == ["ABC", "ED", "F"]


@pytest.mark.parametrize("suffix", BY_ID)
def test_last_customers_of_numbered_ones_are_gone_or_new(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path, suffix, Plan(number_names("ABCDEF"), plan_of_day().solution))
    with gather_notes() as notes:
        fewer = read_known_routes(path, number_names("ABCD"))
        more = read_known_routes(path, number_names("ABCDEFGH"))

    assert (set(fewer.gone), fewer.solution.routes, fewer.places) == ({"5", "6"}, ((1, 2, 3), (4,)), (0, 1, None))
    assert (more.gone, more.new, more.solution.routes) == ((), (7, 8), plan_of_day().solution.routes)
    assert "are gone" in notes[0]
    assert "customers 7, 8 are new" in notes[1]


@pytest.mark.parametrize("is_named", [False, True])
def test_customers_found_by_number_at_other_places_are_named(tmp_path: Path, is_named: bool) -> None:
    path = save(tmp_path, ".json", plan_of_day() if is_named else Plan(number_names("ABCDEF"), plan_of_day().solution))
    with pytest.warns(InputWarning, match="customers 1, 2, 4, found by number, are elsewhere in this plan"):
        known = read_known_routes(path, replace(day("BDCAEF"), customer_names=None))

    assert known.solution.routes == plan_of_day().solution.routes


def test_plan_without_ids_is_read_by_number(tmp_path: Path) -> None:
    nameless = replace(day(), customer_names=None)
    path = save(tmp_path, ".json", Plan(nameless, plan_of_day().solution))

    assert read_known_routes(path, day()).solution.routes == plan_of_day().solution.routes
    assert read_routes(path, nameless).routes == plan_of_day().solution.routes
