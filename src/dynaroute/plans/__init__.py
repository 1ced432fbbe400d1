"""Plans: an instance with its routes, as files for drivers, maps and spreadsheets, and functions that change a plan.

>>> plan = Plan(instance, solution)
>>> write_plan(plan, "drivers.pdf")

Begin with `plan`; `write` lists the formats. It may import `base`, `problem`, `roads`, `formats` and `plotting`.
"""

from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop
from dynaroute.plans.read import ROUTE_SUFFIXES, read_plan, read_routes
from dynaroute.plans.write import PLAN_SUFFIXES, write_plan, write_sheets

__all__ = [
    "PLAN_SUFFIXES",
    "ROUTE_SUFFIXES",
    "Plan",
    "PlannedRoute",
    "PlannedStop",
    "read_plan",
    "read_routes",
    "write_plan",
    "write_sheets",
]
