"""Random problems with rules that a policy can know, each customer of which can be served alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from dynaroute.base.vocabulary import PolicyRule
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import judge_route
from dynaroute.problem.places import Place

__all__ = ["ALL_RULES", "WITH_DEPOTS", "allows", "draw_ruled", "list_subsets"]

ALL_RULES: tuple[PolicyRule, ...] = (
    "backhauls",
    "depots",
    "distance",
    "duration",
    "open",
    "pickups",
    "types",
    "windows",
)
WITH_DEPOTS = tuple(
    frozenset({"depots", *others})
    for others in (
        (),
        ("open",),
        ("distance",),
        ("windows", "pickups"),
        ("windows", "open", "backhauls"),
        ("duration", "distance", "windows"),
    )
)
_TOGETHER = ("distance", "duration", "open", "windows")


def list_subsets() -> list[frozenset[str]]:
    """Every subset of the rules; pickups are mixed or last."""
    together = chain.from_iterable(combinations(_TOGETHER, count) for count in range(len(_TOGETHER) + 1))
    return [frozenset({*some, *last}) for some in together for last in ((), ("pickups",), ("backhauls",))]


def draw_ruled(random: np.random.Generator, rules: frozenset[str], size: int, kind: str = "plane") -> Instance:
    """An instance in whole units, or in the unit square, or with a table of travel times and an early morning.

    With several depots, everybody can be served from the first of three, and some not from the others.
    """
    scale = 1.0 if kind == "square" else 100.0
    nodes = size + 3 if "depots" in rules else size + 1
    places = random.random((nodes, 2)) if kind == "square" else random.integers(0, 100, (nodes, 2)).astype(float)
    ways = np.linalg.norm(places[:, None] - places, axis=2)
    durations = np.rint(ways * random.uniform(0.8, 1.6, ways.shape)) if kind == "table" else None
    times = ways if durations is None else durations
    every_time, times, ways = times, times[: size + 1, : size + 1], ways[: size + 1, : size + 1]
    service = np.r_[0.0, random.integers(0, 9, size)] * scale / 100
    begin = 28800.0 if kind == "table" else 0.0
    fields: dict[str, Any] = {"capacity": 14, "speed": None if durations is not None else 1.0, "durations": durations}
    demands = np.r_[0, random.integers(1, 9, size)]
    if rules & {"pickups", "backhauls"}:
        fields["pickups"] = np.r_[0, np.where(random.random(size) < 0.4, random.integers(1, 9, size), 0)]
        is_both = random.random(size + 1) < (0.3 if "pickups" in rules else 0.0)
        demands = np.where((fields["pickups"] > 0) & ~is_both, 0, demands)
        fields["backhauls"] = "last" if "backhauls" in rules else "mixed"
    if rules & {"windows", "duration"}:
        fields["service"] = service
    if "windows" in rules:
        opens = begin + times[0] + random.uniform(0, 2, size + 1) * scale
        closes = opens + random.uniform(0.05, 0.8, size + 1) * scale
        is_wide = random.random(size + 1) < 0.2
        windows = np.stack([np.where(is_wide, 0, opens), np.where(is_wide, np.inf, closes)], axis=1)
        windows[0] = begin, float((closes + service + times[:, 0]).max()) + random.uniform(0, 0.5) * scale
        fields["windows"] = windows if kind == "square" else np.rint(windows)
        fields["windows"][1:, 1] = np.maximum(fields["windows"][1:, 1], np.ceil(times[0, 1:] + begin))
    away, busy = (ways[0] + ways[:, 0]).max(), (times[0] + times[:, 0] + service).max()
    limits: dict[str, Any] = {}
    if "distance" in rules:
        limits["max_distance"] = float(away + random.uniform(0.0, 0.3) * scale)
    if "duration" in rules:
        limits["max_duration"] = float(busy + random.uniform(0.0, 0.3) * scale)
    kinds = [VehicleType(14, "first", end="open" if "open" in rules else "", **limits)]
    if "depots" in rules:
        hours = tuple(fields["windows"][0]) if "windows" in rules else None
        fields["places"] = tuple(Place(name, window=hours) for name in ("second", "third"))
        end = "open" if "open" in rules else None
        kinds += [replace(kinds[0], name=each, start=each, end=end or each) for each in ("second", "third")]
        kinds = [kinds[index] for index in random.permutation(3)]
        if durations is not None:
            fields["durations"] = every_time
    instance = Instance(places, demands, vehicles=tuple(kinds), **fields)
    first = instance.start_nodes.index(0)
    assert all(allows(instance, [customer], first) for customer in range(1, size + 1))
    return instance


def allows(instance: Instance, route: list[int], kind: int = 0) -> bool:
    """Whether `check` finds nothing wrong with a route of a vehicle type."""
    return next(judge_route(instance, 1, route, instance.fleet[kind]), None) is None
