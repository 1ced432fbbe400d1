"""Search random small problems with rules in plain Python, and say what is wrong with the plans.

python rich_searches.py FIRST LAST: as a process of its own with NUMBA_DISABLE_JIT=1, so that nothing is compiled and
every index is checked. Prints a line of JSON for each problem.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
from rich_problems import RULE_MAKERS, draw_problem

from dynaroute.base.errors import DynarouteError
from dynaroute.base.stopping import Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import judge_route
from dynaroute.problem.solution import Solution, check
from dynaroute.search.rules import SEARCHED_RULES, refuse_unsearched_rules
from dynaroute.search.with_limits.bounds import weigh_absence
from dynaroute.search.with_limits.problem import price_absence
from dynaroute.search.with_limits.search import search_with_limits

_ITERATIONS = 60
_RULE_OF = {
    "a window": "windows",
    "limits": "costs",
    "shipments lifo": "lifo",
    "z dimensions": "dimensions",
    "z speed_by_hour": "speed_by_hour",
}  # makers named otherwise


def price_with_absence(instance: Instance, solution: Solution) -> float:
    """The cost, and what those count who are missing."""
    weights = weigh_absence(instance, price_absence(instance, False)[0])
    return solution.cost(instance) + float(weights[solution.unserved(instance)].sum())


def list_plans(customers: list[int]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to serve all of some customers."""
    if not customers:
        yield []
        return
    first, *others = customers
    for plan in list_plans(others):
        yield [*plan, (first,)]
        for number, route in enumerate(plan):
            for place in range(len(route) + 1):
                yield [*plan[:number], (*route[:place], first, *route[place:]), *plan[number + 1 :]]


def find_best_price(instance: Instance) -> float:
    """The least price of all plans without reloads that `check` finds right."""
    known: dict[tuple[tuple[int, ...], int], bool] = {}

    def is_right(route: tuple[int, ...], kind: int) -> bool:
        if (route, kind) not in known:
            known[route, kind] = next(judge_route(instance, 1, route, instance.fleet[kind]), None) is None
        return known[route, kind]

    best = math.inf
    for count in range(instance.size + 1):
        for served in combinations(range(1, instance.size + 1), count):
            for plan in list_plans(list(served)):
                for kinds in product(range(len(instance.fleet)), repeat=len(plan)):
                    if not all(map(is_right, plan, kinds)):
                        continue
                    solution = Solution(tuple(plan), vehicles=kinds)
                    if all(violation.is_absence for violation in check(instance, solution)):
                        best = min(best, price_with_absence(instance, solution))
    return best


def report(seed: int) -> dict[str, object]:
    """Search one problem; the seed chooses the problem and the search."""
    random = np.random.default_rng(seed)
    makers = [name for name in RULE_MAKERS if _RULE_OF.get(name, name) in SEARCHED_RULES]
    chosen = sorted(random.choice(makers, int(random.integers(1, 5)), replace=False).tolist())
    try:
        instance = draw_problem(random, set(chosen), size=int(random.integers(3, 5)))
        refuse_unsearched_rules(instance)
    except DynarouteError:  # these rules contradict each other
        return {"seed": seed, "rules": chosen, "violations": [], "excess": 0.0}
    solution = search_with_limits(instance, None, Stopping(iterations=_ITERATIONS), seed=seed).solution
    best = find_best_price(instance)
    if math.isinf(best):  # a beginning that breaks a rule, which no plan can mend
        return {"seed": seed, "rules": chosen, "violations": [], "excess": 0.0}
    wrong = [violation.message for violation in check(instance, solution) if not violation.is_absence]
    excess = price_with_absence(instance, solution) - best
    if "reload" in instance.rules:
        excess = max(0.0, excess)  # loading again may pay
    return {"seed": seed, "rules": chosen, "violations": wrong, "excess": excess / max(1.0, abs(best))}


if __name__ == "__main__":
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(report(each)))
