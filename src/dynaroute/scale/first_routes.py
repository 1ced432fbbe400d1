"""First routes, built by a policy for many rows at once, before each row is searched separately.

A policy takes hardly longer for dozens of rows than for one. With GPUs, some workers build first routes and others
search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynaroute.problem.solution import Solution
from dynaroute.scale.rows import FirstRoutes, InputRow
from dynaroute.solving.carried_options import continue_from
from dynaroute.solving.choose import choose
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result, Start
from dynaroute.solving.solve import solve_all


def are_built_apart(options: SolveOptions) -> bool:
    """Whether first routes are built separately: in searches without a time limit, which would include building."""
    return options.uses_policy and options.searches and options.search_seconds is None


def build_first_routes(rows: Sequence[InputRow], options: SolveOptions) -> list[InputRow]:
    """Return the rows, with first routes where a policy can build them.

    Parameters
    ----------
    rows
        Rows with instances; existing first routes are kept.
    options
        Options of the search.
    """
    lacking = [(row, row.instance) for row in rows if row.first is None and row.instance is not None]
    approaches = choose([instance for _, instance in lacking], options)
    lacking = [each for each, approach in zip(lacking, approaches, strict=True) if approach.start == "policy"]
    if not lacking:
        return list(rows)
    plain = replace(options, improve="none", iterations=None, target=None, objective=None)
    results = solve_all([instance for _, instance in lacking], plain)
    found = {row.number: _take_routes(result) for (row, _), result in zip(lacking, results, strict=True)}
    return [replace(row, first=found.get(row.number, row.first)) for row in rows]


def search_from_first_routes(row: InputRow, options: SolveOptions) -> Result:
    """Search a row, and report its first routes as if the search had built them.

    Parameters
    ----------
    row
        A row with an instance and first routes.
    options
        Options of the search.
    """
    assert row.instance is not None
    assert row.first is not None
    result = solve_all([row.instance], continue_from(options, Solution(row.first.routes)))[0]
    start = Start.by_policy(row.first.model, options.decoding)
    return replace(result, start=start, seconds=row.first.seconds + result.seconds)


def _take_routes(result: Result) -> FirstRoutes:
    assert result.model is not None  # a policy built them
    return FirstRoutes(result.solution.routes, result.model, result.seconds)
