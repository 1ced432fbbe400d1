"""The table of improvers. Light to import: the code of each is loaded on first use.

Each takes any instance (in the plane, on the globe, or with a matrix), routes to improve, and a number of threads.
"none" has no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dynaroute.base.memory import LARGEST_MATRIX

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution
    from dynaroute.search.many import BatchSearcher

__all__ = ["IMPROVERS", "Improver"]


class Improver:
    """A method that improves routes. To add one, declare and implement what it supports, and add it to the table.

    Attributes
    ----------
    label
        Its name in reports.
    takes_limits
        Whether it runs until a time limit, a number of iterations or a target (`make_searcher`), or ends by itself when
        no move gains (`improve`).
    takes_tensors
        Whether it has `improve_tensors`, the same for a batch.
    """

    label: str
    takes_limits = False
    takes_tensors = False

    def improve(
        self,
        instances: Sequence[Instance],
        solutions: Sequence[Solution],
        threads: int | None = None,
        is_time_up: Callable[[], bool] | None = None,
    ) -> list[Solution]:
        """Improve a feasible solution of each instance, on this many threads or all cores, until the time is up."""
        raise TypeError(f"{self.label} does not end by itself: use make_searcher.")

    def improve_tensors(self, batch: InstanceBatch, routes: RouteBatch, threads: int | None = None) -> RouteBatch:
        """Improve the feasible solutions of a batch, on this many threads or all cores."""
        raise TypeError(f"{self.label} does not support tensors.")

    def make_searcher(self, threads: int | None = None) -> BatchSearcher:
        """Make a searcher with this many threads; by default one for a single instance, and all cores for many."""
        raise TypeError(f"{self.label} ends by itself: use improve.")

    def prepare(self, largest: int | None = None) -> None:
        """Load its machine code, for up to this many customers or any number, compiling it if necessary."""
        instance, solution = _make_tiny_example()
        self.improve([instance], [solution], 1)


class _TwoOpt(Improver):
    label = "2opt"
    takes_tensors = True

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


class _LocalSearch(Improver):
    label = "local search"
    takes_tensors = True

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


class _Search(Improver):
    label = "search"
    takes_limits = True

    def make_searcher(self, threads: int | None = None) -> BatchSearcher:
        from dynaroute.search.many import SideBySide

        return SideBySide(threads)

    def prepare(self, largest: int | None = None) -> None:
        import dynaroute.search.many  # noqa: F401  # what a search needs besides its machine code
        from dynaroute.search.search import load_machine_code, load_machine_code_of_large
        from dynaroute.search.with_limits.search import load_machine_code_of_fleets

        load_machine_code()
        if largest is None or largest > LARGEST_MATRIX:
            load_machine_code_of_large()
        if largest is None:
            load_machine_code_of_fleets()


IMPROVERS: dict[str, Improver] = {"2opt": _TwoOpt(), "local": _LocalSearch(), "search": _Search()}


def _make_tiny_example() -> tuple[Instance, Solution]:
    import numpy as np

    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return Instance(square, np.array([0, 1, 1, 1]), 2), Solution(((1, 2), (3,)))
