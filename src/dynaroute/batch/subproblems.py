"""Parts of instances: some customers with their routes, as instances of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dynaroute.batch.instances import InstanceBatch
from dynaroute.batch.routes import RouteBatch


@dataclass(frozen=True)
class RoutePart:
    """Some routes of one instance.

    Attributes
    ----------
    row
        Which instance of the batch.
    customers
        Their numbers there; in the part they are 1, 2, ...
    route, position
        Route and position of each customer.
    """

    row: int
    customers: NDArray[np.int64]
    route: NDArray[np.int32]
    position: NDArray[np.int32]


def gather_parts(batch: InstanceBatch, parts: Sequence[RoutePart]) -> tuple[InstanceBatch, RouteBatch]:
    """Make instances from parts, with their routes; a policy sees them where they are in the whole.

    Parameters
    ----------
    batch, parts
        The instances, and at least one part of them.
    """
    count, nodes = len(parts), 1 + max(len(part.customers) for part in parts)
    node = np.zeros((count, nodes), dtype=np.int64)  # padding is the depot, which has no demand
    route, position = (np.full((count, nodes), -1, dtype=np.int32) for _ in range(2))
    for index, part in enumerate(parts):
        here = slice(1, len(part.customers) + 1)
        node[index, here], route[index, here], position[index, here] = part.customers, part.route, part.position
    rows = torch.tensor([part.row for part in parts], device=batch.device)
    nodes_of = torch.from_numpy(node).to(batch.device)  # (P, M)
    first = torch.from_numpy(node[:, 1]).to(batch.device)
    distances = None
    if batch.distances is not None:
        distances = batch.distances[rows[:, None, None], nodes_of[:, :, None], nodes_of[:, None, :]]
    problems = InstanceBatch(
        locations=batch.locations[rows[:, None], nodes_of],
        demands=batch.demands[rows[:, None], nodes_of],
        capacity=batch.capacity[rows],
        sizes=torch.tensor([len(part.customers) for part in parts], device=batch.device),
        keys=batch.keys[rows] ^ (first << 32),  # parts of one instance have random streams of their own
        coordinates=batch.coordinates[rows[:, None], nodes_of],
        rounding=batch.rounding[rows],
        distances=distances,
        rules=None if batch.rules is None else batch.rules.of_nodes(rows, nodes_of),
    )
    return problems, RouteBatch(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))


def merge_parts(batch: InstanceBatch, parts: Sequence[RoutePart], found: RouteBatch) -> RouteBatch:
    """Merge the routes of parts into those of whole instances.

    Parameters
    ----------
    batch, parts
        The instances, and parts that hold every customer once.
    found
        Routes of each part.
    """
    route, position = (np.full((len(batch), batch.nodes), -1, dtype=np.int32) for _ in range(2))
    used = np.zeros(len(batch), dtype=np.int32)
    routes, places = found.route.cpu().numpy(), found.position.cpu().numpy()
    for index, part in enumerate(parts):
        own = routes[index, 1 : len(part.customers) + 1]
        route[part.row, part.customers] = used[part.row] + own
        position[part.row, part.customers] = places[index, 1 : len(part.customers) + 1]
        used[part.row] += own.max() + 1
    return RouteBatch(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))
