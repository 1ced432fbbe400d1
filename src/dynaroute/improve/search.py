"""The time-limited search of one instance: a first solution at once, then better ones until it has to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from threading import TIMEOUT_MAX, Timer
from typing import NamedTuple

import numpy as np

from dynaroute.improve.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.improve.combined import Relay, Team, pass_on, teach_the_worst
from dynaroute.improve.genetic import GeneticSearch
from dynaroute.improve.pacing import Pace, Searcher, run_slices
from dynaroute.improve.parted import PartedAnnealing, cut_problem
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.start import build_by_filling, build_by_near_savings
from dynaroute.improve.stopping import OutOfTimeError, Stopping
from dynaroute.instance import Instance
from dynaroute.memory import LARGEST_MATRIX
from dynaroute.solution import Solution

__all__ = [
    "Improvement",
    "Incumbent",
    "SearchOutcome",
    "halt_at_deadline",
    "leave_time_to_close",
    "load_machine_code",
    "load_machine_code_of_large",
    "search",
]

_KEEPING_THE_START = AnnealingSettings(hottest=0.1)  # hotter, what a good start is worth would melt away
_ANNEALING_SECONDS_AT_100 = 0.008  # with 100 customers, until the genetic search takes over; see docs/results.md
_ANNEALING_GROWTH = 3.5  # that time's power of the number of customers
_LATEST_HANDOVER = 0.6  # beyond, there is no time for it
_CLOSING_SECONDS_A_CUSTOMER, _CLOSING_SECONDS_A_LEG = 2e-6, 1e-9
_USUAL_PATIENCE_SECONDS = 60.0  # where no limit is given
_USUAL_ITERATION_SECONDS = 3.5e-6  # for choices that must not depend on the machine's speed
_LARGE_ITERATION_SECONDS = 1e-5  # the same without a matrix
_ITERATIONS_TO_MELT_A_CUSTOMER = 150  # fewer, and a cooler beginning leads further
_LEAST_HOT = 0.05
_SMALLEST_PART, _FEWEST_ROUTES = 120, 3  # customers, and routes, of a core's part of one instance

Routes = tuple[tuple[int, ...], ...]


class Improvement(NamedTuple):
    """A better solution.

    Attributes
    ----------
    seconds
        When it was found, since the clock of the search began.
    cost, solution
        What was found.
    """

    seconds: float
    cost: float
    solution: Solution


@dataclass(frozen=True)
class SearchOutcome:
    """What a search came to.

    Attributes
    ----------
    solution, cost
        The best that was found; never worse than the start.
    iterations
        How many were run, in those of ruin and recreate: one of the genetic search counts as many.
    trace
        (seconds since the clock of the search began, cost) of every improvement, the first solution included.
    seconds
        When it ended, by the same clock.
    is_interrupted
        Whether the user broke it off from the keyboard.
    """

    solution: Solution
    cost: float
    iterations: int
    trace: tuple[tuple[float, float], ...]
    seconds: float
    is_interrupted: bool = False


def search(
    instance: Instance,
    start: Solution | None,
    stopping: Stopping,
    *,
    seed: int = 0,
    threads: int = 1,
    companions: int = 1,
    on_improvement: Callable[[Improvement], None] | None = None,
) -> SearchOutcome:
    """Improve a solution until told to stop.

    Parameters
    ----------
    instance
        Any problem.
    start
        A feasible solution to begin with, which is not checked here; savings, if they are better or there is none.
    stopping
        When to stop; seconds are counted from when its clock began.
    seed
        Of the random numbers. With a number of iterations and without a deadline, it determines the result.
    threads
        How many searches to run side by side, exchanging what they find.
    companions
        How many instances are searched in this process at the same time.
    on_improvement
        Called with better solutions, the first one included, but not so often that it would slow the search down.
    """
    incumbent = Incumbent(instance, stopping.began, on_improvement)
    stopping = leave_time_to_close(stopping, instance)
    iterations = 0
    is_interrupted = False
    try:
        if start is not None:
            incumbent.offer(start)
        problem = SearchProblem.from_instance(instance, is_time_up=stopping.is_time_up)
        is_improved = incumbent.offer(Solution(build_by_near_savings(problem)))
        settings = _choose_settings(problem, stopping) if is_improved else _KEEPING_THE_START
        searcher = _choose_searcher(problem, incumbent.solution.routes, settings, stopping, seed, threads)
        with halt_at_deadline(searcher, stopping):
            slices = run_slices(searcher, stopping, threads * companions)
            while not stopping.is_reached_by(incumbent.cost) and (done := next(slices, None)) is not None:
                iterations = done
                incumbent.watch(searcher)
    except OutOfTimeError:
        pass  # what there is has to do
    except KeyboardInterrupt:
        is_interrupted = True
    return incumbent.conclude(iterations, is_interrupted)


@cache
def load_machine_code() -> None:
    """Load the machine code of every stage of a search, once in a process, so that it costs nobody's time later."""
    search(_make_tiny_instance(), None, Stopping(iterations=1))  # of each stage
    problem = SearchProblem.from_instance(_make_tiny_instance())
    cut_problem(problem, np.array([1, 2], dtype=np.int32), np.array([0, 1, 2, 0], dtype=np.int32))


@cache
def load_machine_code_of_large() -> None:
    """Load the machine code of searches without a matrix; see `load_machine_code`."""
    problem = SearchProblem.from_instance(_make_tiny_instance(), largest_matrix=0)
    RuinAndRecreate(problem, build_by_near_savings(problem), AnnealingSettings(), seed=0).run(1, Pace(0.0, 0.0))


def _make_tiny_instance() -> Instance:
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return Instance(square, np.array([0, 1, 1, 1]), 2)


def leave_time_to_close(stopping: Stopping, instance: Instance) -> Stopping:
    """Stop a little earlier: to write a solution down takes time, and so does to give a large matrix back."""
    if stopping.deadline is None:
        return stopping
    size = instance.size
    seconds = size * _CLOSING_SECONDS_A_CUSTOMER
    if instance.distances is not None or size <= LARGEST_MATRIX:
        seconds += size * size * _CLOSING_SECONDS_A_LEG
    return replace(stopping, deadline=stopping.deadline - seconds)


def _choose_settings(problem: SearchProblem, stopping: Stopping) -> AnnealingSettings:
    """How hot to begin: less than usual where there is no time to cool everything that melts."""
    usual = AnnealingSettings()
    if problem.has_matrix:
        return usual
    iterations = stopping.iterations or _expect_seconds(stopping) / _LARGE_ITERATION_SECONDS
    share = iterations / problem.size / _ITERATIONS_TO_MELT_A_CUSTOMER
    return replace(usual, hottest=min(usual.hottest, max(_LEAST_HOT, share * usual.hottest)))


def _choose_searcher(
    problem: SearchProblem, routes: Routes, settings: AnnealingSettings, stopping: Stopping, seed: int, threads: int
) -> Searcher:
    """Cores first share the routes, as long as the parts are large enough; beyond that, they search side by side."""
    parts = max(1, min(threads, problem.size // _SMALLEST_PART, len(routes) // _FEWEST_ROUTES))
    teams = max(1, threads // parts)
    annealing: list[Searcher] = [
        RuinAndRecreate(problem, routes, settings, seed, stream)
        if parts == 1
        else PartedAnnealing(problem, routes, settings, parts, seed, stream)
        for stream in range(teams)
    ]
    handover = _choose_handover(problem.size, stopping) / parts
    if handover > _LATEST_HANDOVER or not problem.has_matrix:
        return annealing[0] if teams == 1 else Team(annealing, teach_the_worst)
    genetic = [GeneticSearch(problem, seed, stream) for stream in range(threads)]
    if threads == 1:
        return Relay(annealing[0], genetic[0], handover)
    # teams that tell each other nothing find different solutions, of which crossing makes the most
    return Relay(Team(annealing, None), Team(genetic, pass_on), handover, annealing)


def _choose_handover(size: int, stopping: Stopping) -> float:
    """Progress at which a genetic search, which needs the more time the larger the problem, should take over."""
    annealing_seconds: float = _ANNEALING_SECONDS_AT_100 * (size / 100) ** _ANNEALING_GROWTH
    return annealing_seconds / max(_expect_seconds(stopping), 1e-9)


def _expect_seconds(stopping: Stopping) -> float:
    """How long the search may take; the same on every machine if iterations end it."""
    seconds = _USUAL_PATIENCE_SECONDS if stopping.deadline is None else stopping.seconds_left
    if stopping.iterations is not None:
        seconds = min(seconds, stopping.iterations * _USUAL_ITERATION_SECONDS)
    return seconds


@contextmanager
def halt_at_deadline(searcher: Searcher, stopping: Stopping) -> Iterator[None]:
    """Break off what is still running when the time is up."""
    if stopping.deadline is None:
        yield
        return
    timer = Timer(min(stopping.seconds_left, TIMEOUT_MAX), searcher.halt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Incumbent:
    """The best solution so far, and its history.

    Attributes
    ----------
    solution, cost
        The best so far; its cost is infinite before there is one.
    price
        What is to become less: here the cost.

    Parameters
    ----------
    instance
        The problem.
    began
        The value of `time.perf_counter` from which seconds are counted.
    on_improvement
        Whom to tell.
    """

    def __init__(self, instance: Instance, began: float, on_improvement: Callable[[Improvement], None] | None) -> None:
        self._instance = instance
        self._began = began
        self._on_improvement = on_improvement
        self._next_look = began
        self._watched: Searcher | None = None
        self._trace: list[tuple[float, float]] = []
        self.solution = Solution(())
        self.cost = self.price = math.inf

    def offer(self, solution: Solution) -> bool:
        """Take a solution if it is better; whether it was."""
        cost = solution.cost(self._instance)
        price = self.price_solution(solution, cost)
        if price >= self.price:
            return False
        self.solution, self.cost, self.price = replace(solution, stated_cost=cost), cost, price
        if not self.is_to_be_told(solution):
            return True
        seconds = time.perf_counter() - self._began
        self._trace.append((seconds, cost))
        if self._on_improvement is not None:
            self._on_improvement(Improvement(seconds, cost, self.solution))
        return True

    def watch(self, searcher: Searcher) -> None:
        """Take what a searcher found, but spend a twentieth of the time on that at most."""
        self._watched = searcher
        now = time.perf_counter()
        if now < self._next_look or searcher.best_cost >= self.price:
            return
        self.offer(self.read_solution(searcher.best_routes))
        taken = time.perf_counter() - now
        self._next_look = now + 20 * taken

    def conclude(self, iterations: int, is_interrupted: bool) -> SearchOutcome:
        """Take what the searcher found last, or at least something."""
        if math.isinf(self.price):
            self.offer(self.build_something())
        solution = self.solution
        if self._watched is not None:
            last = self.read_solution(self._watched.best_routes)
            self.offer(last)
            # of equally good ones the last, since which others were seen on the way depends on the clock
            cost = last.cost(self._instance)
            is_as_good = self.price_solution(last, cost) == self.price
            solution = replace(last, stated_cost=cost) if is_as_good else self.solution
        seconds = time.perf_counter() - self._began
        return SearchOutcome(solution, self.cost, iterations, tuple(self._trace), seconds, is_interrupted)

    def price_solution(self, solution: Solution, cost: float) -> float:
        """What is to become less."""
        return cost

    def is_to_be_told(self, solution: Solution) -> bool:
        """Whether a better solution belongs into the history."""
        return True

    def read_solution(self, routes: Routes) -> Solution:
        """Routes as a searcher writes them."""
        return Solution(routes)

    def build_something(self) -> Solution:
        """Routes for when there was no time for anything."""
        return build_by_filling(self._instance)
