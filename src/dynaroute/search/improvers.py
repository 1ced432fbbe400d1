"""What improves routes besides the search, and all machine code. Light to import: the code is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from dynaroute.base.vocabulary import Objective
from dynaroute.search.rules import RulesCode

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

UsualCode = Literal["2opt", "local", "search", "large", "teams", "limits"]  # large: without a matrix
MachineCode = UsualCode | RulesCode


class Improver(Protocol):
    """A method that improves the feasible routes of plain instances and ends by itself, when no move gains."""

    def improve(
        self,
        instances: Sequence[Instance],
        solutions: Sequence[Solution],
        threads: int | None = None,
        is_time_up: Callable[[], bool] | None = None,
    ) -> list[Solution]:
        """Improve a solution of each instance, on this many threads or all cores, until the time is up."""
        ...

    def improve_tensors(self, batch: InstanceBatch, routes: RouteBatch, threads: int | None = None) -> RouteBatch:
        """Improve the solutions of a batch, on this many threads or all cores."""
        ...


class _TwoOpt:
    """2-opt within each route."""

    def improve(
        self,
        instances: Sequence[Instance],
        solutions: Sequence[Solution],
        threads: int | None = None,
        is_time_up: Callable[[], bool] | None = None,
    ) -> list[Solution]:
        from dynaroute.search.local.two_opt import improve_by_two_opt

        return improve_by_two_opt(instances, solutions, threads=threads, is_time_up=is_time_up)

    def improve_tensors(self, batch: InstanceBatch, routes: RouteBatch, threads: int | None = None) -> RouteBatch:
        from dynaroute.search.local.two_opt import improve_routes_by_two_opt

        return improve_routes_by_two_opt(batch, routes, threads=threads)


class _LocalSearch:
    """Local search within and between routes."""

    def improve(
        self,
        instances: Sequence[Instance],
        solutions: Sequence[Solution],
        threads: int | None = None,
        is_time_up: Callable[[], bool] | None = None,
    ) -> list[Solution]:
        from dynaroute.search.local.local_search import improve_by_local_search

        return improve_by_local_search(instances, solutions, threads=threads, is_time_up=is_time_up)

    def improve_tensors(self, batch: InstanceBatch, routes: RouteBatch, threads: int | None = None) -> RouteBatch:
        from dynaroute.search.local.local_search import improve_routes_by_local_search

        return improve_routes_by_local_search(batch, routes, threads=threads)


IMPROVERS: dict[str, Improver] = {"2opt": _TwoOpt(), "local": _LocalSearch()}


def needs_limits(instance: Instance, objective: Objective | None) -> bool:
    """Whether more than capacities and lengths matter: then only insertion and `search.with_limits` solve it."""
    return objective == "vehicles" or not instance.is_plain


def load_machine_code(wanted: Iterable[MachineCode]) -> None:
    """Load the machine code of improvers and searches, compiling it if necessary."""
    for code in wanted:
        _load(code)


def _load(code: MachineCode) -> None:
    if code in IMPROVERS:
        instance, solution = _make_tiny_example()
        IMPROVERS[code].improve([instance], [solution], 1)
    elif code == "limits":
        from dynaroute.search.with_limits.search import load_machine_code_of_fleets

        load_machine_code_of_fleets()
    elif code.startswith("rules"):
        from dynaroute.search.with_limits.search import load_machine_code_of_rules

        load_machine_code_of_rules(code)
    else:
        from dynaroute.search import search

        load = {
            "search": search.load_machine_code_of_search,
            "large": search.load_machine_code_of_large,
            "teams": search.load_machine_code_of_teams,
        }
        load[code]()


def _make_tiny_example() -> tuple[Instance, Solution]:
    import numpy as np

    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return Instance(square, np.array([0, 1, 1, 1]), 2), Solution(((1, 2), (3,)))
