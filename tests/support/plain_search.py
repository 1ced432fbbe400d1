"""Searches with rules in plain Python, in a process of its own, so that tests compile nothing.

As a program it answers pickled questions on standard input, one after the other.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from dynaroute.base.stopping import Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.search import SearchOutcome
from dynaroute.search.with_limits.search import search_with_limits


class PlainSearch:
    """`search_with_limits` for a number of iterations, by a process that does not compile."""

    def __enter__(self) -> PlainSearch:
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self._process.communicate()

    def search(self, instance: Instance, start: Solution | None, iterations: int) -> SearchOutcome:
        """Search, and wait for the outcome."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((instance, start, iterations), self._process.stdin)
        self._process.stdin.flush()
        outcome: SearchOutcome = pickle.load(self._process.stdout)
        return outcome


def answer_questions() -> None:
    """Search what is asked for until nobody asks any more."""
    while True:
        try:
            instance, start, iterations = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(search_with_limits(instance, start, Stopping(iterations=iterations)), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    answer_questions()
