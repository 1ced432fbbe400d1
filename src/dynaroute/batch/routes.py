"""Batches of solutions, as tensors, and their lengths in the instances' own units and rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from dynaroute.base.errors import SolutionError
from dynaroute.batch.fleet import Fleet
from dynaroute.batch.instances import InstanceBatch
from dynaroute.problem.lengths import ROUNDING_CODES
from dynaroute.problem.solution import Solution


def leg_lengths(batch: InstanceBatch, start: Tensor, end: Tensor, rows: Tensor | None = None) -> Tensor:
    """Measure legs between nodes: (B, ...) lengths.

    Parameters
    ----------
    batch
        The instances.
    start, end
        (B, ...) nodes; they broadcast.
    rows
        (B, ...) the instances of these nodes; None: each row of nodes is of the instance of that row.
    """
    trailing = (1,) * (start.ndim - 1)
    if rows is None:
        rows = torch.arange(len(batch), device=batch.device).view(-1, *trailing)
    if batch.distances is not None:
        return batch.distances[rows, start, end]
    difference = batch.coordinates[rows, start] - batch.coordinates[rows, end]  # (B, ..., 2)
    length = difference.square().sum(-1).sqrt()  # (B, ...)
    rounding = batch.rounding[rows]
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
    kind
        (B, M) int32: the kind of vehicle of that route, if vehicles differ (`InstanceBatch.kinds`); -1 as above.
    depot
        (B, M) int32: the node where each customer's route starts and ends; None if no instance has several depots.
    """

    route: Tensor
    position: Tensor
    kind: Tensor | None = None
    depot: Tensor | None = None

    @classmethod
    def unvisited(cls, batch: InstanceBatch) -> RouteBatch:
        """Make empty tables: no customer is on a route yet."""
        route = torch.full((len(batch), batch.nodes), -1, dtype=torch.int32, device=batch.device)
        return cls(route, route.clone(), depot=None if batch.further_depots is None else torch.zeros_like(route))

    def started_at(self, row: Tensor, route: Tensor, depot: Tensor) -> RouteBatch:
        """Return the same routes, some of which start at other nodes than 0.

        Parameters
        ----------
        row, route, depot
            (R,) a solution, a route of it, and the node where that starts.
        """
        nodes = self.route.shape[1]
        starts = torch.zeros_like(self.route)  # (B, M) of each route
        starts[row, route] = depot.int()
        return replace(self, depot=starts.gather(1, self.route.clamp(min=0, max=nodes - 1).long()) * (self.route >= 0))

    @classmethod
    def alone(cls, batch: InstanceBatch) -> RouteBatch:
        """Put every customer on its own route, if vehicles differ by one that costs least."""
        number = torch.arange(batch.nodes, dtype=torch.int32, device=batch.device) - 1  # (M,)
        route = torch.where(batch.is_customer, number, -1)  # (B, M)
        kind = None
        if batch.kinds is not None and batch.fleet is not None:
            kind = torch.where(batch.is_customer, _choose_kinds(batch.kinds, batch.fleet), -1).int()
        return cls(route, torch.where(batch.is_customer, 0, -1).int(), kind)

    @classmethod
    def from_solutions(cls, solutions: Sequence[Solution], batch: InstanceBatch) -> RouteBatch:
        """Convert solutions to tensors.

        Parameters
        ----------
        solutions
            One solution per instance, visiting every customer once; if vehicles differ, with the kind of each route.
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
        routes = cls(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))
        if batch.further_depots is not None:
            return routes._start_by_types(solutions, batch)
        if batch.kinds is None:
            return routes
        kind = np.full(shape, -1, dtype=np.int32)
        for index, solution in enumerate(solutions):
            for own, stops in zip(solution.vehicles or (), solution.routes, strict=True):
                kind[index, list(stops)] = own
        return replace(routes, kind=torch.from_numpy(kind).to(batch.device))

    def _start_by_types(self, solutions: Sequence[Solution], batch: InstanceBatch) -> RouteBatch:
        """Start each route where its vehicle type does."""
        assert batch.rules is not None
        nodes_of = [{kind: node for node, kind in enumerate(row) if kind >= 0} for row in batch.rules.depot.tolist()]
        starts: list[tuple[int, int, int]] = []
        for index, (solution, nodes) in enumerate(zip(solutions, nodes_of, strict=True)):
            kinds = solution.vehicles if len(nodes) > 1 else (0,) * len(solution.routes)
            if kinds is None or not set(kinds) <= nodes.keys():
                message = f"solution {index + 1} does not say where its routes start."
                raise SolutionError.about("vehicles", message, "Give the vehicle type of each route.")
            starts += [(index, number, nodes[kind]) for number, kind in enumerate(kinds)]
        row, number, depot = torch.tensor(starts, device=batch.device).view(-1, 3).unbind(1)
        return self.started_at(row, number, depot)

    def __len__(self) -> int:
        return len(self.route)

    def __getitem__(self, index: slice | Tensor) -> RouteBatch:
        """Select solutions."""
        return self.map_tensors(lambda tensor: tensor[index])

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> RouteBatch:
        """Apply a function to every tensor."""
        return RouteBatch(**{name: change(table) for name, table in self._tables().items()})

    def list_tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        return list(self._tables().values())

    def replace_where(self, is_replaced: Tensor, others: RouteBatch) -> RouteBatch:
        """Return these solutions, with others where (B,) says so."""
        own = self._tables()
        return RouteBatch(
            **{name: torch.where(is_replaced[:, None], table, own[name]) for name, table in others._tables().items()}
        )

    def _tables(self) -> dict[str, Tensor]:
        tables = {"route": self.route, "position": self.position, "kind": self.kind, "depot": self.depot}
        return {name: table for name, table in tables.items() if table is not None}

    def with_rows(self, rows: Tensor, routes: RouteBatch) -> RouteBatch:
        """Return these solutions with others in the given rows, which have no more nodes.

        Parameters
        ----------
        rows
            (R,) which solutions are replaced.
        routes
            The R new ones, on any device.
        """
        parts = routes._tables()
        tables = {name: table.clone() for name, table in self._tables().items() if name in parts}
        for name, table in tables.items():
            table[rows, : parts[name].shape[1]] = parts[name].to(table.device)
        return RouteBatch(**tables)

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
        depot = torch.zeros_like(visits) if self.depot is None else self.depot.gather(1, visits).long()
        rows = torch.arange(len(batch), device=visits.device)[:, None].expand_as(visits)  # (B, M - 1)
        seen = batch
        if batch.kinds is not None and batch.fleet is not None:
            assert self.kind is not None
            seen, rows = batch.kinds, rows * batch.fleet.per_instance + self.kind.gather(1, visits).clamp(min=0)
        onward = leg_lengths(seen, visits[:, :-1], visits[:, 1:], rows[:, :-1])  # (B, M - 2)
        homeward = leg_lengths(seen, visits, depot, rows)  # (B, M - 1); 0 for padding, which is node 0
        # a table may hold other lengths for the way out than for the way back; straight lines are measured once
        outward = homeward if seen.distances is None else leg_lengths(seen, depot, visits, rows)
        if seen.rules is not None:
            homeward = homeward.masked_fill(seen.rules.is_open[rows], 0.0)
        if batch.fleet is not None:
            price = batch.fleet.per_length[rows]  # (B, M - 1)
            onward, homeward = onward * price[:, :-1], homeward * price
            outward = outward * price + batch.fleet.fixed[rows] * (route >= 0)
        # between routes, return to the depot and leave again
        between = torch.where(same_route, onward, homeward[:, :-1] + outward[:, 1:])
        return between.sum(1) + outward[:, 0] + homeward[:, -1]

    def to_solutions(self, batch: InstanceBatch) -> list[Solution]:
        """Convert to `Solution` objects with their costs stated; if vehicles differ, with the kind of each route."""
        costs = self.lengths(batch).tolist()
        visits, sizes = self.visits(), batch.sizes.tolist()
        numbers = self.route.gather(1, visits).cpu().numpy()  # (B, M - 1)
        types = None if self.depot is None else self._list_types(batch).gather(1, visits).cpu().numpy()  # (B, M - 1)
        is_first = numbers[:, 1:] != numbers[:, :-1]  # (B, M - 2) whether the next visit begins a route
        customers = visits.cpu().numpy()
        kinds = None if self.kind is None else self.kind.cpu().numpy()
        solutions = []
        for row, (stops, begins, size, cost) in enumerate(zip(customers, is_first, sizes, costs, strict=True)):
            order, edges = stops[:size].tolist(), [0, *(np.flatnonzero(begins[: size - 1]) + 1).tolist(), size]
            vehicles = None if kinds is None else tuple(kinds[row, [order[start] for start in edges[:-1]]].tolist())
            if types is not None:
                vehicles = tuple(types[row, edges[:-1]].tolist())
            routes = tuple(tuple(order[start:end]) for start, end in pairwise(edges))
            solutions.append(Solution(routes, cost, vehicles=vehicles))
        return solutions

    def _list_types(self, batch: InstanceBatch) -> Tensor:
        """(B, M) type of each customer's vehicle, which is that of its depot."""
        assert self.depot is not None
        assert batch.rules is not None
        return batch.rules.depot.gather(1, self.depot.long())


def _choose_kinds(kinds: InstanceBatch, fleet: Fleet) -> Tensor:
    """(B, M) the kind of vehicle that serves each customer alone at the least cost, of those that can."""
    rules = kinds.rules
    assert rules is not None
    node = torch.arange(kinds.nodes, device=kinds.device)[None]  # (1, M)
    depot = torch.zeros_like(node)
    is_back = ~rules.is_open[:, None]  # (B K, 1)
    length = leg_lengths(kinds, depot, node.expand(len(kinds), -1)) * (1 + is_back.long())  # (B K, M)
    price = length * fleet.per_length[:, None] + fleet.fixed[:, None]
    out, back = rules.durations[rules.row, 0], rules.durations[rules.row, :, 0] * is_back  # (B K, M) each
    way = rules.legs[rules.row, 0] + rules.legs[rules.row, :, 0] * is_back
    begin = torch.maximum(rules.early[:, :1] + out, rules.early)
    is_possible = (fleet.counts > 0)[:, None] & (kinds.demands.maximum(rules.pickups) <= kinds.capacity[:, None])
    is_possible &= (begin <= rules.late) & (begin + rules.service + back <= rules.late[:, :1])
    is_possible &= out + rules.service + back <= rules.longest_duration[:, None]
    is_possible &= way <= rules.longest_distance[:, None]
    price = price.masked_fill(~is_possible, torch.inf).view(-1, fleet.per_instance, kinds.nodes)  # (B, K, M)
    return price.argmin(1)
