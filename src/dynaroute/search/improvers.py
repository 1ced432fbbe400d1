"""What improves routes besides the search, and all machine code. Light to import: the code is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from dynaroute.base.vocabulary import Objective
from dynaroute.search.rules import RulesCode

if TYPE_CHECKING:
    from dynaroute.batch import RouteBatch
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution

UsualCode = Literal["2opt", "local", "search", "large", "teams", "limits"]  # large: without a matrix
MachineCode = UsualCode | RulesCode


class Improver(NamedTuple):
    """A method that improves the feasible routes of plain instances and ends by itself, when no move gains.

    Attributes
    ----------
    improve
        Improves a solution of each instance, on `threads` or all cores, until `is_time_up`.
    improve_tensors
        Improves the solutions of a batch, on `threads` or all cores.
    """

    improve: Callable[..., list[Solution]]
    improve_tensors: Callable[..., RouteBatch]


def _load_two_opt() -> Improver:
    from dynaroute.search.local.two_opt import improve_by_two_opt, improve_routes_by_two_opt

    return Improver(improve_by_two_opt, improve_routes_by_two_opt)


def _load_local_search() -> Improver:
    from dynaroute.search.local.local_search import improve_by_local_search, improve_routes_by_local_search

    return Improver(improve_by_local_search, improve_routes_by_local_search)


IMPROVERS: dict[str, Callable[[], Improver]] = {"2opt": _load_two_opt, "local": _load_local_search}


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
        IMPROVERS[code]().improve([instance], [solution], threads=1)
    elif code == "limits":
        from dynaroute.search.with_limits.search import load_machine_code_of_limits

        load_machine_code_of_limits()
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
