"""The search of one instance: a first solution at once, then better ones until it has to stop."""

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

from dynaroute.base.limits import LARGEST_MATRIX
from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.annealing.parted import PartedAnnealing, cut_problem, find_places
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.exchange import Exchange
from dynaroute.search.genetic.breeding import Breeding
from dynaroute.search.genetic.genetic import GeneticSearch
from dynaroute.search.searchers import Pace, Relay, Searcher, Team, copy_best_to_worst, run_slices
from dynaroute.search.start import build_by_filling, build_by_near_savings

_KEEPING_THE_START = AnnealingSettings(hottest=0.1)  # a higher temperature would destroy a good start
_FROM_A_POLICY = AnnealingSettings(hottest=0.25)  # its routes are better than savings, but not yet good
_ANNEALING_SECONDS_AT_100 = (
    0.008  # annealing time at 100 customers before the genetic search takes over; see docs/results.md
)
_ANNEALING_GROWTH = 3.5  # power of the number of customers with which that time grows
_LATEST_HANDOVER = 0.6  # a later handover leaves the genetic search too little time
_CLOSING_SECONDS_PER_CUSTOMER, _CLOSING_SECONDS_PER_LEG = 2e-6, 1e-9
_USUAL_PATIENCE_SECONDS = 60.0  # if no limit is given
_USUAL_ITERATION_SECONDS = 3.5e-6  # assumed, for choices that must not depend on the machine's speed
_LARGE_ITERATION_SECONDS = 1e-5  # the same without a matrix
_HOT_START_ITERATIONS_PER_CUSTOMER = 150  # with fewer, a cooler start is better
_LEAST_HOT = 0.05
_SMALLEST_PART, _FEWEST_ROUTES = 70, 4  # fewest customers and routes per core
_TEAM_PATIENCE = 2.0  # several cores anneal this many times the core seconds of a single core
_EARLIEST_TEAM_HANDOVER = 0.03

Routes = tuple[tuple[int, ...], ...]


class Improvement(NamedTuple):
    """A better solution.

    Attributes
    ----------
    seconds
        When it was found, since the search's clock started.
    cost, solution
        What was found.
    """

    seconds: float
    cost: float
    solution: Solution


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search.

    Attributes
    ----------
    solution, cost
        The best found; never worse than the start.
    iterations
        Number of iterations, counted in those of ruin and recreate.
    trace
        (seconds, cost) of every improvement, including the first solution.
    seconds
        When it ended, by the same clock.
    is_interrupted
        Whether Ctrl-C ended it.
    savings_cost
        Cost of the routes by savings; infinite if there was no time for them.
    """

    solution: Solution
    cost: float
    iterations: int
    trace: tuple[tuple[float, float], ...]
    seconds: float
    is_interrupted: bool = False
    savings_cost: float = math.inf


def search(
    instance: Instance,
    start: Solution | None,
    stopping: Stopping,
    *,
    seed: int = 0,
    threads: int = 1,
    companions: int = 1,
    on_improvement: Callable[[Improvement], None] | None = None,
    is_by_policy: bool = False,
    exchange: Exchange | None = None,
) -> SearchOutcome:
    """Improve a solution until told to stop.

    Parameters
    ----------
    instance
        Any problem.
    start
        A feasible solution to start from, not checked here. Savings are used if better, or if None.
    stopping
        When to stop; it also holds the clock.
    seed
        Seed of the random numbers. With a number of iterations and no deadline it determines the result.
    threads
        Number of cores that work on it together.
    companions
        Number of instances searched in this process at the same time.
    on_improvement
        Called with better solutions, including the first, but not so often as to slow the search down.
    is_by_policy
        Whether a policy built the start: the search then begins hotter than from known routes.
    exchange
        Where other searches of the same instance leave their plans, if there are any.
    """
    incumbent = Incumbent(instance, stopping.began, on_improvement)
    has_matrix = instance.distances is not None or instance.size <= LARGEST_MATRIX
    stopping = leave_time_to_close(stopping, instance.size, has_matrix)
    iterations = 0
    is_interrupted = False
    savings_cost = math.inf
    try:
        if start is not None:
            incumbent.offer(start)
        problem = SearchProblem.from_instance(instance, is_time_up=stopping.is_time_up)
        by_savings = build_by_near_savings(problem)
        savings_cost, is_improved = problem.cost(by_savings), incumbent.offer(Solution(by_savings))
        kept = _FROM_A_POLICY if is_by_policy else _KEEPING_THE_START
        settings = _choose_settings(problem, stopping) if is_improved else kept
        if threads > 1:
            searcher = _choose_team(instance, problem, incumbent.solution.routes, settings, stopping, seed, threads)
        else:
            searcher = _choose_searcher(problem, incumbent.solution.routes, settings, stopping, seed)
        with halt_at_deadline(searcher, stopping):
            slices = run_slices(searcher, stopping, threads * companions)
            while not stopping.is_reached_by(incumbent.cost) and (done := next(slices, None)) is not None:
                iterations = done
                incumbent.watch(searcher)
                if exchange is not None:
                    incumbent.meet(exchange, searcher)
    except OutOfTimeError:
        pass  # use what there is
    except KeyboardInterrupt:
        is_interrupted = True
    if exchange is not None:
        incumbent.take_from(exchange)
    return replace(incumbent.conclude(iterations, is_interrupted), savings_cost=savings_cost)


@cache
def load_machine_code_of_search() -> None:
    """Load the machine code of all stages of a search, once per process, so that it takes no search time later."""
    search(_make_tiny_instance(), None, Stopping(iterations=1))  # one iteration of each stage


@cache
def load_machine_code_of_teams() -> None:
    """Load the machine code with which several cores search one instance; see `load_machine_code_of_search`."""
    problem = SearchProblem.from_instance(_make_tiny_instance())
    cut_problem(problem, np.array([1, 2], dtype=np.int32), np.array([0, 1, 2, 0], dtype=np.int32))
    breeding = Breeding(problem, threads=1)
    breeding.run(10_000, Pace(0.0, 0.0))  # enough that children join the population
    breeding.adopt(breeding.best_routes, breeding.best_cost)


@cache
def load_machine_code_of_large() -> None:
    """Load the machine code of searches without a matrix; see `load_machine_code_of_search`."""
    problem = SearchProblem.from_instance(_make_tiny_instance(), largest_matrix=0)
    RuinAndRecreate(problem, build_by_near_savings(problem), AnnealingSettings(), seed=0).run(1, Pace(0.0, 0.0))


def _make_tiny_instance() -> Instance:
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return Instance(square, np.array([0, 1, 1, 1]), 2)


def leave_time_to_close(stopping: Stopping, size: int, has_matrix: bool) -> Stopping:
    """Stop slightly earlier, because writing a solution and freeing a large matrix take time."""
    if stopping.deadline is None:
        return stopping
    seconds = size * _CLOSING_SECONDS_PER_CUSTOMER + (size * size * _CLOSING_SECONDS_PER_LEG if has_matrix else 0.0)
    return replace(stopping, deadline=stopping.deadline - seconds)


def _choose_settings(problem: SearchProblem, stopping: Stopping) -> AnnealingSettings:
    """Choose the initial temperature: lower than usual if there is too little time to cool down."""
    usual = AnnealingSettings()
    if problem.has_matrix:
        return usual
    iterations = stopping.iterations or _expect_seconds(stopping) / _LARGE_ITERATION_SECONDS
    share = iterations / problem.size / _HOT_START_ITERATIONS_PER_CUSTOMER
    return replace(usual, hottest=min(usual.hottest, max(_LEAST_HOT, share * usual.hottest)))


def _choose_searcher(
    problem: SearchProblem, routes: Routes, settings: AnnealingSettings, stopping: Stopping, seed: int
) -> Searcher:
    """Choose the searcher of one core: annealing, then the genetic search if there is time for it."""
    annealing = RuinAndRecreate(problem, routes, settings, seed)
    handover = _choose_handover(problem.size, stopping)
    if handover > _LATEST_HANDOVER or not problem.has_matrix:
        return annealing
    return Relay(annealing, GeneticSearch(problem, seed), handover)


def _choose_team(
    instance: Instance,
    problem: SearchProblem,
    routes: Routes,
    settings: AnnealingSettings,
    stopping: Stopping,
    seed: int,
    threads: int,
) -> Searcher:
    """Choose the searcher of several cores: parts of the routes side by side, then one population.

    If parts would be too small, there are several teams, each with a solution of its own.
    """
    most_parts = min(problem.size // _SMALLEST_PART, len(routes) // _FEWEST_ROUTES)
    places = find_places(instance, problem)
    annealing: list[Searcher] = [
        PartedAnnealing(problem, places, routes, settings, parts, seed, stream)
        if parts > 1
        else RuinAndRecreate(problem, routes, settings, seed, stream)
        for stream, parts in enumerate(_share_cores(threads, most_parts))
    ]
    handover = _TEAM_PATIENCE * _choose_handover(problem.size, stopping) / threads
    if handover > _LATEST_HANDOVER or not problem.has_matrix:
        return annealing[0] if len(annealing) == 1 else Team(annealing, copy_best_to_worst)
    handover = max(handover, _EARLIEST_TEAM_HANDOVER)
    # teams that exchange nothing find diverse solutions, which crossover needs
    return Relay(Team(annealing, None), Breeding(problem, threads, seed), handover, annealing)


def _share_cores(threads: int, most: int) -> list[int]:
    """Share all cores among as few teams as possible, about equally, with at most `most` cores in a team."""
    teams = math.ceil(threads / max(1, most))
    return [(threads + team) // teams for team in range(teams)]


def _choose_handover(size: int, stopping: Stopping) -> float:
    """Choose the progress at which the genetic search takes over; it needs more time on larger problems."""
    annealing_seconds: float = _ANNEALING_SECONDS_AT_100 * (size / 100) ** _ANNEALING_GROWTH
    return annealing_seconds / max(_expect_seconds(stopping), 1e-9)


def _expect_seconds(stopping: Stopping) -> float:
    """Estimate how long the search may take; the same on every machine if iterations end it."""
    seconds = _USUAL_PATIENCE_SECONDS if stopping.deadline is None else stopping.seconds_left
    if stopping.iterations is not None:
        seconds = min(seconds, stopping.iterations * _USUAL_ITERATION_SECONDS)
    return seconds


@contextmanager
def halt_at_deadline(searcher: Searcher, stopping: Stopping) -> Iterator[None]:
    """Halt the searcher when the time is up."""
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
        The best so far; the cost is infinite before there is one.
    price
        The value to minimise, here the cost.

    Parameters
    ----------
    instance
        The problem.
    began
        The value of `time.perf_counter` from which seconds are counted.
    on_improvement
        Called with each improvement.
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
        """Take a solution if it is better; returns whether it was."""
        cost = solution.cost(self._instance)
        price = self.price_solution(solution, cost)
        if price >= self.price:
            return False
        self.solution, self.cost, self.price = replace(solution, stated_cost=cost), cost, price
        if not self.is_reportable(solution):
            return True
        seconds = time.perf_counter() - self._began
        self._trace.append((seconds, cost))
        if self._on_improvement is not None:
            self._on_improvement(Improvement(seconds, cost, self.solution))
        return True

    def watch(self, searcher: Searcher) -> None:
        """Take what a searcher found, spending at most a twentieth of the time on it."""
        self._watched = searcher
        now = time.perf_counter()
        if now < self._next_look or searcher.best_cost >= self.price:
            return
        self.offer(self.read_solution(searcher.best_routes))
        taken = time.perf_counter() - now
        self._next_look = now + 20 * taken

    def meet(self, exchange: Exchange, searcher: Searcher) -> None:
        """Leave the best solution with the other searches, or let the searcher go on from theirs."""

        def adopt(solution: Solution) -> None:
            if self.offer(solution):
                searcher.adopt(self.write_routes(solution), self.price)

        if self.is_reportable(self.solution):
            exchange.visit(self.solution, self.price, adopt)

    def take_from(self, exchange: Exchange) -> None:
        """Take what the other searches found, if it is better."""
        exchange.settle(self.solution, self.price if self.is_reportable(self.solution) else math.inf, self.offer)

    def conclude(self, iterations: int, is_interrupted: bool) -> SearchOutcome:
        """Return the outcome, with at least some routes."""
        if math.isinf(self.price) or not self.is_reportable(self.solution):
            self.offer(self.build_fallback())
        solution = self.solution
        if self._watched is not None:
            last = self.read_solution(self._watched.best_routes)
            self.offer(last)
            # the last of equally good ones, because which others were seen depends on the clock
            cost = last.cost(self._instance)
            is_as_good = self.price_solution(last, cost) == self.price
            solution = replace(last, stated_cost=cost) if is_as_good else self.solution
        seconds = time.perf_counter() - self._began
        return SearchOutcome(solution, self.cost, iterations, tuple(self._trace), seconds, is_interrupted)

    def price_solution(self, solution: Solution, cost: float) -> float:
        """Return the value to minimise."""
        return cost

    def is_reportable(self, solution: Solution) -> bool:
        """Whether a better solution is recorded and reported."""
        return True

    def read_solution(self, routes: Routes) -> Solution:
        """Convert a searcher's routes to a `Solution`."""
        return Solution(routes)

    def write_routes(self, solution: Solution) -> Routes:
        """Convert a `Solution` to a searcher's routes."""
        return solution.routes

    def build_fallback(self) -> Solution:
        """Build simple routes if there was no time for anything else."""
        return build_by_filling(self._instance)
