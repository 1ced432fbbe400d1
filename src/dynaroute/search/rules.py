"""Which rules the search keeps; an instance with another one is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.problem.rules import refuse_other_rules

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance

__all__ = ["SEARCHED_RULES", "RulesCode", "name_rules_code", "refuse_unsearched_rules"]

# versions of the machine code: what a problem does not need is not compiled
RulesCode = Literal[
    "rules",
    "rules with shipments",
    "rules with prizes",
    "rules with shipments and prizes",
    "rules with driving",
    "rules with shipments and driving",
    "rules with reloads",
]

SEARCHED_RULES = frozenset(
    {
        "not_together",
        "same_vehicle",
        "release",
        "reload",
        "late_costs",
        "breaks",
        "backhauls",
        "backhauls_last",
        "costs",
        "dimensions",
        "initial_load",
        "max_driving",
        "overtime",
        "pickups",
        "places",
        "priorities",
        "prizes",
        "service_factor",
        "shipments",
        "skills",
        "speed_factor",
        "windows",
    }
)


def refuse_unsearched_rules(instance: Instance) -> None:
    """Raise if an instance has a rule that the search does not keep yet."""
    refuse_other_rules(instance.rules, SEARCHED_RULES, "the search")
    if {"reload", "shipments"} <= instance.rules:
        raise UnsupportedError(
            "the search cannot handle shipments of vehicles that load again yet.",
            where=Where(field="reload"),
            remedy="Leave one of the two out.",
        )


def name_rules_code(instance: Instance) -> RulesCode:
    """The version of the machine code that the search needs for an instance with rules.

    Parameters
    ----------
    instance
        Its rules choose the version.
    """
    if "reload" in instance.rules:
        return "rules with reloads"
    if _needs_driving(instance):
        return "rules with driving" if instance.partners is None else "rules with shipments and driving"
    if instance.optional is None:
        return "rules" if instance.partners is None else "rules with shipments"
    return "rules with prizes" if instance.partners is None else "rules with shipments and prizes"


def _needs_driving(instance: Instance) -> bool:
    """Whether routes must be driven stop by stop to know their times."""
    if not instance.rules.isdisjoint(("breaks", "late_costs", "release")):
        return True
    has_durations = any(kind.max_duration or kind.time_cost or kind.overtime for kind in instance.fleet)
    return has_durations and "windows" in instance.rules
