"""Search the small problems of tests/data/rules_by_peers.json in plain Python, and print the cost of each plan.

As a process of its own with NUMBA_DISABLE_JIT=1; a line of JSON for each problem: what `check` finds, and the cost.
"""

from __future__ import annotations

import json
from pathlib import Path

from dynaroute.base.stopping import Stopping
from dynaroute.formats import instance_from_json
from dynaroute.problem.solution import check
from dynaroute.search.with_limits.search import search_with_limits

PROBLEMS = Path(__file__).parents[1] / "data" / "rules_by_peers.json"
_ITERATIONS = 150

if __name__ == "__main__":
    for problem in json.loads(PROBLEMS.read_text()):
        instance = instance_from_json(problem["instance"])
        solution = search_with_limits(instance, None, Stopping(iterations=_ITERATIONS), seed=1).solution
        print(json.dumps([[fault.message for fault in check(instance, solution)], solution.cost(instance)]))
