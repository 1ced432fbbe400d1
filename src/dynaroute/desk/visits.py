"""Who serves each customer of a plan and when, and the figures of the plan as a whole."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from dynaroute.base.decimals import plain_number
from dynaroute.base.display import show_text
from dynaroute.base.errors import OptionError, Where
from dynaroute.plans.files.table import find_by_id
from dynaroute.plans.plan import Plan
from dynaroute.problem.fleet import name_vehicles
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import RouteSchedule, lateness_of, schedule_route


@dataclass(frozen=True)
class Visit:
    """One customer of a plan.

    Attributes
    ----------
    vehicle
        The vehicle, named as in the timetable: the second Sprinter is "Sprinter 2".
    route, stop
        Its route and its stop on it, from 1; other stops, such as reloads, count too.
    arrival
        Seconds; None if travel times are unknown.
    """

    vehicle: str
    route: int
    stop: int
    arrival: float | None


@dataclass(frozen=True)
class PlanFigures:
    """What a whole plan comes to.

    Attributes
    ----------
    cost, length
        In the unit of the plan; the cost is the length unless anything has a price.
    hours
        From departure to end, of all vehicles together; None if travel times are unknown.
    vehicles
        How many drive.
    late, lateness
        Customers who are served after their window, and by how many seconds together.
    unserved
        Ids of customers on no route.
    """

    cost: float
    length: float
    hours: float | None
    vehicles: int
    late: int
    lateness: float
    unserved: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return it as in JSON."""
        return {**asdict(self), "cost": plain_number(self.cost), "length": plain_number(self.length)}


def list_vehicles(plan: Plan) -> list[str]:
    """Name the vehicle of each route as the timetable does."""
    instance = plan.instance
    return name_vehicles(instance.fleet, plan.solution.vehicle_types(instance))


def list_schedules(instance: Instance, solution: Solution) -> list[RouteSchedule | None]:
    """Compute the times of each route; None if travel times are unknown."""
    kinds = solution.vehicle_types(instance)
    if not instance.knows_times:
        return [None] * len(kinds)
    return [schedule_route(instance, route, kind) for route, kind in zip(solution.routes, kinds, strict=True)]


def list_visits(plan: Plan) -> dict[str, Visit]:
    """List the customers of all routes by their ids."""
    instance, solution = plan.instance, plan.solution
    names = list_vehicles(plan)
    visits: dict[str, Visit] = {}
    for route, (stops, name, times) in enumerate(
        zip(solution.routes, names, list_schedules(instance, solution), strict=True), start=1
    ):
        for stop, node in enumerate(stops, start=1):
            if 0 < node <= instance.size:
                arrival = None if times is None else times.stops[stop - 1].arrival
                visits[instance.customer_name(node)] = Visit(name, route, stop, arrival)
    return visits


def list_orders(plan: Plan) -> dict[str, tuple[str, ...]]:
    """List the stops of each vehicle in order, by its name."""
    routes = zip(list_vehicles(plan), plan.solution.routes, strict=True)
    return {name: tuple(map(plan.instance.customer_name, stops)) for name, stops in routes}


def figure_plan(plan: Plan) -> PlanFigures:
    """Add up what a plan comes to."""
    instance, solution = plan.instance, plan.solution
    schedules = [times for times in list_schedules(instance, solution) if times is not None]
    late = [seconds for times in schedules for seconds in lateness_of(instance, times)]
    return PlanFigures(
        cost=plan.cost,
        length=solution.length(instance),
        hours=math.fsum(times.duration for times in schedules) / 3600 if instance.knows_times else None,
        vehicles=len(solution.routes),
        late=sum(seconds > 0 for seconds in late),
        lateness=math.fsum(late),
        unserved=tuple(map(instance.customer_name, solution.unserved(instance))),
    )


def find_customer(instance: Instance, name: str, field: str = "id") -> int:
    """Find a customer by the id in the file.

    Parameters
    ----------
    instance
        The problem.
    name
        The id; a number where the file has none.
    field
        What to name in the error.

    Raises
    ------
    OptionError
        If there is no such customer.
    """
    customer = find_by_id(instance)(name.strip())
    if customer is None:
        raise OptionError(
            f"there is no customer {show_text(name, 40)!r} in this plan.",
            where=Where(field=field),
            remedy="Write the id as the plan does; dynaroute check PLAN --timetable shows all.",
        )
    return customer


def describe_faults(instance: Instance, solution: Solution) -> tuple[str, ...]:
    """Say what is wrong with routes, by the independent checker; nothing for a right plan."""
    return tuple(found.message for found in check(instance, Solution(solution.routes, vehicles=solution.vehicles)))
