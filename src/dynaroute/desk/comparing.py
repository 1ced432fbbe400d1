"""What is different between two plans: customers with another vehicle or time, and the figures of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from dynaroute.desk.visits import PlanFigures, Visit, figure_plan, list_vehicles, list_visits
from dynaroute.plans.plan import Plan

_HALF_A_MINUTE = 30.0


@dataclass(frozen=True)
class StopChange:
    """One customer in two plans.

    Attributes
    ----------
    id
        The customer.
    before, after
        Who serves it and when; None if the plan does not.
    is_moved
        Whether another vehicle serves it than before.
    """

    id: str
    before: Visit | None
    after: Visit | None
    is_moved: bool = False

    @property
    def seconds(self) -> float | None:
        """By how much it is reached later than before; None if that is unknown."""
        if self.before is None or self.after is None or self.before.arrival is None or self.after.arrival is None:
            return None
        return self.after.arrival - self.before.arrival

    @property
    def is_different(self) -> bool:
        """Whether it moved, came, went, or is reached at another minute."""
        has_come_or_gone = (self.before is None) != (self.after is None)
        return self.is_moved or has_come_or_gone or abs(self.seconds or 0.0) >= _HALF_A_MINUTE

    def to_json(self) -> dict[str, object]:
        """Return it as in JSON."""
        return {
            "id": self.id,
            "before": None if self.before is None else asdict(self.before),
            "after": None if self.after is None else asdict(self.after),
            "moved": self.is_moved,
            "minutes": None if self.seconds is None else round(self.seconds / 60, 3),
        }


@dataclass(frozen=True)
class PlanComparison:
    """Two plans side by side.

    Attributes
    ----------
    before, after
        The figures of each.
    unit, cost_unit
        Of lengths and costs: "m", or None.
    changes
        Every customer of either plan, in the order of the first.
    """

    before: PlanFigures
    after: PlanFigures
    unit: str | None
    cost_unit: str | None
    changes: tuple[StopChange, ...]

    @property
    def moved(self) -> tuple[StopChange, ...]:
        """Customers whom another vehicle serves than before."""
        return tuple(change for change in self.changes if change.is_moved)


def compare(before: Plan, after: Plan) -> PlanComparison:
    """Compare two plans, whose customers are matched by their ids.

    Two routes count as the same vehicle's if the types have the same name and they share the most customers, so that
    the order of routes does not matter.

    Parameters
    ----------
    before, after
        The plans.
    """
    return _compare(before, after, _match_routes(before, after))


def compare_by_name(before: Plan, after: Plan) -> PlanComparison:
    """Compare two plans in which every vehicle has the same name.

    Parameters
    ----------
    before, after
        The plans.
    """
    names, later = list_vehicles(before), list_vehicles(after)
    partners = {names.index(name) + 1: later.index(name) + 1 for name in names if name in later}
    return _compare(before, after, partners)


def _compare(before: Plan, after: Plan, partners: dict[int, int]) -> PlanComparison:
    visits, others = list_visits(before), list_visits(after)
    ids = [name for plan in (before, after) for name in map(plan.instance.customer_name, _customers(plan))]
    changes = [
        StopChange(name, visits.get(name), others.get(name), _is_moved(visits.get(name), others.get(name), partners))
        for name in dict.fromkeys(ids)
    ]
    instance = before.instance
    return PlanComparison(figure_plan(before), figure_plan(after), instance.unit, instance.cost_unit, tuple(changes))


def comparison_to_json(comparison: PlanComparison) -> dict[str, object]:
    """Return the keys of ``dynaroute compare --json`` and ``/v1/compare``."""
    return {
        "before": comparison.before.to_json(),
        "after": comparison.after.to_json(),
        "unit": comparison.unit,
        "moved": len(comparison.moved),
        "stops": [change.to_json() for change in comparison.changes],
    }


def _customers(plan: Plan) -> range:
    return range(1, plan.instance.size + 1)


def _is_moved(before: Visit | None, after: Visit | None, partners: dict[int, int]) -> bool:
    return before is not None and after is not None and partners.get(before.route) != after.route


def _match_routes(before: Plan, after: Plan) -> dict[int, int]:
    """For each route of the one plan, the route of the other that is the same vehicle's, both from 1."""
    sets, others = _list_ids(before), _list_ids(after)
    called, called_later = list_vehicles(before), list_vehicles(after)
    types, later_types = _list_types(before), _list_types(after)
    pairs = [
        (-len(stops & later), called[route] != called_later[other], route, other)
        for route, stops in enumerate(sets)
        for other, later in enumerate(others)
        if types[route] == later_types[other] or called[route] == called_later[other]
    ]
    found: dict[int, int] = {}
    for _, _, route, other in sorted(pairs):
        if route + 1 not in found and other + 1 not in found.values():
            found[route + 1] = other + 1
    return found


def _list_ids(plan: Plan) -> list[set[str]]:
    instance = plan.instance
    return [
        {instance.customer_name(node) for node in route if 0 < node <= instance.size} for route in plan.solution.routes
    ]


def _list_types(plan: Plan) -> Sequence[str]:
    return [plan.instance.fleet[kind].name for kind in plan.solution.vehicle_types(plan.instance)]
