"""Customers that a plan does not serve, and why, in the words of every file, picture and answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynaroute.base.display import LONGEST_ITEM, count_of, show_text
from dynaroute.problem.impossible import explain_alone
from dynaroute.problem.instance import Instance
from dynaroute.problem.lacks import Candidate, Lack, find_lacks, list_candidates
from dynaroute.problem.solution import Solution

__all__ = ["Unserved", "count_unserved", "explain_unserved"]


@dataclass(frozen=True)
class Unserved:
    """A customer on no route.

    Attributes
    ----------
    customer
        Its number.
    reason
        Why no route serves it: part of a sentence, without a capital letter and a full stop.
    """

    customer: int
    reason: str


def count_unserved(number: int) -> str:
    """Write how many customers are not served."""
    return f"{count_of(number, 'customer')} {'is' if number == 1 else 'are'} not served"


def explain_unserved(instance: Instance, solution: Solution, most: int | None = None) -> tuple[Unserved, ...]:
    """Explain why customers are on no route: because of the limits of vehicles, or although there is a place for them.

    Parameters
    ----------
    instance
        The problem.
    solution
        Routes over its customers.
    most
        How many customers to explain, in order; all if None.
    """
    customers = solution.unserved(instance)[:most]
    if not customers:
        return ()
    if instance.rules or (instance.has_times and not instance.knows_times):
        return tuple(Unserved(customer, "no route visits it") for customer in customers)
    candidates = list(list_candidates(instance, solution))
    found = [find_lacks(instance, candidate, np.array(customers)).tolist() for candidate in candidates]
    lacks = {
        customer: list(map(Lack, column)) for customer, column in zip(customers, zip(*found, strict=True), strict=True)
    }
    alone = explain_alone(instance, [customer for customer in customers if Lack.NOTHING not in lacks[customer]])
    return tuple(
        Unserved(
            customer,
            f"no vehicle can serve it, even alone: {alone[customer]}"
            if customer in alone
            else _explain(instance, customer, candidates, lacks[customer]),
        )
        for customer in customers
    )


def _explain(instance: Instance, customer: int, candidates: Sequence[Candidate], lacks: Sequence[Lack]) -> str:
    """Explain by what each vehicle lacks."""
    counts: Counter[Lack] = Counter()
    free = 0
    for candidate, lack in zip(candidates, lacks, strict=True):
        if lack == Lack.NOTHING:
            return f"the plan leaves it out, although {_call(instance, candidate)} could serve it"
        counts[lack] += candidate.count
        if lack == Lack.ROOM:
            free = max(free, candidate.free(instance))
    demand = instance.shown_demand(int(instance.demands[customer]))
    words = {
        Lack.ROOM: f"too little room (its demand is {demand}, at most {instance.shown_demand(free)} is free)",
        Lack.STOPS: "no stop left",
        Lack.DISTANCE: "too little distance left",
        Lack.TIME: "too little time",
    }
    total = counts.total()
    if len(counts) == 1:
        everyone = {1: "the only vehicle has", 2: "both vehicles have"}.get(total, f"all {total} vehicles have")
        return f"{everyone} {words[next(iter(counts))]}"
    parts = [f"{number} {'has' if number == 1 else 'have'} {words[lack]}" for lack, number in sorted(counts.items())]
    return f"of {total} vehicles, {', '.join(parts[:-1])} and {parts[-1]}"


def _call(instance: Instance, candidate: Candidate) -> str:
    if candidate.route is not None:
        return f"route {candidate.route}"
    name = instance.fleet[candidate.kind].name
    return f"another vehicle ({show_text(name, LONGEST_ITEM)})" if name else "another vehicle"
