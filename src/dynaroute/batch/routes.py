"""Batches of solutions, as tensors, and their lengths in the instances' own units and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from dynaroute.base.errors import SolutionError
from dynaroute.batch.instances import InstanceBatch
from dynaroute.problem.lengths import ROUNDING_CODES
from dynaroute.problem.solution import Solution


def leg_lengths(batch: InstanceBatch, start: Tensor, end: Tensor) -> Tensor:
    """Measure legs between nodes: (B, ...) lengths.

    Parameters
    ----------
    batch
        The instances.
    start, end
        (B, ...) nodes; they broadcast.
    """
    trailing = (1,) * (start.ndim - 1)
    rows = torch.arange(len(batch), device=batch.device).view(-1, *trailing)
    if batch.distances is not None:
        return batch.distances[rows, start, end]
    difference = batch.coordinates[rows, start] - batch.coordinates[rows, end]  # (B, ..., 2)
    length = difference.square().sum(-1).sqrt()  # (B, ...)
    rounding = batch.rounding.view(-1, *trailing)
    length = torch.where(rounding == ROUNDING_CODES["nearest"], (length + 0.5).floor(), length)
    return torch.where(rounding == ROUNDING_CODES["up"], length.ceil(), length)


@dataclass(frozen=True, eq=False)
class RouteBatch:
    """One solution for each instance of a batch.

    Attributes
    ----------
    route
        (B, M) int32: each customer's route, from 0; -1 for the depot and padding.
    position
        (B, M) int32: its position on that route, from 0; -1 for the depot and padding.
    """

    route: Tensor
    position: Tensor

    @classmethod
    def unvisited(cls, batch: InstanceBatch) -> RouteBatch:
        """Make empty tables: no customer is on a route yet."""
        route = torch.full((len(batch), batch.nodes), -1, dtype=torch.int32, device=batch.device)
        return cls(route, route.clone())

    @classmethod
    def alone(cls, batch: InstanceBatch) -> RouteBatch:
        """Put every customer on its own route."""
        number = torch.arange(batch.nodes, dtype=torch.int32, device=batch.device) - 1  # (M,)
        route = torch.where(batch.is_customer, number, -1)  # (B, M)
        return cls(route, torch.where(batch.is_customer, 0, -1).int())

    @classmethod
    def from_solutions(cls, solutions: Sequence[Solution], batch: InstanceBatch) -> RouteBatch:
        """Convert solutions to tensors.

        Parameters
        ----------
        solutions
            One solution per instance, visiting every customer once.
        batch
            The instances.
        """
        if len(solutions) != len(batch):
            message = f"there are {len(solutions)} solutions for {len(batch)} instances."
            raise SolutionError(message, remedy="Give one per instance.")
        shape = (len(batch), batch.nodes)
        route, position = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
        for index, (solution, size) in enumerate(zip(solutions, batch.sizes.tolist(), strict=True)):
            if sorted(customer for stops in solution.routes for customer in stops) != list(range(1, size + 1)):
                message = f"solution {index + 1} does not visit every customer exactly once."
                raise SolutionError.about("routes", message, "dynaroute check lists what is wrong.")
            for number, stops in enumerate(solution.routes):
                route[index, list(stops)] = number
                position[index, list(stops)] = np.arange(len(stops))
        return cls(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))

    def __len__(self) -> int:
        return len(self.route)

    def __getitem__(self, index: slice | Tensor) -> RouteBatch:
        """Select solutions."""
        return RouteBatch(self.route[index], self.position[index])

    def with_rows(self, rows: Tensor, routes: RouteBatch) -> RouteBatch:
        """Return these solutions with others in the given rows, which have no more nodes.

        Parameters
        ----------
        rows
            (R,) which solutions are replaced.
        routes
            The R new ones, on any device.
        """
        route, position = self.route.clone(), self.position.clone()
        route[rows, : routes.route.shape[1]] = routes.route.to(route.device)
        position[rows, : routes.route.shape[1]] = routes.position.to(position.device)
        return RouteBatch(route, position)

    def visits(self) -> Tensor:
        """(B, M - 1) customers in order of visit, then zeros as padding."""
        nodes = self.route.shape[1]
        is_customer = self.route >= 0  # (B, M)
        route = self.route.clamp(min=0).long()
        counts = torch.zeros_like(route).scatter_add(1, route, is_customer.long())  # (B, M) customers of each route
        before = (counts.cumsum(1) - counts).gather(1, route)  # (B, M) customers on earlier routes
        place = torch.where(is_customer, before + self.position, nodes - 1)
        node = torch.arange(nodes, device=route.device).expand_as(route)
        return torch.zeros_like(route).scatter(1, place, node)[:, :-1]  # a counting sort, which is cheaper

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
        # a table may hold other lengths for the way out than for the way back; straight lines are measured once
        outward = homeward if batch.distances is None else leg_lengths(batch, depot, visits)
        if batch.rules is not None:
            homeward = homeward.masked_fill(batch.rules.is_open[:, None], 0.0)
        # between routes, return to the depot and leave again
        between = torch.where(same_route, onward, homeward[:, :-1] + outward[:, 1:])
        return between.sum(1) + outward[:, 0] + homeward[:, -1]

    def to_solutions(self, batch: InstanceBatch) -> list[Solution]:
        """Convert to `Solution` objects with their costs stated."""
        costs = self.lengths(batch).tolist()
        visits, sizes = self.visits(), batch.sizes.tolist()
        numbers = self.route.gather(1, visits).cpu().numpy()  # (B, M - 1)
        is_first = numbers[:, 1:] != numbers[:, :-1]  # (B, M - 2) whether the next visit begins a route
        customers = visits.cpu().numpy()
        solutions = []
        for stops, begins, size, cost in zip(customers, is_first, sizes, costs, strict=True):
            order, edges = stops[:size].tolist(), [0, *(np.flatnonzero(begins[: size - 1]) + 1).tolist(), size]
            solutions.append(Solution(tuple(tuple(order[start:end]) for start, end in pairwise(edges)), cost))
        return solutions
