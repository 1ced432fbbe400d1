"""Random small problems with any combination of rules, and random routes over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place
from dynaroute.problem.profiles import Profile
from dynaroute.problem.solution import Solution
from dynaroute.problem.working_day import Balance, Break, Overtime

__all__ = ["RULE_MAKERS", "draw_problem", "draw_routes"]

Fields = dict[str, Any]
Random = np.random.Generator
_LONGER = 60.0  # times where speeds depend on the hour: minutes instead of seconds


def draw_problem(random: Random, rules: set[str], size: int | None = None) -> Instance:
    """A problem of 2 to 6 customers with these rules, and two types of vehicles, in whole minutes."""
    count = int(random.integers(2, 7)) if size is None else size
    first: Fields = {"capacity": 12, "name": "a", "count": 3}
    second: Fields = {"capacity": 9, "name": "b"}
    fields: Fields = {
        "coordinates": random.integers(0, 40, (count + 1, 2)).astype(float),
        "demands": np.array([0, *random.integers(0, 5, count)]),
        "capacity": 12,
        "speed": 1.0,
        "service": np.array([0.0, *random.integers(0, 9, count)]),
    }
    if "max_ride" in rules and "shipments lifo" not in rules:
        rules = {*rules, "shipments"}
    for rule in sorted(rules):
        RULE_MAKERS[rule](random, count, fields, first, second)
    return Instance(**fields, vehicles=(VehicleType(**first), VehicleType(**second)))


def draw_routes(random: Random, instance: Instance) -> Solution:
    """Random routes over most customers, with reloads where vehicles may."""
    order = random.permutation(np.arange(1, instance.size + 1))[: int(random.integers(1, instance.size + 1))].tolist()
    cuts = sorted(random.integers(0, len(order) + 1, int(random.integers(0, 3))).tolist())
    parts = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    routes, kinds = [], []
    for part in filter(None, parts):
        kind = int(random.integers(len(instance.fleet)))
        reloads = [instance.node_of(name) for name in instance.fleet[kind].reload]
        if reloads and len(part) > 1 and random.random() < 0.7:
            part.insert(int(random.integers(1, len(part))), int(random.choice(reloads)))
        routes.append(tuple(part))
        kinds.append(kind)
    return Solution(tuple(routes), vehicles=tuple(kinds))


def _two_windows(random: Random, count: int) -> np.ndarray[Any, Any]:
    windows = np.tile([[0.0, math.inf]], (count + 1, 2, 1))
    for node in range(1, count + 1):
        first = random.integers(0, 60)
        second = first + 20 + random.integers(5, 60)
        windows[node] = [[first, first + 20], [second, second + random.integers(5, 40)]]
    return windows


def _set_windows(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    fields["windows"] = _two_windows(random, count)


def _set_one_window(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    if "windows" not in fields:
        opens = random.integers(0, 90, count + 1).astype(float)
        fields["windows"] = np.stack([opens, opens + random.integers(10, 90, count + 1)], axis=1)
        fields["windows"][0] = [0, 300]


def _set_dimensions(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    for key in ("demands", "pickups"):
        if key in fields:
            other = np.array([0, *random.integers(0, 4, count)])
            fields[key] = np.stack([fields[key], np.where(fields[key] > 0, other, 0)], axis=1)
    for node, partner in enumerate(fields.get("partners", ())):
        if node < partner:
            fields["pickups"][node] = fields["demands"][partner]
    fields["dimensions"] = ("kg", "pallets")
    first["capacity"], second["capacity"] = (12, 8), (9, 9)
    for vehicle in (first, second):
        if "initial_load" in vehicle:
            vehicle["initial_load"] = (vehicle["initial_load"], 0)


def _set_shipments(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    """Pair customers 1 and 2: what the one hands over, the other gets."""
    pickups = fields.setdefault("pickups", np.zeros(count + 1, dtype=int))
    amount = int(random.integers(0, 5))
    fields["demands"][[1, 2]] = [0, amount]
    pickups[[1, 2]] = [amount, 0]
    partners = fields.get("partners", np.zeros(count + 1, dtype=int))
    partners[[1, 2]] = [2, 1]
    fields["partners"] = partners
    _label_shipments(fields)


def _label_shipments(fields: Fields) -> None:
    """Give both stops of each shipment the label of its pickup, where it is an alternative."""
    labels = fields.get("one_of") or ()
    fields["one_of"] = tuple(labels[min(node, fields["partners"][node] or node)] for node in range(len(labels))) or None


def _set_balance(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    of, target = [("hours", 0.01), ("stops", 1), ("load", 4)][int(random.integers(3))]
    fields["balance"] = Balance(of, 3000 if of == "hours" else 5, target)  # type: ignore[arg-type]


def _set_profile(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    """Give the second type legs of its own; places come later, so there are rows for the two that may be made."""
    nodes = count + 3 if "places" in fields else count + 1
    matrix = random.integers(5, 60, (nodes, nodes)).astype(float)
    fields["profiles"] = (Profile("bicycle", matrix, np.round(matrix / 2)), Profile("other"))
    second["profile"] = "bicycle"


def _set_speeds(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    """Let a type drive at another speed in each hour, and make all times longer, so that days last for hours."""
    speeds = tuple(random.choice([0.5, 0.8, 1.0, 2.0], 24).tolist())
    name = second.setdefault("profile", "rush")
    given = {profile.name: profile for profile in fields.get("profiles", ())}
    own = given.pop(name, Profile(name))
    durations = None if own.durations is None else own.durations * _LONGER
    fields["profiles"] = (*given.values(), Profile(name, own.distances, durations, speeds))
    fields["speed"] /= _LONGER
    for key in ("windows", "service", "release", "max_ride", "buffer"):
        fields |= {key: fields[key] * _LONGER} if key in fields else {}
    if "late_costs" in fields:
        fields["late_costs"] = fields["late_costs"] / _LONGER
    fields["places"] = tuple(
        replace(place, window=place.window and (place.window[0] * _LONGER, place.window[1] * _LONGER))
        for place in fields.get("places", ())
    )
    for vehicle in (first, second):
        for key in ("max_duration", "max_driving", "loading", "time_cost"):
            factor = 1 / _LONGER if key == "time_cost" else _LONGER
            vehicle |= {key: vehicle[key] * factor} if key in vehicle else {}
        if "shift" in vehicle:
            vehicle["shift"] = tuple(bound * _LONGER for bound in vehicle["shift"])
        if "overtime" in vehicle:
            vehicle["overtime"] = Overtime(40 * _LONGER, 60 * _LONGER, 0.5 / _LONGER)
        vehicle["breaks"] = tuple(
            Break(rest.duration * _LONGER, (rest.window[0] * _LONGER, rest.window[1] * _LONGER))
            for rest in vehicle.get("breaks", ())
            if rest.window is not None
        )


def _set_lifo(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    """Ship from customer 1 to 2, and from 3 to 4."""
    partners, lifo = np.zeros(count + 1, dtype=int), np.zeros(count + 1, dtype=bool)
    pickups = fields.setdefault("pickups", np.zeros(count + 1, dtype=int))
    for pickup in (1, 3)[: count // 2]:
        amount = int(random.integers(0, 5))
        fields["demands"][[pickup, pickup + 1]], pickups[[pickup, pickup + 1]] = [0, amount], [amount, 0]
        partners[[pickup, pickup + 1]], lifo[pickup] = [pickup + 1, pickup], True
    fields["partners"], fields["lifo"] = partners, lifo
    _label_shipments(fields)


def _set_rides(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    """Limit the ride of a shipment that is made later: of the one from customer 1 to 2."""
    fields["max_ride"] = np.array([math.inf, float(random.integers(20, 80)), *[math.inf] * (count - 1)])


def _set_some(key: str, draw: Callable[[Random], float], without: float) -> Callable[..., None]:
    def set_field(random: Random, count: int, fields: Fields, *_: Fields) -> None:
        values = [draw(random) if random.random() < 0.6 else without for _ in range(count)]
        fields[key] = np.array([without, *values])

    return set_field


def _set_labels(key: str) -> Callable[..., None]:
    def set_field(random: Random, count: int, fields: Fields, *_: Fields) -> None:
        fields[key] = ("", *random.choice(["", "x", "y"], count).tolist())

    return set_field


def _set_vehicle(**given: Any) -> Callable[..., None]:
    def set_field(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
        first |= given
        if random.random() < 0.5:
            second |= given

    return set_field


def _set_places(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    fields["places"] = (Place("home", 5, 5, (3, 400)), Place("yard", 30, 9, loading=2))
    first["start"] = "home"
    second["end"] = str(random.choice(["home", "open", "yard"]))


def _set_reload(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    first |= {"reload": ("depot",), "loading": 5, "max_trips": 2}
    if "places" in fields:
        second |= {"reload": ("depot", "yard"), "loading": 1}


def _set_skills(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    none: frozenset[str] = frozenset()
    chosen = random.integers(0, 4, count)
    first["skills"] = frozenset({"lift"})
    fields["skills"] = (none, *(frozenset({"lift"}) if each == 1 else none for each in chosen))
    fields["vehicles_allowed"] = (none, *(frozenset({"b"}) if each == 2 else none for each in chosen))
    fields["vehicles_forbidden"] = (none, *(frozenset({"b"}) if each == 3 else none for each in chosen))


def _set_beginning(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    first |= {"count": 1, "beginning": (1, 2)[: int(random.integers(1, 3))]}


def _set_locked(random: Random, count: int, fields: Fields, first: Fields, second: Fields) -> None:
    """Lock legs that a beginning of customers 1 and 2 allows."""
    nodes = [*range(len(first.get("beginning", (1,))), count + 1)]
    fields["locked"] = ((nodes[0], nodes[1]),) if len(nodes) > 1 else ()
    if len(nodes) > 3 and random.random() < 0.5:
        fields["locked"] += ((nodes[2 - int(random.integers(2))], nodes[3]),)


def _set_usual_vehicles(random: Random, count: int, fields: Fields, *_: Fields) -> None:
    fields["usual_vehicles"] = np.array([-1, 0, *random.integers(-1, 2, count - 1)])
    fields["change_cost"] = 7.5


# In the order in which `sorted` gives their names; a maker may change what an earlier one set.
RULE_MAKERS: dict[str, Callable[..., object]] = {
    "a window": _set_one_window,
    "backhauls": lambda random, count, fields, *_: fields.update(
        {"backhauls": "strict", "pickups": np.array([0, *random.integers(0, 3, count)])}
    ),
    "backhauls_last": lambda random, count, fields, *_: fields.update(
        {"backhauls": "last", "pickups": np.array([0, *random.integers(0, 3, count)])}
    ),
    "balance": _set_balance,
    "beginning": _set_beginning,
    "breaks": lambda random, count, fields, first, second: (
        first.update(breaks=(Break(10, (30, 45)),)),
        second.update(breaks=(Break(7, after_driving=60), Break(5, (10, 40)))),
    ),
    "buffer": lambda random, count, fields, *_: fields.update(buffer=5),
    "compactness": lambda random, count, fields, *_: fields.update(compactness=float(random.integers(1, 5)) / 2),
    "costs": _set_vehicle(fixed_cost=20, distance_cost=0.5, time_cost=0.25),
    "initial_load": _set_vehicle(initial_load=3),
    "late_costs": _set_some("late_costs", lambda random: float(random.integers(1, 5)), math.inf),
    "limits": _set_vehicle(max_duration=120, shift=(5, 250), max_stops=4),
    "locked": _set_locked,
    "max_driving": _set_vehicle(max_driving=90),
    "max_ride": _set_rides,
    "min_vehicles": lambda random, count, fields, first, second: (first if random.random() < 0.5 else second).update(
        min_vehicles=1 if first.get("count") == 1 else int(random.integers(1, 3))
    ),
    "not_together": _set_labels("not_together"),
    "one_of": _set_labels("one_of"),
    "overtime": _set_vehicle(overtime=Overtime(40, 60, 0.5)),
    "pickups": lambda random, count, fields, *_: fields.update(pickups=np.array([0, *random.integers(0, 3, count)])),
    "places": _set_places,
    "priorities": _set_some("priorities", lambda random: float(random.integers(0, 101)), math.nan),
    "prizes": _set_some("prizes", lambda random: float(random.integers(0, 60)), math.inf),
    "profile": _set_profile,
    "release": _set_some("release", lambda random: float(random.integers(0, 40)), 0.0),
    "reload": _set_reload,
    "same_vehicle": _set_labels("same_vehicle"),
    "service_factor": _set_vehicle(service_factor=1.5),
    "shipments": _set_shipments,
    "shipments lifo": _set_lifo,
    "skills": _set_skills,
    "speed_factor": _set_vehicle(speed_factor=0.5),
    "usual_vehicles": _set_usual_vehicles,
    "windows": _set_windows,
    "z dimensions": _set_dimensions,
    "z speed_by_hour": _set_speeds,
}
