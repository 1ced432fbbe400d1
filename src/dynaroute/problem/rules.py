"""The names of all rules beyond capacity, one window and the limits of a vehicle, and what they are called."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dynaroute.base.errors import UnsupportedError, Where

RULES: dict[str, str] = {
    "dimensions": "loads of several dimensions",
    "pickups": "loads that are brought back",
    "backhauls": "strict backhauls",
    "backhauls_last": "backhauls after all deliveries",
    "places": "vehicles that start or end elsewhere than at the first depot",
    "costs": "costs of vehicles",
    "overtime": "overtime",
    "max_driving": "a longest driving time",
    "speed_factor": "vehicles of different speed",
    "service_factor": "vehicles of different service times",
    "breaks": "breaks",
    "reload": "loading again",
    "initial_load": "a load at the start",
    "profile": "profiles of travel times",
    "speed_by_hour": "speeds by the hour of the day",
    "shipments": "shipments from a pickup to a delivery",
    "max_ride": "a longest ride",
    "prizes": "customers with a prize",
    "priorities": "customers with a priority",
    "windows": "several time windows",
    "late_costs": "lateness at a price",
    "release": "release times",
    "skills": "customers that only some vehicles may serve",
    "same_vehicle": "customers on the same vehicle",
    "one_of": "alternatives of which one is served",
    "not_together": "customers on different vehicles",
    "buffer": "a buffer before the end of windows",
    "lifo": "shipments that leave in the reverse order",
    "balance": "balance of work",
    "compactness": "compact routes",
    "beginning": "routes whose beginning is fixed",
    "locked": "legs that are fixed",
    "min_vehicles": "a least number of vehicles",
    "usual_vehicles": "a price for another vehicle than before",
}


def refuse_other_rules(used: Iterable[str], known: Collection[str], who: str) -> None:
    """Raise if a rule is used that somebody cannot handle.

    Parameters
    ----------
    used
        Names of the rules of an instance.
    known
        Names of the rules that can be handled.
    who
        Who handles them, as the subject of a sentence: "the search".
    """
    for name in sorted(used):
        if name not in known:
            raise UnsupportedError(
                f"{who} cannot handle {RULES[name]} yet.", where=Where(field=name), remedy="Leave it out."
            )
