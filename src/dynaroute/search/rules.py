"""Which rules the search keeps; an instance with another one is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.problem.rules import refuse_other_rules

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance

# versions of the machine code: what a problem does not need is not compiled
RulesCode = Literal[
    "rules",
    "rules with shipments",
    "rules with prizes",
    "rules with shipments and prizes",
    "rules with driving",
    "rules with shipments and driving",
    "rules with reloads",
    "rules with shipments and reloads",
]

SEARCHED_RULES = frozenset(
    {
        "not_together",
        "one_of",
        "same_vehicle",
        "release",
        "reload",
        "late_costs",
        "lifo",
        "breaks",
        "backhauls",
        "backhauls_last",
        "balance",
        "beginning",
        "buffer",
        "compactness",
        "costs",
        "dimensions",
        "initial_load",
        "locked",
        "max_driving",
        "max_ride",
        "min_vehicles",
        "overtime",
        "pickups",
        "places",
        "priorities",
        "prizes",
        "profile",
        "service_factor",
        "shipments",
        "skills",
        "speed_by_hour",
        "speed_factor",
        "usual_vehicles",
        "windows",
    }
)


def refuse_unsearched_rules(instance: Instance) -> None:
    """Raise if an instance has a rule that the search does not keep yet."""
    refuse_other_rules(instance.rules, SEARCHED_RULES, "the search")
    if {"reload", "shipments", "beginning"} <= instance.rules:
        raise UnsupportedError(
            "the search cannot handle shipments of vehicles that load again and have begun their routes yet.",
            where=Where(field="beginning"),
            remedy="Leave one of the three out.",
        )
    _refuse_combinations(instance)
    _refuse_locked_alternatives(instance)


def _refuse_combinations(instance: Instance) -> None:
    if any(node == 0 or node > instance.size for kind in instance.vehicles or () for node in kind.beginning):
        raise UnsupportedError(
            "the search cannot handle beginnings in which a vehicle loads again yet.",
            where=Where(field="beginning"),
            remedy="Leave these stops out of the beginning.",
        )
    if instance.partners is not None and any(instance.partners[node] for leg in instance.locked for node in leg):
        raise UnsupportedError(
            "the search cannot handle locked legs to stops of shipments yet.",
            where=Where(field="locked"),
            remedy="Lock other legs only.",
        )


def _refuse_locked_alternatives(instance: Instance) -> None:
    labels = instance.one_of
    if labels is not None and any(labels[node] for leg in instance.locked for node in leg):
        raise UnsupportedError(
            "the search cannot handle locked legs to alternatives yet.",
            where=Where(field="locked"),
            remedy="Lock other legs only, or leave the other alternatives out.",
        )


def count_matrices(instance: Instance) -> int:
    """Count the matrices that the search holds at once: distances and durations, with rules for each kind of driver.

    Parameters
    ----------
    instance
        Its types of vehicles may have profiles, speeds and service times of their own.
    """
    if not instance.rules:
        return 2
    paces = {(kind.profile, kind.speed_factor, kind.service_factor, kind.loading) for kind in instance.fleet}
    measured = {kind.profile for kind in instance.fleet}
    spreads = len(paces) if instance.compactness > 0 else 0
    return 2 * (len(paces) + len(measured)) + spreads


def name_rules_code(instance: Instance) -> RulesCode:
    """The version of the machine code that the search needs for an instance with rules.

    Parameters
    ----------
    instance
        Its rules choose the version.
    """
    if "reload" in instance.rules:
        return "rules with reloads" if instance.partners is None else "rules with shipments and reloads"
    if _needs_driving(instance):
        return "rules with driving" if instance.partners is None else "rules with shipments and driving"
    if instance.optional is None and instance.rules.isdisjoint(("one_of", "min_vehicles")):
        return "rules" if instance.partners is None else "rules with shipments"
    return "rules with prizes" if instance.partners is None else "rules with shipments and prizes"


def _needs_driving(instance: Instance) -> bool:
    """Whether routes must be driven stop by stop to know their times."""
    if not instance.rules.isdisjoint(
        (
            "balance",
            "beginning",
            "breaks",
            "compactness",
            "late_costs",
            "lifo",
            "locked",
            "max_ride",
            "release",
            "speed_by_hour",
            "usual_vehicles",
        )
    ):
        return True
    has_durations = any(kind.max_duration or kind.time_cost or kind.overtime for kind in instance.fleet)
    return has_durations and "windows" in instance.rules
