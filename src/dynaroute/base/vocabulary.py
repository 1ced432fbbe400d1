"""Words shared by files, options and results. Light to import, for ``--help``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Rounding = Literal["none", "nearest", "up"]
ReadingRule = Literal["none", "nearest", "up", "dimacs"]  # for lengths in a file; dimacs truncates to one decimal
Metric = Literal["euclidean", "great_circle"]
Language = Literal["en", "de", "fr", "es"]
RouteEnd = Literal["depot", "open"]
Backhauls = Literal["mixed", "last", "strict"]
Objective = Literal["distance", "vehicles"]
# what the best plan found in time may violate, if the plan says so; everything else contradicts the plan itself
OpenKind = Literal[
    "missing",
    "overload",
    "late",
    "too_long",
    "too_far",
    "too_many_stops",
    "fleet",
    "break",
    "skill",
    "pair",
    "ride",
    "reload",
    "release",
    "group",
    "driving",
    "place",
    "backhaul",
    "frozen",
]
ViolationKind = Literal[OpenKind, "unknown", "repeated", "no_such_vehicle", "cost", "ids", "loads", "unserved"]

CustomerPositions = Literal["uniform", "clustered", "mixed"]
DepotPosition = Literal["centre", "corner", "random"]
DemandKind = Literal["unitary", "1-9", "1-10", "5-10", "1-100", "50-100", "quadrant", "many-small"]

RecipeName = Literal["fast", "paper", "am", "pomo", "rules"]
PolicyName = Literal["amd", "am", "rl"]
# beyond capacity
PolicyRule = Literal["windows", "open", "distance", "duration", "backhauls", "pickups", "types", "depots"]
BaselineName = Literal["shared", "greedy", "rollout"]
OptimiserName = Literal["adam", "muon"]
ProverName = Literal["gurobi", "cp-sat"]


def join_with_or(words: Sequence[str]) -> str:
    """Join words as in a sentence: none, nearest or up."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
