"""``dynaroute info``: show what is in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import InstanceError
from dynaroute.cli.shared.contents import holds_plan, holds_solution
from dynaroute.cli.shared.options import JsonOption, argument
from dynaroute.cli.shared.output import count_of, print_facts, print_json, show_counts, show_length
from dynaroute.cli.shared.tables import TableOptions, takes_tables
from dynaroute.problem.rules import RULES

if TYPE_CHECKING:
    from dynaroute.plans import Plan
    from dynaroute.problem.fleet import VehicleType
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

Document = dict[str, Any]

DISTANCES = {"euclidean": "straight lines", "great_circle": "metres on the globe", "matrix": "from a matrix"}
ROUNDINGS = {"none": "not rounded", "nearest": "rounded to the nearest integer", "up": "rounded up"}


@takes_tables
def info(
    file: Annotated[Path, argument("FILE", "An instance, a set of instances, a solution, or a plan.")],
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
    demands = _find_range(instance.shown_demand(demand) for demand in _first_amounts(instance))
    total = plain_number(instance.shown_demand(sum(_first_amounts(instance))))
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


def _first_amounts(instance: Instance) -> list[int]:
    """The demands of all customers, in the first dimension of loads."""
    amounts: list[int] = instance.demands[1:].reshape(instance.size, -1)[:, 0].tolist()
    return amounts


def _choose_model(instance: Instance) -> tuple[str, str]:
    """Return the model that would build first routes, and why."""
    from dynaroute.weights.choice import choose_model

    if not instance.is_plain:
        return "none", "policies only handle capacities; a search starts from insertion"
    choice = choose_model(instance)
    return choice.name, choice.reason


def _describe_plan(plan: Plan) -> tuple[Document, list[tuple[str, str]]]:
    document, facts = _describe_instance(plan.instance)
    cost = show_length(plan.cost, plan.instance.cost_unit)
    routes = {"routes": len(plan.routes), "cost": plain_number(plan.cost), "unit": plan.instance.unit}
    facts = [("kind", "plan: an instance and its routes (dynaroute check verifies them)"), *facts[1:]]
    return {**document, "kind": "plan", **routes}, [*facts, ("plan", f"{len(plan.routes)} routes, {cost}")]


def _describe_set(instances: Sequence[Instance]) -> tuple[Document, list[tuple[str, str]]]:
    ranges = {
        "customers": _find_range(instance.size for instance in instances),
        "capacity": _find_range(instance.shown_demand(instance.capacity) for instance in instances),
        "demand": _find_range(
            instance.shown_demand(extreme(_first_amounts(instance))) for instance in instances for extreme in (min, max)
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


def describe_fleet(instance: Instance) -> dict[str, Any]:
    """Return vehicles and times as plain data; for a plain instance, that the fleet is unlimited."""
    from dynaroute.formats.json.fleet import vehicles_to_json

    document: dict[str, Any] = {"fleet": count_vehicles(instance)}
    if instance.vehicles is not None:
        document["vehicles"] = vehicles_to_json(instance)
    if instance.windows is not None:
        document["windows"] = _count_windows(instance)
    if instance.service is not None:
        document["service"] = {"total": plain_number(float(instance.service.sum()))}
    if instance.knows_times:
        document["times"] = "matrix" if instance.speed is None else {"speed": plain_number(instance.speed)}
    if instance.rules:
        document["rules"] = sorted(instance.rules)
    if not instance.is_symmetric:
        document["symmetric"] = False
    if (reason := _find_impossibility(instance)) is not None:
        document["impossible"] = reason
    return document


def list_fleet_facts(instance: Instance) -> list[tuple[str, str]]:
    """Describe them in words, one line each."""
    facts = [("vehicles", _describe_type(instance, kind)) for kind in instance.vehicles or ()]
    if instance.windows is not None:
        opening, closing = (instance.shown_time(bound) for bound in instance.windows[0].reshape(-1, 2)[0].tolist())
        customers = f"{_count_windows(instance)} of {count_of(instance.size, 'customer')}"
        facts.append(("windows", f"{customers}; the depot from {opening} to {closing}"))
    if instance.service is not None:
        facts.append(("service", f"{instance.shown_duration(float(instance.service.sum()))} in total"))
    if instance.knows_times:
        facts.append(
            ("times", "from a matrix" if instance.speed is None else _describe_speed(instance, instance.speed))
        )
    if instance.rules:
        facts.append(("rules", ", ".join(RULES[name] for name in sorted(instance.rules))))
    if not instance.is_symmetric:
        facts.append(("roads", "the two directions of a leg may differ"))
    if (reason := _find_impossibility(instance)) is not None:
        facts.append(("impossible", reason))
    return facts


def _describe_type(instance: Instance, kind: VehicleType) -> str:
    limits = [
        "any number" if kind.count is None else str(kind.count),
        f"capacity {instance.shown_amounts(kind.capacities)}",
        "" if kind.max_duration is None else f"{instance.shown_duration(kind.max_duration)} at most",
        "" if kind.max_distance is None else f"length {show_length(kind.max_distance, instance.unit)} at most",
        "" if kind.shift is None else f"{instance.shown_time(kind.shift[0])} to {instance.shown_time(kind.shift[1])}",
        "" if kind.max_stops is None else f"{count_of(kind.max_stops, 'stop')} at most",
        "ends at its last customer" if kind.end == "open" else "",
        f"starts at {kind.start}" if kind.start != "depot" else "",
        f"ends at {kind.end}" if kind.end not in (kind.start, "open") else "",
        *_describe_rules(instance, kind),
    ]
    named = f"{kind.name}: " if kind.name else ""
    return named + ", ".join(filter(None, limits))


def _describe_rules(instance: Instance, kind: VehicleType) -> list[str]:
    """Prices, breaks, reloads and skills of a type in words."""
    per_distance = kind.distance_cost * (1000 if instance.unit == "m" else 1)
    return [
        f"at least {kind.min_vehicles} used" if kind.min_vehicles else "",
        f"{kind.fixed_cost:g} each" if kind.fixed_cost else "",
        f"{per_distance:g} per {'km' if instance.unit == 'm' else 'unit of distance'}" if kind.is_priced else "",
        f"{3600 * kind.time_cost:g} per hour" if kind.time_cost else "",
        "" if kind.overtime is None else f"overtime after {instance.shown_duration(kind.overtime.after)}",
        "" if kind.max_driving is None else f"{instance.shown_duration(kind.max_driving)} of driving at most",
        count_of(len(kind.breaks), "break") if kind.breaks else "",
        f"loads again at {', '.join(kind.reload)}" if kind.reload else "",
        f"skills {', '.join(sorted(kind.skills))}" if kind.skills else "",
    ]


def _describe_speed(instance: Instance, speed: float) -> str:
    if instance.unit == "m":
        return f"at {speed * 3.6:g} km/h"
    return "as long as distances" if speed == 1 else f"at {speed:g} units of distance a second"


def count_vehicles(instance: Instance) -> str:
    """Describe the number of vehicles."""
    counts = [kind.count for kind in instance.fleet]
    known = [count for count in counts if count is not None]
    return count_of(sum(known), "vehicle") if len(known) == len(counts) else "unlimited"


def _count_windows(instance: Instance) -> int:
    if instance.windows is None:
        return 0
    return sum(bool(instance.windows_of(customer)) for customer in range(1, instance.size + 1))


def _find_impossibility(instance: Instance) -> str | None:
    from dynaroute.problem.impossible import refuse_impossible

    try:
        refuse_impossible(instance)
    except InstanceError as error:
        return error.message
    return None
