"""plan.json: an instance and its routes in one document."""

from __future__ import annotations

import json

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.json.document import load_json, require_object
from dynaroute.formats.json.instance import instance_to_json, plan_instance_from_json
from dynaroute.formats.json.solution import solution_from_json, solution_to_json
from dynaroute.plans.files.ways import list_ways, read_ways
from dynaroute.plans.judging import refuse_hidden_faults
from dynaroute.plans.plan import Plan
from dynaroute.problem.solution import check
from dynaroute.problem.statements import OPEN_KINDS


def parse_json_plan(text: str, *, source: str = "") -> Plan:
    """Read a plan.

    Parameters
    ----------
    text
        A JSON document: {"instance": {...}, "routes": [[...], ...]}.
    source
        The file's path, for warnings.

    Raises
    ------
    PlanError
        If it is wrong in ways that it does not state itself.
    DynarouteError
        If it has another shape, or is not a valid problem.
    """
    return plan_from_json(load_json(text), source=source)


def plan_from_json(data: object, *, source: str = "") -> Plan:
    """Make a plan from decoded JSON, and judge it."""
    document = require_object(data, "")
    if not isinstance(document.get("instance"), dict) or "routes" not in document:
        raise FormatError(
            "this is not a plan: it does not contain both an instance and routes.",
            where=Where(field="routes" if "routes" not in document else "instance"),
            remedy="Create one: dynaroute solve INSTANCE --out plan.json.",
        )
    solution = solution_from_json(document, source=source)
    instance = plan_instance_from_json(document, source=source)
    refuse_hidden_faults(instance, solution, source)
    return Plan(instance, solution, read_ways(document.get("ways"), instance))


def format_json_plan(plan: Plan) -> str:
    """Write a plan as a JSON object, with "instance" and the keys of a solution."""
    return json.dumps(plan_to_json(plan), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def plan_to_json(plan: Plan) -> dict[str, object]:
    """Convert a plan to plain data for JSON."""
    instance, solution = plan.instance, plan.solution
    cost = solution.stated_cost if solution.stated_cost is not None else plan.cost
    return {
        "instance": instance_to_json(instance),
        **solution_to_json(solution),
        "cost": plain_number(cost),
        "unit": instance.unit,
        "ids": [list(map(instance.customer_name, route)) for route in solution.routes],
        "loads": [plain_number(route.load) for route in plan.routes],
        **({"unserved": unserved} if (unserved := solution.unserved(instance)) else {}),
        **_describe_violations(plan),
        **_describe_times(plan),
        "route_costs": [plain_number(route.length) for route in plan.routes],
        **({"ways": list_ways(plan.ways)} if plan.ways else {}),
    }


def _describe_times(plan: Plan) -> dict[str, object]:
    if not plan.has_times:
        return {}
    return {"arrivals": [[stop.arrival for stop in route.stops] for route in plan.routes]}


def _describe_violations(plan: Plan) -> dict[str, object]:
    """State what is wrong with the routes, so that the plan is accepted when it is read again."""
    if plan.instance.has_times and not plan.instance.knows_times:
        return {}  # nobody can say
    violations = [found.to_json() for found in check(plan.instance, plan.solution) if found.kind in OPEN_KINDS]
    return {"violations": violations} if violations else {}
