"""``dynaroute info``: show what is in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaroute.base.decimals import plain_number
from dynaroute.base.display import show_length
from dynaroute.cli.shared.contents import holds_plan, holds_solution
from dynaroute.cli.shared.fleet_facts import count_vehicles, describe_fleet, list_fleet_facts
from dynaroute.cli.shared.options import JsonOption
from dynaroute.cli.shared.output import print_facts, print_json, show_counts
from dynaroute.cli.shared.tables import TableOptions, takes_tables

if TYPE_CHECKING:
    from dynaroute.plans import Plan
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

Document = dict[str, Any]

DISTANCES = {"euclidean": "straight lines", "great_circle": "metres on the globe", "matrix": "from a matrix"}
ROUNDINGS = {"none": "not rounded", "nearest": "rounded to the nearest integer", "up": "rounded up"}


@takes_tables
def info(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", readable=False, help="An instance, a set of instances, a solution, or a plan."),
    ],
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Show what is in a file: an instance, a set, a solution, or a plan.

    For a set it shows the number of instances, their sizes and capacities. It
    also says which model --model auto would choose, and why.

    Example:
      dynaroute info X-n101-k25.vrp
    """
    from dynaroute.formats import read_solution
    from dynaroute.plans import read_plan

    if holds_plan(file):
        document, facts = _describe_plan(read_plan(file))
    elif holds_solution(file):
        document, facts = _describe_solution(read_solution(file))
    elif len(instances := tables.read_set(file)) == 1:
        document, facts = _describe_instance(instances[0])
    else:
        document, facts = _describe_set(instances)
    if json:
        print_json({"file": str(file), **document})
    else:
        print_facts(str(file), facts)


def _describe_instance(instance: Instance) -> tuple[Document, list[tuple[str, str]]]:
    model, reason = _choose_model(instance)
    demands = _find_range(instance.shown_demand(demand) for demand in instance.demands[1:].tolist())
    total = plain_number(instance.shown_demand(int(instance.demands.sum())))
    document: Document = {
        "kind": "instance",
        "name": instance.name,
        "customers": instance.size,
        "named_customers": instance.customer_names is not None,
        "capacity": plain_number(instance.shown_demand(instance.capacity)),
        "demand": {**demands, "total": total},
        "minimum_routes": instance.minimum_routes,
        **describe_fleet(instance),
        "distances": "matrix" if instance.distances is not None else instance.metric,
        "rounding": instance.rounding,
        "bounds": _find_bounds(instance),
        "model": {"name": model, "reason": reason},
    }
    facts = [
        ("kind", "instance"),
        ("name", instance.name or "none"),
        ("customers", f"{instance.size}, with names" if document["named_customers"] else f"{instance.size}"),
        ("capacity", f"{document['capacity']}"),
        ("demand", f"{_in_words(demands)}, {total} in total"),
        ("routes", f"at least {instance.minimum_routes}; the fleet is {document['fleet']}"),
        ("distances", f"{DISTANCES[document['distances']]}, {ROUNDINGS[instance.rounding]}"),
        *list_fleet_facts(instance),
    ]
    facts += [(axis, _in_words(limits)) for axis, limits in (document["bounds"] or {}).items()]
    facts.append(("model", f"{model} ({reason})"))
    return document, facts


def _choose_model(instance: Instance) -> tuple[str, str]:
    """Return the model that would build first routes, and why."""
    from dynaroute.weights.choice import choose_model

    if not instance.is_plain:
        return "none", "policies only handle capacities; a search starts from insertion"
    choice = choose_model(instance)
    return choice.name, choice.reason


def _describe_plan(plan: Plan) -> tuple[Document, list[tuple[str, str]]]:
    document, facts = _describe_instance(plan.instance)
    cost = show_length(plan.cost, plan.instance.unit)
    routes = {"routes": len(plan.routes), "cost": plain_number(plan.cost), "unit": plan.instance.unit}
    facts = [("kind", "plan: an instance and its routes (dynaroute check verifies them)"), *facts[1:]]
    return {**document, "kind": "plan", **routes}, [*facts, ("plan", f"{len(plan.routes)} routes, {cost}")]


def _describe_set(instances: Sequence[Instance]) -> tuple[Document, list[tuple[str, str]]]:
    ranges = {
        "customers": _find_range(instance.size for instance in instances),
        "capacity": _find_range(instance.shown_demand(instance.capacity) for instance in instances),
        "demand": _find_range(
            instance.shown_demand(extreme(instance.demands[1:])) for instance in instances for extreme in (min, max)
        ),
        "minimum_routes": _find_range(instance.minimum_routes for instance in instances),
    }
    models = dict(Counter(_choose_model(instance)[0] for instance in instances))
    fleets = {count_vehicles(instance) for instance in instances}
    fleet = fleets.pop() if len(fleets) == 1 else "limited in some"
    document = {"kind": "set", "count": len(instances), **ranges, "fleet": fleet, "models": models}
    facts = [
        ("kind", f"set of {len(instances)} instances"),
        ("customers", _in_words(ranges["customers"])),
        ("capacity", _in_words(ranges["capacity"])),
        ("demand", _in_words(ranges["demand"])),
        ("routes", f"at least {_in_words(ranges['minimum_routes'])}; the fleet is {fleet}"),
        ("models", show_counts(models)),
    ]
    return document, facts


def _describe_solution(solution: Solution) -> tuple[Document, list[tuple[str, str]]]:
    visits = sum(map(len, solution.routes))
    document: Document = {
        "kind": "solution",
        "routes": len(solution.routes),
        "visits": visits,
        "stated_cost": None if solution.stated_cost is None else plain_number(solution.stated_cost),
    }
    facts = [
        ("kind", "solution (dynaroute check verifies it)"),
        ("routes", f"{len(solution.routes)}"),
        ("visits", f"{visits}"),
        ("cost", "not stated" if solution.stated_cost is None else f"{document['stated_cost']}, as stated"),
    ]
    return document, facts


def _find_bounds(instance: Instance) -> Document | None:
    if instance.coordinates is None:
        return None
    axes = ("latitude", "longitude") if instance.metric == "great_circle" else ("x", "y")
    return {axis: _find_range(values) for axis, values in zip(axes, instance.coordinates.T.tolist(), strict=True)}


def _find_range(values: Iterable[int | float | Decimal]) -> Document:
    numbers = list(values)
    return {"smallest": plain_number(min(numbers)), "largest": plain_number(max(numbers))}


def _in_words(limits: Document) -> str:
    smallest, largest = limits["smallest"], limits["largest"]
    return f"{smallest:.12g}" if smallest == largest else f"{smallest:.12g} to {largest:.12g}"
