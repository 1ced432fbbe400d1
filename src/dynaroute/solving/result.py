"""Result: a solution and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from dynaroute.base.decimals import plain_number
from dynaroute.base.display import show_length
from dynaroute.problem.driving import split_trips
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import Violation
from dynaroute.problem.solution import Solution, check, make_timetable
from dynaroute.problem.timetable import list_breaks, measure_spread
from dynaroute.problem.unserved import list_reasons
from dynaroute.solving.options import Decoding, Improve, Limit

if TYPE_CHECKING:
    import pandas

    from dynaroute.plans.plan import Plan

StartKind = Literal["savings", "insertion", "policy", "given"]

_WORDS: dict[Improve, str] = {
    "none": "",
    "2opt": "2opt",
    "local": "local search",
    "search": "search",
    "active": "active search",
}


@dataclass(frozen=True)
class Start:
    """How the first routes were built.

    Attributes
    ----------
    kind
        By savings, by insertion (if more than capacity limits routes), by a policy, or given by the user.
    model, decoding
        Name of the policy, and its decoding.
    """

    kind: StartKind
    model: str | None = None
    decoding: Decoding | None = None

    @classmethod
    def by_policy(cls, model: str, decoding: Decoding) -> Start:
        """Describe routes built by a policy."""
        return cls("policy", model, decoding)

    def __str__(self) -> str:
        if self.kind == "policy":
            return str(self.decoding)
        return "start" if self.kind == "given" else self.kind


SAVINGS, INSERTION, GIVEN = Start("savings"), Start("insertion"), Start("given")


@dataclass(frozen=True)
class Result:
    """A solution and how it was found.

    Attributes
    ----------
    instance, solution
        The problem and its routes.
    cost
        Total length in the instance's own units and rounding.
    seconds
        Time taken; for instances solved together, an equal share.
    start
        How the first routes were built.
    improver
        What improved them: "2opt", "local" or "search"; None if nothing did.
    limit
        Limits of the search; None without one.
    messages
        Notes for the user about choices that were made.
    trace
        Cost over time: (seconds since the instance was started, cost), from the first routes on. Empty without
        improvement.
    iterations
        Iterations of the search; None without one.
    is_interrupted
        Whether the search was ended early, by Ctrl-C or `is_cancelled`.
    """

    instance: Instance
    solution: Solution
    cost: float
    seconds: float
    start: Start
    improver: Improve | None = None
    limit: Limit | None = None
    messages: tuple[str, ...] = ()
    trace: tuple[tuple[float, float], ...] = ()
    iterations: int | None = None
    is_interrupted: bool = False

    def __repr__(self) -> str:
        name = f"{self.instance.name!r}, " if self.instance.name else ""
        routes = f"{len(self.solution.routes)} routes"
        return f"Result({name}cost {self._show(self.cost)}, {routes}, {self.model_and_method}, {self.seconds:.2f} s)"

    def _repr_html_(self) -> str:
        return self.instance.sketch(self.solution.routes, repr(self))._repr_html_()

    @property
    def model(self) -> str | None:
        """Name of the policy that built the first routes, or None."""
        return self.start.model

    @property
    def method(self) -> str:
        """How routes were built and improved: "greedy x8 + 2opt", "savings + search 2 s"."""
        return describe_method(self.start, self.improver, self.limit)

    @property
    def model_and_method(self) -> str:
        """Model and method: "amd-20 (greedy + 2opt)"."""
        return self.method if self.model is None else f"{self.model} ({self.method})"

    @property
    def first_cost(self) -> float:
        """Cost of the first routes, before improvement."""
        return self.trace[0][1] if self.trace else self.cost

    @property
    def improvement(self) -> str:
        """A sentence on how the cost improved; empty without improvement."""
        if not self.trace:
            return ""
        improver, before, after = _describe_improver(self.improver, self.limit), self.first_cost, self.cost
        if after < before:
            change = f"{self._show(before)} -> {self._show(after)} ({100 * (after / before - 1):.2f} %)"
        elif after > before:  # if the number of routes comes first
            change = f"{self._show(before)} -> {self._show(after)}, with fewer vehicles"
        else:
            change = f"no improvement of {self._show(before)}"
        is_counted = self.iterations is not None and self.limit is not None and self.limit.seconds is not None
        return f"{improver}: {change} in {self.iterations:,} iterations." if is_counted else f"{improver}: {change}."

    def _show(self, cost: float) -> str:
        return show_length(cost, self.instance.cost_unit)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """What is wrong with the routes, if no feasible plan was found; always empty for a plain instance."""
        return () if self.instance.is_plain else tuple(check(self.instance, self.solution))

    @property
    def unserved(self) -> list[int]:
        """Customers on no route, because no plan was found that serves them."""
        return self.solution.unserved(self.instance)

    def stops(self) -> pandas.DataFrame:
        """Return a DataFrame with a row per stop; it needs pandas. Times are Timedelta since midnight."""
        from dynaroute.plans.frames import list_stops

        return list_stops(self._make_plan())

    def routes(self) -> pandas.DataFrame:
        """Return a DataFrame with a row per route; it needs pandas."""
        from dynaroute.plans.frames import list_routes

        return list_routes(self._make_plan())

    def map(self) -> Any:
        """Return a map for notebooks: folium's, if it is installed and stops are in degrees, else a page of ours."""
        from dynaroute.plans.frames import make_map

        return make_map(self._make_plan())

    def _make_plan(self) -> Plan:
        from dynaroute.plans.plan import Plan

        return Plan(self.instance, self.solution)

    def _measure_spread(self) -> float:
        """Measure how far a stop is from the centre of its route on average."""
        instance, routes = self.instance, self.solution.routes
        kinds = [instance.fleet[kind] for kind in self.solution.vehicle_types(instance)]
        stops = sum(0 < node <= instance.size for route in routes for node in route)
        spreads = (measure_spread(instance, route, kind) for route, kind in zip(routes, kinds, strict=True))
        return sum(spreads) / max(stops, 1)

    def to_json(self) -> dict[str, Any]:
        """Return the keys of ``dynaroute solve --json`` and ``/v1/solve``; loads are in the user's unit.

        ``hours`` is null if travel times are unknown, and ``money`` without prices. ``left_out`` lists customers on no
        route, with a reason for each vehicle; ``breaks`` are a list per route, and ``trips`` a number per route.
        With vehicles or times there are also ``vehicles`` (each route's vehicle type, by name or by number from 0),
        ``unserved`` and, if travel times are known, ``arrivals`` in seconds, one list per route. With a price of
        compact routes ``spread`` is the mean distance of a stop from the centre of its route.
        """
        instance, solution = self.instance, self.solution
        document: dict[str, Any] = {
            "instance": instance.name,
            "cost": plain_number(self.cost),
            "routes": [list(route) for route in solution.routes],
            "loads": [plain_number(instance.shown_demand(load)) for load in solution.loads(instance)],
            "seconds": self.seconds,
            "method": self.method,
            "model": self.model,
            "ids": [list(map(instance.customer_name, route)) for route in solution.routes],
            "unit": instance.unit,
        }
        document |= {"length": plain_number(solution.length(instance)), "hours": None}
        document["money"] = plain_number(self.cost) if instance.is_priced else None
        document["left_out"] = [
            {"id": instance.customer_name(customer), "reasons": list(reasons)}
            for customer, reasons in list_reasons(instance, solution).items()
        ]
        document["breaks"] = [[] for _ in solution.routes]
        document["trips"] = [len(split_trips(instance, route)) for route in solution.routes]
        if instance.is_plain and not instance.parts_of_fleet:
            return document
        document["vehicles"] = [instance.fleet[kind].name or kind for kind in solution.vehicle_types(instance)]
        document["unserved"] = self.unserved
        if instance.compactness > 0:
            document["spread"] = plain_number(round(self._measure_spread(), 9))
        if instance.knows_times:
            timetable = make_timetable(instance, solution)
            document["arrivals"] = [[plain_number(stop.arrival) for stop in times.stops] for times in timetable]
            document["hours"] = plain_number(round(sum(times.duration for times in timetable) / 3600, 6))
            document["breaks"] = [list_breaks(times) for times in timetable]
        return document


def describe_method(start: Start, improver: Improve | None, limit: Limit | None) -> str:
    """Describe how routes were built and improved."""
    improvement = _describe_improver(improver, limit)
    return f"{start} + {improvement}" if improvement else f"{start}"


def _describe_improver(improver: Improve | None, limit: Limit | None) -> str:
    words = _WORDS[improver or "none"]
    return words if limit is None else f"{words} {limit}"
