"""CVRPLIB solution files (.sol).

With several depots PyVRP counts stops from the first depot, which is 0; an instance counts its customers from 1, and
further places after them. So such files are written as PyVRP reads them, and a line says how many depots are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dynaroute.base.errors import FormatError, Where, warn_of_each
from dynaroute.formats.numbers import format_number, is_number
from dynaroute.formats.text import shorten, split_lines
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.statements import Statements

# possessive quantifiers ("*+") never backtrack; otherwise many blanks would take forever
_ROUTE = re.compile(r"route\s*+#?\s*+[0-9]*+\s*+:(.*)", re.IGNORECASE)
_ROUTE_START = re.compile(r"route\b|route\s*#?\s*[0-9]", re.IGNORECASE)
_COST = re.compile(r"cost\b\s*[:=]?\s*(.*)", re.IGNORECASE)
_DEPOTS = re.compile(r"depots\s*+[:=]?\s*+([1-9][0-9]{0,8})", re.IGNORECASE)
_CUSTOMER = re.compile(r"[+-]?[0-9]{1,1000}")
_WORD = re.compile(r"[^\W\d]")


def parse_sol(text: str, *, source: str = "") -> Solution:
    """Read the routes and the stated cost of a solution. Use `check` to verify them.

    Parameters
    ----------
    text
        The file's text.
    source
        The file's path, for warnings.

    Returns
    -------
    Solution
        Its numbers are those of the file: with several depots, `number_as_instance` translates them.

    Raises
    ------
    FormatError
        If there is no route, or a line cannot be understood.
    """
    routes: list[tuple[int, ...]] = []
    cost: float | None = None
    depots: int | None = None
    ignored: list[str] = []
    for number, line in enumerate(map(str.strip, split_lines(text)), start=1):
        if not line or line.startswith("#"):
            continue
        if route := _ROUTE.fullmatch(line):
            routes.append(_read_route(route[1], number))
        elif stated := _COST.fullmatch(line):
            cost = _read_cost(stated[1], cost, number)
        elif counted := _DEPOTS.fullmatch(line):
            depots = int(counted[1])
        elif _WORD.match(line) and not _ROUTE_START.match(line):
            ignored.append(line)
        else:
            raise FormatError(
                f"{shorten(line)} is not a route.",
                where=Where(line=number, field="Route"),
                remedy="Write 'Route #1: 3 5 7'.",
            )
    if not routes:
        raise FormatError.about("Route", "there is no route.", "Write lines 'Route #1: 3 5 7'.")
    warn_of_each(source, ignored, lambda line: f"the line {shorten(line)} was ignored.")
    return Solution(tuple(routes), cost, statements=Statements(depots=depots))


def number_as_instance(solution: Solution, instance: Instance) -> Solution:
    """Translate the numbers of a file to those of the instance, which differ where there are several depots.

    Raises
    ------
    FormatError
        If the file counts other depots, or it is not clear which numbers it uses.
    """
    depots, counted = len(instance.places) + 1, solution.statements.depots
    if counted not in (None, 1, depots):
        message = f"the file counts {counted} depots, but the problem has {depots}."
        raise FormatError.about("Depots", message, "Is it the solution of another problem?")
    own = replace(solution, statements=replace(solution.statements, depots=None))
    if counted == 1 or depots == 1:
        return own
    shifted = replace(own, routes=tuple(tuple(_from_file(stop, instance) for stop in each) for each in own.routes))
    if counted == depots:
        return shifted
    readings = [each for each in (own, shifted) if _is_possible(each.routes, instance)]
    complete = [each for each in readings if _serves_all(each.routes, instance)]
    if len(readings) > 1 and len(complete) != 1:
        raise FormatError.about(
            "Depots",
            f"it is not clear whether the first customer is number 1, or {depots} as PyVRP counts.",
            f"Add a line 'Depots 1' or 'Depots {depots}' to the file.",
        )
    return (complete or readings or [own])[0]


def number_without_instance(solution: Solution) -> Solution:
    """Translate the numbers of a file that says how many depots it counts.

    Raises
    ------
    FormatError
        If a vehicle loads again at a further depot, whose number depends on the problem.
    """
    further = (solution.statements.depots or 1) - 1
    if any(1 <= stop <= further for route in solution.routes for stop in route):
        raise FormatError.about(
            "Route", "a route visits a further depot, whose number depends on the problem.", "Read it with its problem."
        )
    routes = tuple(tuple(stop - further if stop > further else stop for stop in route) for route in solution.routes)
    return replace(solution, routes=routes, statements=replace(solution.statements, depots=None))


def number_as_file(solution: Solution, instance: Instance) -> Solution:
    """Translate the numbers of the instance to those of its file, for `format_sol`."""
    if not instance.places:
        return solution
    routes = tuple(tuple(_to_file(stop, instance) for stop in route) for route in solution.routes)
    return replace(solution, routes=routes, statements=Statements(depots=len(instance.places) + 1))


def format_sol(solution: Solution) -> str:
    """Write routes and, if there is one, the stated cost.

    Parameters
    ----------
    solution
        The solution, numbered as its file if there are several depots.
    """
    lines = [f"Route #{number}: {' '.join(map(str, route))}" for number, route in enumerate(solution.routes, start=1)]
    if solution.statements.depots is not None:
        lines.append(f"Depots {solution.statements.depots}")
    if solution.stated_cost is not None:
        lines.append(f"Cost {format_number(solution.stated_cost)}")
    return "\n".join([*lines, ""])


def _from_file(stop: int, instance: Instance) -> int:
    """The node of a stop of a file in which all depots come first."""
    further = len(instance.places)
    if 1 <= stop <= further:
        return stop + instance.size
    return stop - further if stop > further else stop


def _to_file(node: int, instance: Instance) -> int:
    """The number of a node in a file in which all depots come first."""
    if node > instance.size:
        return node - instance.size
    return node + len(instance.places) if node > 0 else node


def _is_possible(routes: Sequence[Sequence[int]], instance: Instance) -> bool:
    """Whether all stops are customers, or places where a vehicle may load again."""
    reloads = {instance.node_of(name) for kind in instance.fleet for name in kind.reload}
    return all(1 <= stop <= instance.size or stop in reloads for route in routes for stop in route)


def _serves_all(routes: Sequence[Sequence[int]], instance: Instance) -> bool:
    """Whether each customer has exactly one visit."""
    customers = sorted(stop for route in routes for stop in route if 1 <= stop <= instance.size)
    return customers == list(range(1, instance.size + 1))


def _read_route(text: str, line: int) -> tuple[int, ...]:
    tokens = text.split()
    for token in tokens:
        if _CUSTOMER.fullmatch(token) is None:
            raise FormatError(
                f"{shorten(token)} is not a customer number.",
                where=Where(line=line, field="Route"),
                remedy="Customers are whole numbers, separated by spaces.",
            )
    return tuple(map(int, tokens))


def _read_cost(text: str, earlier: float | None, line: int) -> float:
    where = Where(line=line, field="Cost")
    value = float(text) if is_number(text) else float("nan")
    if not abs(value) < float("inf"):
        raise FormatError(
            f"the cost {shorten(text)} is not a number." if text else "the cost is missing.",
            where=where,
            remedy="Write a plain number, or leave the line out.",
        )
    if earlier is not None and earlier != value:
        raise FormatError(
            f"there are two costs, {format_number(earlier)} and {format_number(value)}.",
            where=where,
            remedy="Keep the correct one.",
        )
    return value
