"""What a file states about its routes, besides the routes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple, TypeVar, get_args

from dynaroute.base.vocabulary import OpenKind, ViolationKind

Item = TypeVar("Item")

OPEN_KINDS: tuple[OpenKind, ...] = get_args(OpenKind)


class StatedViolation(NamedTuple):
    """A violation that a plan states itself."""

    kind: str
    route: int | None
    customer: int | None


@dataclass(frozen=True)
class Statements:
    """What a file states about its routes; `dynaroute.check` verifies it.

    Attributes
    ----------
    ids
        The routes with the customers' ids.
    loads
        Load of each route, in the user's unit.
    route_costs
        Length of each route.
    length, money
        Length of all routes, and what they cost where anything has a price.
    unserved
        Customers on no route.
    violations
        What the file itself says is wrong with the routes.
    waiting
        New customers that known routes leave to the search; no file states this.
    depots
        How many depots come before the first customer in the numbers of the routes.
    """

    ids: tuple[tuple[str, ...], ...] | None = None
    loads: tuple[Decimal, ...] | None = None
    route_costs: tuple[float, ...] | None = None
    length: float | None = None
    money: float | None = None
    unserved: tuple[int, ...] | None = None
    violations: frozenset[StatedViolation] = frozenset()
    waiting: tuple[int, ...] = ()
    depots: int | None = None

    def admits(self, kind: ViolationKind, route: int | None, customer: int | None) -> bool:
        """Whether the file states this violation itself."""
        if kind in ("missing", "group") and route is None and customer in (self.unserved or ()):
            return True
        return kind in OPEN_KINDS and (kind, route, customer) in self.violations

    def of_driven_routes(self, routes: Sequence[Sequence[int]]) -> Statements:
        """Leave out what is stated about empty routes, which solutions drop."""
        driven = [place for place, route in enumerate(routes) if route]

        def choose(stated: tuple[Item, ...] | None) -> tuple[Item, ...] | None:
            if stated is None or len(stated) != len(routes):
                return stated  # the wrong number of routes, which check reports
            return tuple(stated[place] for place in driven)

        return replace(self, ids=choose(self.ids), loads=choose(self.loads), route_costs=choose(self.route_costs))


NO_STATEMENTS = Statements()
