"""Result: a solution and how it was found."""

from __future__ import annotations

from dataclasses import dataclass

from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = ["Result"]


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
    method
        How the first routes were built (savings, greedy, sample 16, multistart 16, with "x8" where augmented, or
        start where they were given), and how they were improved: "greedy + 2opt", "savings + search 2 s".
    model
        Name of the policy that built the first routes, or None.
    messages
        What a user should know about the choice that was made, and what improving did.
    trace
        Cost over time, as (seconds since `solve` took up the instance, cost), from the first routes on; empty where
        nothing was to be improved.
    iterations
        Of the search; None without one.
    is_interrupted
        Whether the search was ended before its time: by Ctrl-C, or by `is_cancelled`.
    """

    instance: Instance
    solution: Solution
    cost: float
    seconds: float
    method: str
    model: str | None = None
    messages: tuple[str, ...] = ()
    trace: tuple[tuple[float, float], ...] = ()
    iterations: int | None = None
    is_interrupted: bool = False

    @property
    def how(self) -> str:
        """Model and method in words."""
        return self.method if self.model is None else f"{self.model} ({self.method})"

    @property
    def first_cost(self) -> float:
        """Cost of the first routes, before they were improved."""
        return self.trace[0][1] if self.trace else self.cost

    @property
    def improvement(self) -> str:
        """What improving did to the cost, in a sentence; empty where nothing was to be improved."""
        if not self.trace:
            return ""
        way, before, after = self.method.partition(" + ")[2], self.first_cost, self.cost
        if after < before:
            change = f"{_show(before)} -> {_show(after)} ({100 * (after / before - 1):.2f} %)"
        else:
            change = f"no improvement of {_show(before)}"
        is_counted = self.iterations is not None and not way.endswith("iterations")
        return f"{way}: {change} in {self.iterations:,} iterations." if is_counted else f"{way}: {change}."


def _show(cost: float) -> str:
    return f"{cost:.0f}" if cost == round(cost) else f"{cost:.4f}"
