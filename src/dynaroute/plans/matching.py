"""Known routes in the numbers of a problem whose customers have another order, are gone, or are new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dynaroute.base.display import show_list
from dynaroute.base.errors import SolutionError, warn_of_input
from dynaroute.plans.files.table import NamedStop, find_by_id, group_stops
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, find_false_statements, refuse_violations
from dynaroute.problem.statements import NO_STATEMENTS

_MOST_NAMED = 50  # customers in a note


@dataclass(frozen=True)
class KnownRoutes:
    """Known routes of a problem.

    Attributes
    ----------
    instance
        The problem.
    solution
        Routes over its customers; those of `new` are on none.
    places
        For each route of the plan, its index in `solution`; None if all its customers are gone.
    gone
        Ids of customers of the plan that the problem no longer has.
    new
        Customers that the plan does not know.
    """

    instance: Instance
    solution: Solution
    places: tuple[int | None, ...]
    gone: tuple[str, ...] = ()
    new: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Numbered:
    """Routes whose customers are numbered as in a problem; customers that it does not have follow the others.

    `known` holds the ids that the plan knows; None if customers were not matched by id.
    """

    solution: Solution
    gone: dict[int, str] = field(default_factory=dict)
    known: frozenset[str] | None = None


def match_solution(solution: Solution, own: Instance | None, instance: Instance, source: str = "") -> KnownRoutes:
    """Find the customers of known routes in a problem, by id if there are ids, and check what the file states.

    A note names customers that are gone or new, and a false cost.

    Parameters
    ----------
    solution
        The routes, as their file numbers them.
    own
        The plan's own instance, if it has one.
    instance
        The problem.
    source
        The file's path, for notes.

    Raises
    ------
    SolutionError
        If ids, loads or unserved customers are stated wrongly, or no customer is left.
    """
    numbered = _number(solution, own, instance, source)
    has_changed = bool(numbered.gone) or (numbered.known is not None and own is None and _has_new(numbered, instance))
    if own is not None:
        _judge_statements(own, solution, source)
    elif not has_changed:
        _judge_statements(instance, numbered.solution, source)
    return _drop_gone(numbered, instance, source)


def match_stops(stops: Sequence[NamedStop], instance: Instance, source: str = "") -> KnownRoutes:
    """Find the customers of a plan's stops in a problem, by id. A note names those that are gone or new."""
    ids = tuple(tuple(stop.id for stop in route) for route in group_stops(stops))
    numbered = _number_ids(Solution(tuple((1,) * len(route) for route in ids)), ids, instance)
    find, known = find_by_id(instance), frozenset(stop.id for stop in stops)
    if instance.customer_names is None:
        known = frozenset(str(find(name) or name) for name in known)  # 007 is customer 7
    return _drop_gone(replace(numbered, known=known), instance, source)


def number_by_id(solution: Solution, own: Instance | None, instance: Instance, source: str = "") -> Solution:
    """Number the customers of routes as in a problem, by id if there are ids; unknown ones follow the others."""
    return _number(solution, own, instance, source).solution


def _judge_statements(instance: Instance, solution: Solution, source: str) -> None:
    false = find_false_statements(instance, solution)
    refuse_violations([found for found in false if found.kind != "cost"])
    for found in false:
        warn_of_input(source, found.message)


# Numbering


def _number(solution: Solution, own: Instance | None, instance: Instance, source: str) -> _Numbered:
    """Decide whether ids or numbers identify the customers."""
    if own is not None:
        return _number_as_own(_name_vehicles(solution, own, instance), own, instance, source)
    ids, numbers = solution.statements.ids, tuple(tuple(map(str, route)) for route in solution.routes)
    if ids is None or list(map(len, ids)) != list(map(len, numbers)):
        return _Numbered(solution)
    false = {found.kind for found in find_false_statements(instance, solution)}
    if "ids" not in false and _visits_known(solution, instance):
        stated = [stop for stop in solution.statements.unserved or () if 1 <= stop <= instance.size]
        named = frozenset(map(instance.customer_name, stated))
        return _Numbered(solution, known=named.union(*ids))
    has_names = ids != numbers and instance.customer_names is not None
    if not has_names and not any(map(find_by_id(instance), frozenset[str]().union(*ids))):
        return _Numbered(_without_ids(solution))  # one side has no ids, only numbers
    has_proof = solution.stated_cost is not None or solution.statements.loads is not None
    if has_proof and not false & {"cost", "loads"} and _visits_known(solution, instance):
        return _Numbered(solution)  # cost and loads fit the numbers, so it is the ids that are false
    warn_of_input(source, "its numbers do not fit the customers of this problem, so they were found by id.")
    return _number_ids(solution, ids, instance)


def _number_as_own(solution: Solution, own: Instance, instance: Instance, source: str) -> _Numbered:
    """Number customers by the ids that the plan's own instance gives them. Without ids, their numbers are the ids."""
    own_ids, names = frozenset(_list_ids(own)), frozenset(_list_ids(instance))
    are_named = [side.customer_names is not None for side in (own, instance)]
    if not any(are_named) or (not all(are_named) and not own_ids & names):
        _warn_of_other_places(own, instance, range(1, 1 + min(own.size, instance.size)), source)
        are_right = not any(found.kind == "ids" for found in find_false_statements(own, solution))
        plain = _without_ids(solution) if are_right else solution
        if any(are_named):
            return _Numbered(plain)
        return _Numbered(plain, {number: str(number) for number in range(instance.size + 1, own.size + 1)}, own_ids)
    if own.customer_names == instance.customer_names:
        return _Numbered(solution, known=own_ids)
    ids = tuple(
        tuple(own.customer_name(stop) if 1 <= stop <= own.size else f"number {stop}" for stop in route)
        for route in solution.routes
    )
    find, unserved = find_by_id(instance), solution.statements.unserved
    if not all(are_named):
        _warn_of_other_places(own, instance, [find(name) for name in _list_ids(own)], source)
    stated = None if unserved is None else [own.customer_name(stop) for stop in unserved if 1 <= stop <= own.size]
    statements = replace(
        solution.statements,
        unserved=None if stated is None else tuple(number for name in stated if (number := find(name)) is not None),
    )
    numbered = _number_ids(replace(solution, statements=statements), ids, instance)
    gone = {number: name for number, name in numbered.gone.items() if name in own_ids}
    return replace(numbered, gone=gone, known=own_ids)


def _list_ids(instance: Instance) -> tuple[str, ...]:
    return tuple(map(instance.customer_name, range(1, instance.size + 1)))


def _warn_of_other_places(own: Instance, instance: Instance, numbers: Iterable[int | None], source: str) -> None:
    """Say which customers are not where the plan has them, if only their numbers tell that they are the same."""
    before, after = own.coordinates, instance.coordinates
    if before is None or after is None:
        return
    pairs = [(customer, number) for customer, number in enumerate(numbers, start=1) if number is not None]
    moved = [str(number) for customer, number in pairs if (before[customer] != after[number]).any()]
    if moved:
        message = f"{_name(moved)}, found by number, {_is(moved)} elsewhere in this plan."
        warn_of_input(source, f"{message} Give the customers ids if their order has changed.")


def _number_ids(solution: Solution, ids: Sequence[Sequence[str]], instance: Instance) -> _Numbered:
    """Number customers by their ids; ids that the problem does not have get the numbers after the last customer."""
    find = find_by_id(instance)
    gone: dict[str, int] = {}
    routes = [
        tuple(find(name) or gone.setdefault(name, instance.size + 1 + len(gone)) for name in route) for route in ids
    ]
    stated = solution.statements.ids
    statements = replace(solution.statements, ids=tuple(map(tuple, ids)) if stated is None else stated)
    return _Numbered(
        replace(solution, routes=tuple(routes), statements=statements),
        {number: name for name, number in gone.items()},
        frozenset[str]().union(*ids),
    )


def _without_ids(solution: Solution) -> Solution:
    return replace(solution, statements=replace(solution.statements, ids=None))


def _visits_known(solution: Solution, instance: Instance) -> bool:
    return all(1 <= customer <= instance.size for route in solution.routes for customer in route)


def _name_vehicles(solution: Solution, own: Instance, instance: Instance) -> Solution:
    """Identify vehicle types by name, if all types have names, since the problem may list them in another order."""
    names = [kind.name for kind in own.fleet]
    kinds = solution.vehicles
    if kinds is None or not all(names) or not all(kind.name for kind in instance.fleet):
        return solution
    if not all(0 <= kind < len(names) for kind in kinds):
        return solution
    return replace(solution, vehicles=None, vehicle_names=tuple(names[kind] for kind in kinds))


# Customers that are gone or new


def _has_new(numbered: _Numbered, instance: Instance) -> bool:
    return bool(_find_new(numbered, instance))


def _find_new(numbered: _Numbered, instance: Instance) -> list[int]:
    if numbered.known is None:
        return []
    unserved = numbered.solution.unserved(instance)
    return [customer for customer in unserved if instance.customer_name(customer) not in numbered.known]


def _drop_gone(numbered: _Numbered, instance: Instance, source: str) -> KnownRoutes:
    """Drop the customers that are gone, and tell of them and of the new ones."""
    solution, gone, new = numbered.solution, numbered.gone, _find_new(numbered, instance)
    left = [tuple(stop for stop in route if stop not in gone) for route in solution.routes]
    if gone and not any(left):
        raise SolutionError.about(
            "start", "no customer of the known routes is in this problem.", "Is this the plan of another instance?"
        )
    if gone:
        names = list(gone.values())
        warn_of_input(source, f"{_name(names)} of the known routes {_is(names)} gone; the rest of the routes is used.")
    if new:
        names = list(map(instance.customer_name, new))
        warn_of_input(source, f"{_name(names)} {_is(names)} new, and {_is(names)} added to the known routes.")
    indices = iter(range(len(left)))
    return KnownRoutes(
        instance,
        replace(solution, routes=tuple(left), stated_cost=None, statements=NO_STATEMENTS),
        tuple(next(indices) if route else None for route in left),
        tuple(gone.values()),
        tuple(new),
    )


def _name(names: Sequence[str]) -> str:
    return f"{'customer' if len(names) == 1 else 'customers'} {show_list(names, _MOST_NAMED)}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
