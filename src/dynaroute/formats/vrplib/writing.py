"""Writing a CVRPLIB file: vehicles, times and rules are in the fields and sections that PyVRP reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from dynaroute.base.errors import UnsupportedError
from dynaroute.formats.limitations import list_other_rules, refuse_what_cannot_be_stored
from dynaroute.formats.numbers import format_load, format_number
from dynaroute.formats.vrplib.instance import ROUNDINGS
from dynaroute.formats.vrplib.rules import Depots
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_Value = TypeVar("_Value")

_HELD_RULES = frozenset({"backhauls", "costs", "pickups", "places", "prizes", "release", "reload", "skills"})
_LIMITS = ("max_distance", "max_duration")


def format_vrplib(instance: Instance) -> str:
    """Write a CVRPLIB instance.

    Parameters
    ----------
    instance
        The instance; without rounding it is written as EXACT_2D.

    Raises
    ------
    UnsupportedError
        If it has customer names, great-circle distances, or a rule that this format cannot hold.
    """
    if instance.customer_names is not None:
        raise UnsupportedError.about(
            "customer_names",
            "a .vrp file cannot hold customer names.",
            "Write a .csv or .json file; or drop the names (in a CSV file: the column id).",
        )
    if instance.metric == "great_circle":
        raise UnsupportedError.about(
            "metric", "a .vrp file cannot hold latitudes and longitudes.", "Write a .csv or .json file."
        )
    file = "a .vrp file"
    refuse_what_cannot_be_stored(file, list_other_rules(instance, _HELD_RULES))
    refuse_what_cannot_be_stored(file, _list_obstacles(instance) | _list_obstacles_of_places(instance))
    lines = (_header_lines(instance), _fleet_fields(instance), _node_sections(instance), _vehicle_sections(instance))
    depots = [str(node) for node in range(1, len(instance.places) + 2)]
    return "\n".join([*(line for part in lines for line in part), "DEPOT_SECTION", *depots, "-1", "EOF", ""])


def _list_obstacles(instance: Instance) -> dict[str, tuple[str, bool]]:
    """What vehicles and customers may have that the format cannot hold."""
    fleet = instance.fleet
    own_names = [str(number) for number in range(1, len(fleet) + 1)] if instance.vehicles_allowed else [""] * len(fleet)
    plain = [replace(kind, count=1, name="") for kind in fleet]
    served = [tuple(_list_customers(instance, kind)) for kind in fleet]
    is_timed = any(each is not None for each in (instance.windows, instance.service, instance.release))
    is_timed |= any(kind.max_duration is not None for kind in fleet)
    return {
        "vehicles": (
            "vehicle names, shifts, stop limits or open ends",
            [kind.name for kind in fleet] != own_names
            or any(kind.shift is not None or kind.max_stops or kind.end == "open" for kind in fleet),
        ),
        "end": ("vehicles that end elsewhere than they start", any(kind.end != kind.start for kind in fleet)),
        "time_cost": ("costs per hour", any(kind.time_cost for kind in fleet)),
        "loading": ("the time that a vehicle takes to load again", any(kind.loading for kind in fleet)),
        "max_trips": (
            "a number of trips that only some vehicle types have",
            len({kind.max_trips is None for kind in fleet}) > 1,
        ),
        "count": (
            "several vehicle types without a count, or with limits that only some have",
            _needs_rows(instance)
            and (
                any(kind.count is None for kind in fleet)
                or any(len({getattr(kind, key) is None for kind in fleet}) > 1 for key in _LIMITS)
                or len(set(zip(plain, served, strict=True))) < len(fleet)
            ),
        ),
        "skills": (
            "skills, or vehicles that may not serve a customer",
            instance.skills is not None
            or instance.vehicles_forbidden is not None
            or any(each.skills for each in fleet),
        ),
        "pickups": (
            "loads that are brought back before all deliveries are made",
            instance.pickups is not None and instance.backhauls != "strict",
        ),
        "prizes": ("a prize of 0", instance.prizes is not None and bool((instance.prizes[1:] == 0).any())),
        "windows": (
            "customers without a latest time among others with one",
            instance.windows is not None and not math.isfinite(instance.windows.max()),
        ),
        "durations": ("a matrix of durations", instance.durations is not None),
        "speed": ("times other than distances (a speed of 1)", instance.speed != (1.0 if is_timed else None)),
    }


def _list_obstacles_of_places(instance: Instance) -> dict[str, tuple[str, bool]]:
    """What places may have that the format cannot hold: they are depots, which are numbered."""
    places, has_windows = instance.places, instance.windows is not None
    names = [f"depot {number}" for number in range(2, len(places) + 2)]
    return {
        "places": ("places with names other than depot 2, depot 3, ...", [each.name for each in places] != names),
        "window": (
            "hours of depots without time windows of customers, or the other way round",
            any((each.window is not None) != has_windows or not _is_finite(each.window) for each in places),
        ),
        "service": (
            "times of loading without service times",
            instance.service is None and any(each.loading for each in places),
        ),
    }


def _is_finite(window: tuple[float, float] | None) -> bool:
    return window is None or math.isfinite(window[1])


def _needs_rows(instance: Instance) -> bool:
    """Whether vehicles need rows of their own in sections."""
    is_usual = not (instance.places or instance.vehicles_allowed or instance.rules & {"costs", "reload"})
    return len(instance.fleet) > 1 or not is_usual


def _header_lines(instance: Instance) -> Iterator[str]:
    yield f"NAME : {instance.name}".rstrip()
    yield f"TYPE : {'CVRP' if instance.windows is None else 'VRPTW'}"
    yield f"DIMENSION : {instance.node_count}"
    if instance.distances is not None:
        yield "EDGE_WEIGHT_TYPE : EXPLICIT"
        yield "EDGE_WEIGHT_FORMAT : FULL_MATRIX"
    else:
        yield f"EDGE_WEIGHT_TYPE : {next(kind for kind, rule in ROUNDINGS.items() if rule == instance.rounding)}"


def _fleet_fields(instance: Instance) -> Iterator[str]:
    fleet = instance.fleet
    if fleet[0].count is not None:
        yield f"VEHICLES : {sum(kind.count or 0 for kind in fleet)}"
    if len(fleet) == 1:
        yield f"CAPACITY : {format_load(instance, instance.capacity)}"
        for key in _LIMITS:
            if getattr(fleet[0], key) is not None:
                yield f"VEHICLES_{key.upper()} : {format_number(getattr(fleet[0], key))}"


def _node_sections(instance: Instance) -> Iterator[str]:
    """Write what belongs to nodes. All depots come first in the file, but an instance has the further ones last."""
    places = instance.places
    order = [0, *range(instance.size + 1, instance.node_count), *range(1, instance.size + 1)]
    nothing = ["0"] * len(places)
    if instance.distances is not None:
        yield "EDGE_WEIGHT_SECTION"
        for node in order:
            yield " ".join(map(format_number, instance.distances[node][order].tolist()))
    if instance.coordinates is not None:
        yield from _section("NODE_COORD", [_join(instance.coordinates[node].tolist()) for node in order])
    demands = [format_load(instance, demand) for demand in instance.demands.tolist()]
    yield from _section("DEMAND", _put_second(demands, nothing))
    if instance.pickups is not None:
        pickups = [format_load(instance, amount) for amount in instance.pickups.tolist()]
        yield from _section("BACKHAUL", _put_second(pickups, nothing))
    if instance.service is not None:
        of_places = [format_number(each.loading) for each in places]
        yield from _section("SERVICE_TIME", _put_second(map(format_number, instance.service.tolist()), of_places))
    if instance.windows is not None:
        hours = [_join(each.bounds) for each in places]
        yield from _section("TIME_WINDOW", _put_second(map(_join, instance.windows.tolist()), hours))
    if instance.prizes is not None:
        prizes = [format_number(prize) if math.isfinite(prize) else "0" for prize in instance.prizes.tolist()]
        yield from _section("PRIZE", _put_second(prizes, nothing))
    if instance.release is not None:
        yield from _section("RELEASE_TIME", _put_second(map(format_number, instance.release.tolist()), nothing))


def _vehicle_sections(instance: Instance) -> Iterator[str]:
    """Write what belongs to vehicles, a row for each."""
    each = [kind for kind in instance.fleet for _ in range(kind.count or 0)]
    if len(instance.fleet) > 1:
        yield from _section("CAPACITY", [format_load(instance, kind.capacities[0]) for kind in each])
        for key in _LIMITS:
            if getattr(each[0], key) is not None:
                yield from _section(f"VEHICLES_{key.upper()}", [format_number(getattr(kind, key)) for kind in each])
    if any(kind.fixed_cost for kind in each):
        yield from _section("VEHICLES_FIXED_COST", [format_number(kind.fixed_cost) for kind in each])
    if any(kind.distance_cost != 1 for kind in each):
        yield from _section("VEHICLES_UNIT_DISTANCE_COST", [format_number(kind.distance_cost) for kind in each])
    depots = Depots(len(instance.places) + 1, instance.node_count)
    numbers = {depots.name(node): str(node) for node in range(1, depots.count + 1)}
    if instance.places:
        yield from _section("VEHICLES_DEPOT", [numbers[kind.start] for kind in each])
    if any(kind.reload for kind in each):
        reloads = [" ".join(numbers[name] for name in kind.reload) for kind in each]
        yield from _section("VEHICLES_RELOAD_DEPOT", reloads)
    if any(kind.max_trips is not None for kind in each):
        yield from _section("VEHICLES_MAX_RELOADS", [str((kind.max_trips or 1) - 1) for kind in each])
    if instance.vehicles_allowed:
        served = [" ".join(str(each + depots.count) for each in _list_customers(instance, kind)) for kind in each]
        yield from _section("VEHICLES_ALLOWED_CLIENTS", served)


def _list_customers(instance: Instance, kind: VehicleType) -> list[int]:
    """The customers who may be served by a type of vehicle, as far as they name some."""
    named = instance.vehicles_allowed or [frozenset[str]()] * (instance.size + 1)
    return [customer for customer in range(1, instance.size + 1) if not named[customer] or kind.name in named[customer]]


def _section(name: str, values: Iterable[str]) -> Iterator[str]:
    """Write a section with a numbered row for each value."""
    yield f"{name}_SECTION"
    yield from (f"{number} {value}".rstrip() for number, value in enumerate(values, start=1))


def _put_second(values: Iterable[_Value], others: Sequence[_Value]) -> list[_Value]:
    """Put the values of further depots after that of the first."""
    first, *rest = values
    return [first, *others, *rest]


def _join(numbers: Iterable[float]) -> str:
    return " ".join(map(format_number, numbers))
