"""The policy's own way to improve: take neighbouring routes out and let it build their customers anew.

What is taken out is a smaller instance with the same depot and vehicles, which is what a policy was trained for. Many
of them are built at once, as a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Augmented, Greedy, Strategy, construct
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.instance import Instance
from dynaroute.model import Policy

__all__ = ["PolicyRebuilding"]

Route = tuple[int, ...]


class PolicyRebuilding:
    """A searcher that replaces groups of neighbouring routes by what a policy builds, where that is shorter.

    An iteration takes groups that have no route in common, as many as there are, and builds them as one batch.

    Parameters
    ----------
    instance
        The problem; with coordinates, since the policy reads them.
    problem
        The same as arrays.
    routes
        Where to start.
    policy
        Who builds.
    seed
        Of the choice of routes and of sampling.
    customers_together
        A group grows until it has this many customers.
    strategy
        How a group is built.
    """

    def __init__(
        self,
        instance: Instance,
        problem: SearchProblem,
        routes: Sequence[Sequence[int]],
        policy: Policy,
        seed: int,
        *,
        customers_together: int = 30,
        strategy: Strategy | None = None,
    ) -> None:
        self._instance = instance
        self._problem = problem
        self._policy = policy
        self._customers_together = customers_together
        self._strategy = Augmented(Greedy()) if strategy is None else strategy
        self._numbers = np.random.default_rng(seed)
        self._draws = torch.Generator().manual_seed(seed)
        self._is_halted = False
        self.adopt(routes, problem.cost(routes))

    @property
    def best_cost(self) -> float:
        """Cost of the present solution, which is the best."""
        return self._problem.cost(self._routes)

    @property
    def best_routes(self) -> tuple[Route, ...]:
        """The present solution, which is the best."""
        return tuple(self._routes)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Go on from another solution.

        Parameters
        ----------
        routes, cost
            The solution.
        """
        self._routes = [tuple(route) for route in routes]

    def halt(self) -> None:
        """Begin no more iterations."""
        self._is_halted = True

    def run(self, count: int, pace: Pace) -> None:
        """Run some iterations.

        Parameters
        ----------
        count
            How many.
        pace
            Of no importance here.
        """
        for _ in range(count):
            if self._is_halted:
                return
            self._rebuild(self._choose_groups())

    def _choose_groups(self) -> list[list[Route]]:
        """Part the routes into groups of neighbours, around customers drawn at random."""
        route_of = {customer: route for route in self._routes for customer in route}
        free = set(self._routes)
        groups = []
        for seed in (self._numbers.permutation(self._instance.size) + 1).tolist():
            if route_of[seed] not in free:
                continue
            group: list[Route] = []
            for customer in (seed, *self._problem.neighbours[seed].tolist()):
                if route_of[customer] in free:
                    group.append(route_of[customer])
                    free.remove(route_of[customer])
                if sum(map(len, group)) >= self._customers_together:
                    break
            groups.append(group)
        return groups

    def _rebuild(self, groups: list[list[Route]]) -> None:
        customers = [[customer for route in group for customer in route] for group in groups]
        batch = InstanceBatch.from_instances([_take_out(self._instance, chosen) for chosen in customers])
        built = construct(self._policy, batch, self._strategy, self._draws).to_solutions(batch)
        self._routes = []
        for group, chosen, solution in zip(groups, customers, built, strict=True):
            new = [tuple(chosen[number - 1] for number in route) for route in solution.routes]
            self._routes += new if self._problem.cost(new) < self._problem.cost(group) else group


def _take_out(instance: Instance, customers: list[int]) -> Instance:
    """The instance of some customers alone."""
    nodes = [0, *customers]
    assert instance.coordinates is not None
    return Instance(
        coordinates=instance.coordinates[nodes],
        demands=instance.demands[nodes],
        capacity=instance.capacity,
        distances=None if instance.distances is None else instance.distances[np.ix_(nodes, nodes)],
        rounding=instance.rounding,
        metric=instance.metric,
    )
