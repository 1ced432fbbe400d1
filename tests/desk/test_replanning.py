"""The rest of a day is planned again: what has happened stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import dropwhile
from typing import Any

import numpy as np
import pytest
from desk_days import make_day_plan
from hypothesis import given, settings
from hypothesis import strategies as some
from plain_search import PlainSearch

from dynaroute.base.errors import OptionError, gather_notes
from dynaroute.desk import replanning
from dynaroute.desk.progress import VehicleProgress, follow_vehicles
from dynaroute.desk.replanning import Replanned, replan
from dynaroute.plans import Plan
from dynaroute.plans.files.json import parse_json_plan, plan_to_json
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

HOUR = 3600.0
NEW = [{"id": "New", "x": 1, "y": 1, "demand": 1, "window": ["09:00", "17:00"]}]


@pytest.fixture(scope="module")
def plain_search() -> Iterator[PlainSearch]:
    with PlainSearch() as process:
        yield process


@pytest.fixture(autouse=True)
def _search_briefly(plain_search: PlainSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for some iterations instead of seconds, so that results do not depend on the machine."""

    def search(instance: Instance, start: Solution | None, **_: object) -> object:
        return plain_search.search(instance, start, iterations=40)

    monkeypatch.setattr(replanning, "solve", search)


def driver_of(replanned: Replanned, customer: str) -> str | None:
    change = next(change for change in replanned.comparison.changes if change.id == customer)
    return None if change.after is None else change.after.vehicle


def test_an_hour_without_changes_changes_nothing() -> None:
    replanned = replan(make_day_plan(), now=9 * HOUR)

    assert (replanned.changes, replanned.faults, replanned.drivers_to_call) == ((), (), ())


def test_a_broken_vehicle_is_met_where_it_stands_and_its_goods_are_fetched() -> None:
    replanned = replan(make_day_plan(), now=9 * HOUR, broken=["Sprinter"])  # half way from the school to the clinic

    fetched = replanned.plan.instance
    place = next(n for n in range(1, fetched.size + 1) if fetched.customer_name(n) == "Clinic from Sprinter")
    assert fetched.coordinates is not None
    assert fetched.coordinates[place].tolist() == [0.0, 40.0]
    assert driver_of(replanned, "Clinic") == driver_of(replanned, "Clinic from Sprinter") == "Bike"
    assert (replanned.customers_to_call, replanned.drivers_to_call) == (("Clinic",), ("Sprinter", "Bike"))
    assert replanned.faults == ()


def test_a_vehicle_that_drives_stands_between_two_stops() -> None:
    replanned = replan(make_day_plan(), now=9 * HOUR + 600, broken=["Sprinter"])

    assert replanned.plan.instance.coordinates is not None
    assert replanned.plan.instance.coordinates[8].tolist() == [10.0, 40.0]


def test_a_new_order_goes_to_a_vehicle_that_has_not_left() -> None:
    replanned = replan(make_day_plan(), now=9 * HOUR, add=NEW)

    assert (driver_of(replanned, "New"), replanned.customers_to_call) == ("Bike", ("New",))


def test_a_new_order_without_goods_may_go_to_a_vehicle_on_its_way() -> None:
    visit = [{"id": "Meter", "x": 39, "y": -10, "demand": 0, "window": ["08:00", "17:00"]}]
    replanned = replan(make_day_plan(), now=8.5 * HOUR, add=visit)

    assert driver_of(replanned, "Meter") == "Sprinter 2"


def test_a_new_order_after_all_vehicles_have_left_is_not_served_and_says_so() -> None:
    replanned = replan(make_day_plan(), now=14 * HOUR, add=NEW)

    assert [name for name, _ in replanned.reasons] == ["New"]
    assert any("New" in fault for fault in replanned.faults)


def test_a_cancelled_customer_is_gone_and_its_goods_stay_on_board() -> None:
    replanned = replan(make_day_plan(), now=8.5 * HOUR, cancel=["Library"])

    assert (replanned.cancelled, driver_of(replanned, "Library")) == (("Library",), None)
    fleet = {kind.name: kind for kind in replanned.plan.instance.fleet}
    assert fleet["Sprinter 2"].initial_loads == (2,)
    assert replanned.faults == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cancel": ["Bakery"]}, "Bakery cannot be cancelled any more: Sprinter was there at 08:20"),
        ({"cancel": ["Clinic"]}, "Sprinter is on its way and arrives at 09:20"),
        ({"cancel": ["Harbour"]}, "'Harbour'"),
        ({"broken": ["Van"]}, "Sprinter, Sprinter 2, Bike"),
    ],
)
def test_what_cannot_be_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        replan(make_day_plan(), now=9 * HOUR, **change)


def test_a_price_on_change_keeps_customers_where_they_are() -> None:
    plan = make_day_plan([[1, 2], [4, 5, 6, 3], [7]])
    free = replan(plan, now=7 * HOUR, change_cost=0)
    dear = replan(plan, now=7 * HOUR, change_cost=1000)

    assert len(dear.comparison.moved) == 0 < len(free.comparison.moved)


def draw_day(random: np.random.Generator, plain_search: PlainSearch) -> Plan:
    """Ten customers, three vans, and a plan of a brief search."""
    count = 10
    windows = np.zeros((count + 1, 2))
    windows[:, 0] = random.integers(0, 200, count + 1)
    windows[:, 1] = windows[:, 0] + random.integers(100, 400, count + 1)
    windows[0] = [0, 2000]
    reload = ("depot",) if random.random() < 0.3 else ()
    instance = Instance(
        random.integers(-40, 40, (count + 1, 2)).astype(float),
        np.array([0, *random.integers(0, 4, count)]),
        10,
        windows=windows,
        service=np.array([0.0, *random.integers(0, 9, count)]),
        speed=1.0,
        vehicles=(VehicleType(10, name="van", count=2, reload=reload), VehicleType(8, name="bike", count=2)),
    )
    found = plain_search.search(instance, None, iterations=20).solution
    routes = tuple(tuple(dropwhile(lambda node: node == 0, route)) for route in found.routes)
    return Plan(instance, Solution(routes, vehicles=found.vehicle_types(instance)))


@settings(max_examples=15, deadline=None)
@given(some.integers(0, 10**6), some.integers(0, 500))
def test_what_has_happened_never_moves(plain_search: PlainSearch, seed: int, now: int) -> None:
    random = np.random.default_rng(seed)
    plan = draw_day(random, plain_search)
    vehicles = follow_vehicles(plan, now)
    if not vehicles:
        return
    broken = [vehicles[int(random.integers(len(vehicles)))].name] if random.random() < 0.5 else []
    free = [
        plan.instance.customer_name(node)
        for vehicle in vehicles
        for node in vehicle.stops[vehicle.frozen :]
        if 0 < node <= plan.instance.size
    ]
    cancel = free[:1] if random.random() < 0.5 else []
    add = [{"id": "new", "x": 3, "y": 4, "demand": 2, "window": [now, now + 400]}] if random.random() < 0.5 else []
    replanned = replan(plan, now=now, cancel=cancel, broken=broken, add=add)
    after = {vehicle.name: vehicle for vehicle in follow_vehicles(replanned.plan, now)}
    for vehicle in vehicles:
        done = vehicle.made if vehicle.name in broken else vehicle.frozen
        if done and any(0 < node <= plan.instance.size for node in vehicle.stops[:done]):
            assert list_done(after[vehicle.name], replanned.plan, done) == list_done(vehicle, plan, done)
        if vehicle.has_left and vehicle.name not in broken:
            loaded = set(map(plan.instance.customer_name, vehicle.list_loaded(plan.instance))) - set(cancel)
            assert {driver_of(replanned, name) for name in loaded} <= {vehicle.name, None}
            if not plan.instance.fleet[vehicle.kind].reload:
                assert only_its_own_goods(after.get(vehicle.name), replanned.plan, plan, vehicle)
    with gather_notes():  # a plan that leaves somebody out says so
        again = parse_json_plan(json.dumps(plan_to_json(replanned.plan)))
    assert check(again.instance, again.solution) == check(replanned.plan.instance, replanned.plan.solution)
    assert {found.kind for found in check(replanned.plan.instance, replanned.plan.solution)} <= {"missing"}


def list_done(vehicle: VehicleProgress, plan: Plan, count: int) -> list[tuple[str, float]]:
    """The first stops with the start of service, in whole milliseconds."""
    stops = zip(vehicle.stops[:count], vehicle.times.stops, strict=False)
    return [
        (plan.instance.customer_name(node), round(stop.start, 3)) for node, stop in stops if node <= plan.instance.size
    ]


def only_its_own_goods(now: VehicleProgress | None, after: Plan, before: Plan, vehicle: VehicleProgress) -> bool:
    """Whether nothing from the depot joined a vehicle that has left."""
    known = {before.instance.customer_name(node) for node in vehicle.stops}
    joined = [] if now is None else [n for n in now.stops if after.instance.customer_name(n) not in known]
    demands, partners = after.instance.demands, after.instance.partners
    return all(not demands[node] or (partners is not None and partners[node]) for node in joined)
