"""Instances in the form the kernels need: integer lengths, near customers, known routes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.routes import leg_lengths
from dynaroute.search.gpu.kernel_rules import KernelRules
from dynaroute.search.gpu.launches import LARGEST_SMALL, Layout

NEAR = 64  # nearest customers next to which a customer of a large instance is tried

_LENGTH_BITS = 25  # of the longest leg, so that sums of twelve fit in 32 bits with a sign
_ENTRIES_AT_ONCE = 2**25  # lengths computed at a time
_SPARE_ROUTES = 8


@dataclass(frozen=True)
class KernelProblem:
    """I instances that are searched together, with S known solutions each.

    Attributes
    ----------
    layout
        Memory layout of the chains.
    lengths
        (I, M, M) int32, scaled by a power of two for each instance, so that whole numbers stay exact.
    demands
        (I, M) int32.
    capacity, sizes, slots
        (I,) int32; slots is the most routes of an instance.
    near
        (I, M, NEAR) int16 as unsigned: customers, nearest first; empty for small instances.
    keys
        (I,) int64.
    scale
        (I,) float64 factor of the lengths.
    visits
        (I * S, M - 1) int32 customers, route after route.
    routes
        (I * S, M) int32 route of each, -1 for the depot and for padding.
    rules
        Rules beyond capacity, if there are any.
    """

    layout: Layout
    lengths: Tensor
    demands: Tensor
    capacity: Tensor
    sizes: Tensor
    slots: Tensor
    near: Tensor
    keys: Tensor
    scale: Tensor
    visits: Tensor
    routes: Tensor
    rules: KernelRules | None = None

    @classmethod
    def prepare(cls, batch: InstanceBatch, starts: RouteBatch) -> KernelProblem:
        """Measure all legs, and sort known routes.

        Parameters
        ----------
        batch
            Instances of similar size, on the device that searches.
        starts
            Feasible routes, equally many per instance, grouped by instance.
        """
        count, copies = len(batch), len(starts) // len(batch)
        sizes = batch.sizes.int()
        most_routes = (starts.route.amax(1) + 1).view(count, copies).amax(1)  # (I,)
        slots = torch.minimum(sizes, most_routes + most_routes // 4 + _SPARE_ROUTES).int()
        rules = KernelRules.prepare(batch)
        layout = Layout(batch.nodes, int(slots.max()), 0 if rules is None else rules.switches)
        lengths, scale = _measure(batch)
        no_near = torch.zeros(0, dtype=torch.int16, device=batch.device)
        return cls(
            layout=layout,
            lengths=lengths,
            demands=batch.demands.int().contiguous(),
            capacity=batch.capacity.int().contiguous(),
            sizes=sizes.contiguous(),
            slots=slots.contiguous(),
            near=no_near if layout.is_small else list_near(lengths, sizes, NEAR),
            keys=batch.keys.contiguous(),
            scale=scale,
            visits=starts.visits().int().contiguous(),
            routes=starts.route.int().contiguous(),
            rules=rules,
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> int:
        """S: known solutions per instance."""
        return len(self.visits) // len(self)

    @property
    def route_counts(self) -> Tensor:
        """(I,) number of routes of each instance's first known solution."""
        return (self.routes.amax(1) + 1)[:: self.starts]


def list_groups(sizes: list[int]) -> list[list[int]]:
    """Group instances of similar size, largest first.

    An instance's group depends only on its own size.
    """
    groups: dict[int, list[int]] = {}
    for index, size in enumerate(sizes):
        groups.setdefault(find_group(size), []).append(index)
    return [groups[edge] for edge in sorted(groups, reverse=True)]


def find_group(size: int) -> int:
    """Return the largest size in the group of this size."""
    if size <= LARGEST_SMALL:
        return min(-(-size // 32) * 32, LARGEST_SMALL)
    edge = LARGEST_SMALL
    while edge < size:
        edge = edge * 5 // 4
    return edge


def _measure(batch: InstanceBatch) -> tuple[Tensor, Tensor]:
    """Measure all legs: (I, M, M) int32, 0 at padding, and their (I,) factors."""
    nodes = torch.arange(batch.nodes, device=batch.device)
    lengths = torch.empty((len(batch), batch.nodes, batch.nodes), dtype=torch.int32, device=batch.device)
    scale = torch.empty(len(batch), dtype=torch.float64, device=batch.device)
    step = max(1, _ENTRIES_AT_ONCE // batch.nodes**2)
    for first in range(0, len(batch), step):
        part = batch[first : first + step]
        exact = leg_lengths(part, nodes[None, :, None], nodes[None, None, :])  # (I, M, M)
        is_node = nodes <= part.sizes[:, None]  # (I, M)
        exact = exact * (is_node[:, :, None] & is_node[:, None, :])
        _, exponent = torch.frexp(exact.amax((1, 2)))  # the longest is below 2^exponent
        factor = torch.ldexp(torch.ones_like(exact[:, 0, 0]), _LENGTH_BITS - exponent)  # (I,)
        lengths[first : first + step] = (exact * factor[:, None, None]).round().int()
        scale[first : first + step] = factor
    return lengths, scale


def list_near(lengths: Tensor, sizes: Tensor, most: int) -> Tensor:
    """List the nearest customers of each, without itself and the depot: (I, M, K) int16. Ties go to the lower number.

    Parameters
    ----------
    lengths
        (I, M, M) of legs.
    sizes
        (I,) numbers of customers; entries beyond the other customers are unused.
    most
        K, at most the number of nodes.
    """
    count, nodes, _ = lengths.shape
    listed = min(most, nodes)
    near = torch.empty((count, nodes, listed), dtype=torch.int16, device=lengths.device)
    number = torch.arange(nodes, device=lengths.device)
    step = max(1, _ENTRIES_AT_ONCE // nodes**2)
    for first in range(0, count, step):
        part = slice(first, first + step)
        is_other = (number > 0) & (number <= sizes[part, None]) & (number != number[:, None, None])  # (M, I, M)
        away = torch.where(is_other.transpose(0, 1), lengths[part], 2**30)  # (I, M, M)
        order = away.argsort(dim=2, stable=True)[:, :, :listed]
        near[part] = order.to(torch.int16)  # as 16 bits without a sign
    return near
