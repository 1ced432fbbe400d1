"""One instance of any size on a GPU, in rounds that begin with the best plan that anybody knows.

A small instance is searched as a whole. A large one is cut into parts, anew in each round, and each part is searched by
many chains, which exchange what they find; memory grows with the number of customers, not with its square.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.fleet import has_kinds, state_kinds, state_types
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.exchange import Exchange
from dynaroute.search.gpu.batched_search import SearchedBatch, search_batch
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.kernel_rules import RULES_ON_GPU, KernelRules
from dynaroute.search.gpu.launches import LARGEST_SMALL
from dynaroute.search.gpu.parts import PartSettings, cut_into_parts, search_parts

_WAITING_SECONDS = 0.02  # between two looks whether there is a first plan


@dataclass(frozen=True)
class RoundSettings:
    """Settings of rounds.

    Attributes
    ----------
    parts
        Sizes, times and temperatures of parts; its `rounds` are those of the whole time.
    most_whole
        Most customers of an instance that is searched as a whole before it is cut.
    fewest_routes, usual_routes
        A part has room for so many routes at least; else it is made as large as the second number of them.
    largest_part
        Most customers of a part, unless a single route has more.
    whole_rounds
        Rounds of an instance that is not cut.
    """

    parts: PartSettings = field(default_factory=PartSettings)
    most_whole: int = 2_000
    fewest_routes: int = 4
    usual_routes: int = 6
    largest_part: int = 2_000
    whole_rounds: int = 4

    def choose_part_size(self, solution: Solution) -> int:
        """Choose the most customers of a part: it needs several routes to exchange customers between them."""
        mean = sum(map(len, solution.routes)) / max(1, len(solution.routes))
        if self.fewest_routes * mean <= LARGEST_SMALL:
            return LARGEST_SMALL
        return min(self.largest_part, math.ceil(self.usual_routes * mean))


class RoundSearch:
    """Searches an instance on a GPU beside others, with whom it exchanges plans.

    Parameters
    ----------
    device
        The device that searches.
    instance
        Any problem whose rules the kernels know.
    seed
        Seed of the random numbers.
    settings
        Settings; None for the defaults.
    """

    def __init__(
        self, device: KernelDevice, instance: Instance, seed: int, settings: RoundSettings | None = None
    ) -> None:
        self.iterations = 0
        self._device = device
        self._instance = instance
        self._random = np.random.default_rng(seed)
        self._settings = settings or RoundSettings()
        self._measure: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None
        self._batch = self._show()

    def load_kernels(self) -> None:
        """Load the kernels for the rules of the instance, compiling them if necessary."""
        rules = KernelRules.prepare(self._batch)
        if rules is not None:
            self._device.with_rules(rules.switches)

    def run(self, exchange: Exchange, stopping: Stopping) -> None:
        """Search until told to stop, from the best plan of all at the beginning of each round.

        Parameters
        ----------
        exchange
            Where plans are left and found; another search leaves the first.
        stopping
            When to stop; there has to be a deadline.
        """
        assert stopping.deadline is not None
        while not exchange.has_plan.wait(_WAITING_SECONDS):
            if stopping.is_time_up():
                return
        rules, every = self._settings.parts, stopping.seconds_left
        seconds = rules.whole_share * every
        if not self._is_cut:
            seconds = every / self._settings.whole_rounds
        is_whole = not self._is_cut or self._instance.size <= self._settings.most_whole
        while not stopping.is_time_up() and stopping.seconds_left > rules.shortest / 2:
            if not is_whole:
                seconds = max(rules.shortest, every * (1 - rules.whole_share) / rules.rounds)
            soon = replace(stopping, deadline=min(stopping.deadline, time.perf_counter() + seconds))
            plan, price = exchange.best
            if stopping.is_reached_by(price):
                return
            found = self._search_once(plan, soon, is_whole=is_whole)
            self.iterations += int(found.iterations.sum())
            (solution,) = found.routes.to_solutions(self._batch)
            named = state_types(self._instance, replace(solution, stated_cost=None))
            exchange.leave(named, named.cost(self._instance))
            is_whole = not self._is_cut

    @property
    def _is_cut(self) -> bool:
        """Whether it is large enough for parts. Parts do not share vehicles of which there are few."""
        return self._instance.size >= self._settings.parts.least_size and not has_kinds(self._instance)

    def _search_once(self, plan: Solution, stopping: Stopping, *, is_whole: bool) -> SearchedBatch:
        """Search once from a plan: the whole, or parts."""
        batch, seed = self._batch, int(self._random.integers(2**62))
        routes = RouteBatch.from_solutions([state_kinds(self._instance, plan)], batch)
        if is_whole:
            return search_batch(self._device, batch, routes, stopping, seed=seed)
        most = self._settings.choose_part_size(plan)
        parts = list(cut_into_parts(batch, routes, self._random, most))
        population = self._settings.parts.population
        return search_parts(self._device, batch, parts, stopping, seed, population, self._measure)

    def _show(self) -> InstanceBatch:
        """Show the instance to the kernels; a large globe without its table of all lengths."""
        instance = self._instance
        if instance.coordinates is None:
            instance = replace(instance, coordinates=np.zeros((instance.size + 1, 2)), metric="euclidean")
        if instance.distances is None and instance.is_plain and instance.size > self._settings.most_whole:
            if instance.metric != "euclidean":
                self._measure = partial(_measure_all, instance)
            instance = replace(instance, metric="euclidean")
        return InstanceBatch.from_instances([instance], RULES_ON_GPU)


def _measure_all(instance: Instance, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(P, M, M) lengths between the (P, M) nodes of parts."""
    return instance.leg_lengths(nodes[:, :, None], nodes[:, None, :])
