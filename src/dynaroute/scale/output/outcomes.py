"""Outcome: a row of the output."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynaroute.problem.solution import Solution, check
from dynaroute.scale.rows import InputRow
from dynaroute.solving.result import Result


@dataclass(frozen=True)
class RowOutcome:
    """The result for one row of the input: a row of the output. The fields are its columns, in order.

    Attributes
    ----------
    id, row
        The user's id, and the row's number in the input, from 0.
    routes
        Lists of customers 1..n; None if there are none.
    cost
        Cost of the routes, in the instance's own unit.
    method, model
        As in `Result`.
    seconds
        Time taken; rows that were solved together have equal shares.
    seed
        Seed of the run.
    error
        Why there are no routes, or what is wrong with them; None if all is well.
    checked
        Whether `dynaroute.check` confirmed the routes and the cost.
    vehicles
        Type of each route, numbered from 0, if the instance has types of vehicles.
    """

    id: str
    row: int
    routes: tuple[tuple[int, ...], ...] | None = None
    cost: float | None = None
    method: str | None = None
    seconds: float = 0.0
    model: str | None = None
    seed: int = 0
    error: str | None = None
    checked: bool = False
    vehicles: tuple[int, ...] | None = None

    @classmethod
    def of_result(cls, row: InputRow, result: Result, seed: int) -> RowOutcome:
        """Make the outcome of a solved row, verified by `check`."""
        types = result.solution.vehicle_types(result.instance) if result.instance.vehicles is not None else None
        found = cls(
            row.id,
            row.number,
            result.solution.routes,
            result.cost,
            result.method,
            result.seconds,
            result.model,
            seed,
            vehicles=types,
        )
        return judge_outcome(row, found)

    @classmethod
    def of_fault(cls, row: InputRow, error: str, seed: int) -> RowOutcome:
        """Make the outcome of a row without routes."""
        return cls(row.id, row.number, seed=seed, error=error)

    @property
    def how(self) -> str:
        """Model and method in words."""
        return self.method or "" if self.model is None else f"{self.model} ({self.method})"


def judge_outcome(row: InputRow, found: RowOutcome) -> RowOutcome:
    """Return the outcome with the present verdict of `check`.

    Parameters
    ----------
    row
        The row of the input.
    found
        Its outcome, with routes.
    """
    if row.instance is None or found.routes is None:
        return replace(found, checked=False)
    violations = check(row.instance, Solution(found.routes, found.cost, found.vehicles))
    if not violations:
        return replace(found, error=None, checked=True)
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return replace(found, error=f"{violations[0].message}{more}", checked=False)
