"""Solutions side by side, as tensors: who is on which route, and what routes cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dynaroute.batch.instances import InstanceBatch
from dynaroute.batch.legs import leg_lengths
from dynaroute.errors import SolutionError, Where
from dynaroute.solution import Solution

__all__ = ["RouteBatch"]


@dataclass(frozen=True, eq=False)
class RouteBatch:
    """One solution for each instance of a batch.

    Attributes
    ----------
    route
        (B, M) int32: the route a customer is on, from 0; -1 for the depot and for padding.
    position
        (B, M) int32: its place on that route, from 0; -1 likewise.
    """

    route: Tensor
    position: Tensor

    @classmethod
    def unvisited(cls, batch: InstanceBatch) -> RouteBatch:
        """Tables to be filled in: no customer of the batch is on a route yet."""
        route = torch.full((len(batch), batch.nodes), -1, dtype=torch.int32, device=batch.device)
        return cls(route, route.clone())

    @classmethod
    def alone(cls, batch: InstanceBatch) -> RouteBatch:
        """Every customer on a route of its own."""
        number = torch.arange(batch.nodes, dtype=torch.int32, device=batch.device) - 1  # (M,)
        route = torch.where(batch.is_customer, number, -1)  # (B, M)
        return cls(route, torch.where(batch.is_customer, 0, -1).int())

    @classmethod
    def from_solutions(cls, solutions: Sequence[Solution], batch: InstanceBatch) -> RouteBatch:
        """Turn solutions into tensors.

        Parameters
        ----------
        solutions
            One for each instance of `batch`, each visiting every customer once.
        batch
            The instances.
        """
        if len(solutions) != len(batch):
            message = f"there are {len(solutions)} solutions for {len(batch)} instances."
            raise SolutionError(message, remedy="Give one for each.")
        shape = (len(batch), batch.nodes)
        route, position = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
        for index, (solution, size) in enumerate(zip(solutions, batch.sizes.tolist(), strict=True)):
            if sorted(customer for stops in solution.routes for customer in stops) != list(range(1, size + 1)):
                message = f"solution {index + 1} does not visit each customer once."
                raise SolutionError(message, where=Where(field="routes"), remedy="dynaroute check tells more.")
            for number, stops in enumerate(solution.routes):
                route[index, list(stops)] = number
                position[index, list(stops)] = np.arange(len(stops))
        return cls(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))

    def __len__(self) -> int:
        return len(self.route)

    def __getitem__(self, index: slice | Tensor) -> RouteBatch:
        """Some of the solutions."""
        return RouteBatch(self.route[index], self.position[index])

    def visits(self) -> Tensor:
        """(B, M - 1) customers in the order of their visits; padding comes last as 0."""
        nodes = self.route.shape[1]
        is_customer = self.route >= 0  # (B, M)
        route = self.route.clamp(min=0).long()
        counts = torch.zeros_like(route).scatter_add(1, route, is_customer.long())  # (B, M) customers of each route
        before = (counts.cumsum(1) - counts).gather(1, route)  # (B, M) customers on earlier routes
        place = torch.where(is_customer, before + self.position, nodes - 1)
        node = torch.arange(nodes, device=route.device).expand_as(route)
        return torch.zeros_like(route).scatter(1, place, node)[:, :-1]  # counting, which is cheaper than sorting

    def lengths(self, batch: InstanceBatch) -> Tensor:
        """(B,) cost of each solution in its instance's own units and rounding.

        Parameters
        ----------
        batch
            The instances these solutions belong to.
        """
        visits = self.visits()  # (B, M - 1)
        route = self.route.gather(1, visits)  # (B, M - 1); -1 where padding points at the depot
        same_route = (route[:, 1:] == route[:, :-1]) & (route[:, 1:] >= 0)
        depot = torch.zeros_like(visits)
        onward = leg_lengths(batch, visits[:, :-1], visits[:, 1:])  # (B, M - 2)
        homeward = leg_lengths(batch, visits, depot)  # (B, M - 1); 0 for padding
        # a change of route goes home and out again
        between = torch.where(same_route, onward, homeward[:, :-1] + homeward[:, 1:])
        return between.sum(1) + homeward[:, 0] + homeward[:, -1]

    def to_solutions(self, batch: InstanceBatch) -> list[Solution]:
        """Read the tensors as solutions, with their costs stated."""
        costs = self.lengths(batch).tolist()
        visits, sizes = self.visits().cpu().numpy(), batch.sizes.tolist()
        routes = self.route.cpu().numpy()
        solutions = []
        for index, (size, cost) in enumerate(zip(sizes, costs, strict=True)):
            order = visits[index, :size]
            breaks = np.flatnonzero(np.diff(routes[index, order])) + 1
            solutions.append(Solution(tuple(map(tuple, (part.tolist() for part in np.split(order, breaks)))), cost))
        return solutions
