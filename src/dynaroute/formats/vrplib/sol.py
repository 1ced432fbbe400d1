"""CVRPLIB solution files (.sol)."""

from __future__ import annotations

import re

from dynaroute.base.errors import FormatError, Where, warn_of_each
from dynaroute.formats.numbers import format_number, is_number
from dynaroute.formats.text import shorten, split_lines
from dynaroute.problem.solution import Solution

# possessive quantifiers ("*+") never backtrack; otherwise many blanks would take forever
_ROUTE = re.compile(r"route\s*+#?\s*+[0-9]*+\s*+:(.*)", re.IGNORECASE)
_ROUTE_START = re.compile(r"route\b|route\s*#?\s*[0-9]", re.IGNORECASE)
_COST = re.compile(r"cost\b\s*[:=]?\s*(.*)", re.IGNORECASE)
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

    Raises
    ------
    FormatError
        If there is no route, or a line cannot be understood.
    """
    routes: list[tuple[int, ...]] = []
    cost: float | None = None
    ignored: list[str] = []
    for number, line in enumerate(map(str.strip, split_lines(text)), start=1):
        if not line or line.startswith("#"):
            continue
        if route := _ROUTE.fullmatch(line):
            routes.append(_read_route(route[1], number))
        elif stated := _COST.fullmatch(line):
            cost = _read_cost(stated[1], cost, number)
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
    return Solution(tuple(routes), cost)


def format_sol(solution: Solution) -> str:
    """Write routes and, if there is one, the stated cost.

    Parameters
    ----------
    solution
        The solution.
    """
    lines = [f"Route #{number}: {' '.join(map(str, route))}" for number, route in enumerate(solution.routes, start=1)]
    if solution.stated_cost is not None:
        lines.append(f"Cost {format_number(solution.stated_cost)}")
    return "\n".join([*lines, ""])


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
