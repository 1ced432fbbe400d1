"""Instances in the form the kernels need: integer lengths, near customers, known routes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.fleet import Fleet
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
    kinds
        K: kinds of vehicles per instance; if they differ, `lengths`, `capacity` and `rules` have rows for each of them.
    slot_kinds
        (I, slots) int32 the kind of each possible route; empty if vehicles do not differ.
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
    rules: KernelRules | None
    kinds: int
    slot_kinds: Tensor

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
        visits = starts.visits().int().contiguous()
        seen, kinds, slot_kinds = batch, 1, torch.zeros(0, dtype=torch.int32, device=batch.device)
        if batch.kinds is not None and batch.fleet is not None:
            seen, kinds = batch.kinds, batch.fleet.per_instance
            starts, slots, slot_kinds = assign_slots(batch, batch.fleet, starts)
        rules = KernelRules.prepare(batch)
        layout = Layout(batch.nodes, int(slots.max()), 0 if rules is None else rules.switches)
        lengths, scale = _measure(seen, kinds, batch.fleet)
        no_near = torch.zeros(0, dtype=torch.int16, device=batch.device)
        return cls(
            layout=layout,
            lengths=lengths,
            demands=batch.demands.int().contiguous(),
            capacity=seen.capacity.int().contiguous(),
            sizes=sizes.contiguous(),
            slots=slots.contiguous(),
            near=no_near if layout.is_small else list_near(lengths[::kinds], sizes, NEAR),
            keys=batch.keys.contiguous(),
            scale=scale,
            visits=visits,
            routes=starts.route.int().contiguous(),
            rules=rules,
            kinds=kinds,
            slot_kinds=slot_kinds,
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> int:
        """S: known solutions per instance."""
        return len(self.visits) // len(self)

    @property
    def route_counts(self) -> Tensor:
        """(I,) number of routes of each instance's first known solution; if vehicles differ, of its slots in use."""
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


def _measure(seen: InstanceBatch, kinds: int, fleet: Fleet | None) -> tuple[Tensor, Tensor]:
    """Measure all legs, as each kind sees and prices them: (I K, M, M) int32, 0 at padding, and (I,) factors."""
    nodes = torch.arange(seen.nodes, device=seen.device)
    lengths = torch.empty((len(seen), seen.nodes, seen.nodes), dtype=torch.int32, device=seen.device)
    scale = torch.empty(len(seen) // kinds, dtype=torch.float64, device=seen.device)
    step = kinds * max(1, _ENTRIES_AT_ONCE // (kinds * seen.nodes**2))
    for first in range(0, len(seen), step):
        rows = slice(first, first + step)
        part = seen[rows]
        exact = leg_lengths(part, nodes[None, :, None], nodes[None, None, :])  # (R, M, M)
        if fleet is not None:
            exact = _price(exact, part, fleet.fixed[rows], fleet.per_length[rows])
        is_node = nodes <= part.sizes[:, None]  # (R, M)
        exact = exact * (is_node[:, :, None] & is_node[:, None, :])
        _, exponent = torch.frexp(exact.amax((1, 2)).view(-1, kinds).amax(1))  # the longest is below 2^exponent
        factor = torch.ldexp(torch.ones_like(exact[::kinds, 0, 0]), _LENGTH_BITS - exponent)  # (R / K,)
        lengths[rows] = (exact * factor.repeat_interleave(kinds)[:, None, None]).round().int()
        scale[first // kinds : (first + step) // kinds] = factor
    return lengths, scale


def _price(exact: Tensor, seen: InstanceBatch, fixed: Tensor, per_length: Tensor) -> Tensor:
    """Price legs: half of a vehicle's fixed price is on each leg at the depot, all of it on that of an open route."""
    assert seen.rules is not None
    toll = torch.where(seen.rules.is_open, fixed, fixed / 2)[:, None]  # (R, 1)
    priced = exact * per_length[:, None, None]
    priced[:, 0, 1:] += toll
    priced[:, 1:, 0] += toll
    return priced


def assign_slots(batch: InstanceBatch, fleet: Fleet, starts: RouteBatch) -> tuple[RouteBatch, Tensor, Tensor]:
    """Give every kind of vehicle slots for its routes, at most as many as it has vehicles.

    Parameters
    ----------
    batch, fleet
        The instances, and their vehicles.
    starts
        Known routes, within these numbers.

    Returns
    -------
    tuple
        The routes, numbered by their slots; (I,) int32 slots of each instance; and (I, slots) int32 their kinds.
    """
    assert starts.kind is not None
    count, kinds, copies = len(batch), fleet.per_instance, len(starts) // len(batch)
    is_first = starts.position == 0  # (I S, M)
    number = torch.where(is_first, starts.route, starts.route.shape[1] - 1).long()  # the last number is never a route's
    kind_of = torch.full_like(starts.route, -1).scatter(1, number, torch.where(is_first, starts.kind, -1))  # (I S, R)
    is_of = kind_of[:, :, None] == torch.arange(kinds, device=batch.device)  # (I S, R, K)
    used = is_of.sum(1).view(count, copies, kinds).amax(1)  # (I, K)
    free = torch.minimum(fleet.counts.view(count, kinds), batch.sizes[:, None])
    assert bool((used <= free).all()), "there are more routes than vehicles"
    wanted = torch.minimum(free, used + used // 4 + _SPARE_ROUTES)
    if batch.nodes - 1 <= LARGEST_SMALL:  # node numbers, including those of depots, should fit in a byte
        spare = (LARGEST_SMALL - used.sum(1, keepdim=True)).clamp(min=0) // kinds
        wanted = torch.where(wanted.sum(1, keepdim=True) > LARGEST_SMALL, wanted.minimum(used + spare), wanted)
    ends = wanted.cumsum(1)  # (I, K)
    slot = torch.arange(int(ends[:, -1].max()), device=batch.device)
    slot_kinds = (slot[None, :, None] >= ends[:, None, :]).sum(2).clamp(max=kinds - 1).int()  # (I, slots)
    rank = (is_of.cumsum(1) - 1).gather(2, kind_of.clamp(min=0).long()[:, :, None])[:, :, 0]  # (I S, R)
    begins = (ends - wanted).repeat_interleave(copies, 0).gather(1, kind_of.clamp(min=0).long())  # (I S, R)
    route = torch.where(starts.route >= 0, (begins + rank).gather(1, starts.route.clamp(min=0).long()), -1)
    return replace(starts, route=route.int()), ends[:, -1].int(), slot_kinds.contiguous()


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
