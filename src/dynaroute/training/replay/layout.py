"""The layout of a replay, which computes only once what solutions of an instance share.

In order of visits, the nodes that remain before each route of a solution are a suffix. Two solutions of one instance
often have the same remaining customers before a route (always before the first), and then often drive the same route.
Further depots follow the customers, so they are in every suffix; a route that starts at one of them visits it first.
So a replay encodes each *state* (the remaining customers of an instance) once, and decodes each *route* that leaves a
state once. An *occurrence* is a route of one of the solutions. docs/engine.md says how much is shared.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.rules import RuleBatch
from dynaroute.construct.choose import scramble
from dynaroute.kernels import LONGEST_ROUTE, kernels_run_on
from dynaroute.model.decoder import Context, Projections
from dynaroute.model.policy import Policy
from dynaroute.model.rules import Outlook
from dynaroute.model.state import find_feasible

_PART_OF_GPU = 0.6  # of the available memory; what is kept for the backward pass is not all that is used
_ON_CPU = 4 << 30
_BYTES_OF_PAIR = 400.0  # while what a vehicle sees is computed for all pairs of a step and a node


@dataclass(frozen=True)
class ReplaySize:
    """Array sizes of a replay, at least what the solutions need.

    Attributes
    ----------
    occurrences
        Number of routes of all solutions.
    routes, route_tokens
        Number of distinct routes, and of nodes in the states they leave.
    states, state_tokens
        Number of distinct states, and of their nodes.
    longest_route
        Number of nodes visited on the longest route.
    pairs
        Number of pairs of a step of a distinct route and a node of its state, which only rules beyond capacity need.
    """

    occurrences: int
    routes: int
    route_tokens: int
    states: int
    state_tokens: int
    longest_route: int
    pairs: int = 0

    @classmethod
    def of(cls, starts: RouteStarts) -> ReplaySize:
        """Compute exactly what these solutions need. This is the only point where the host waits for the device."""
        return cls(*starts.counts.tolist())

    def holds(self, needed: ReplaySize) -> bool:
        """Whether arrays of this size are large enough for the other."""
        return all(room >= count for room, count in zip(astuple(self), astuple(needed), strict=True))

    def join(self, *others: ReplaySize) -> ReplaySize:
        """Return the smallest size that covers this one and the others."""
        return ReplaySize(*(max(counts) for counts in zip(*map(astuple, (self, *others)), strict=True)))


@dataclass(frozen=True)
class WholeSize:
    """Array size of a replay of whole solutions, at least what the longest needs.

    Attributes
    ----------
    steps
        Number of steps: customers and returns to the depot.
    """

    steps: int


def count_steps(routes: RouteBatch, sizes: Tensor) -> Tensor:
    """Count the (B,) steps of solutions of instances with (B,) customers, including returns to the depot."""
    return sizes + routes.route.amax(1) + 1


@dataclass(frozen=True, eq=False)
class RouteStarts:
    """Where the routes of solutions begin, and which are equal, by comparing every two samples.

    The number of a visit is n times its solution plus its position.

    Attributes
    ----------
    visits
        (B, n) customers in order of visit, then further depots.
    sizes
        (B,) number of both of each instance.
    state
        (B, n) for each visit that begins a route: the first visit with the same remaining customers of the same
        instance; -1 for other visits.
    route
        (B, n) likewise: the first visit that also begins the same route.
    route_lengths
        (B, n) number of nodes visited from the beginning of a route to its end.
    counts
        (7,) the numbers of a `ReplaySize`; 0 pairs without rules.
    depot
        (B, n) for each visit that begins a route: the node where it starts; None if no instance has several depots.
    """

    visits: Tensor
    sizes: Tensor
    state: Tensor
    route: Tensor
    route_lengths: Tensor
    counts: Tensor
    depot: Tensor | None = None

    @classmethod
    def of_routes(
        cls, routes: RouteBatch, sizes: Tensor, samples: int = 1, rules: RuleBatch | None = None
    ) -> RouteStarts:
        """Find them, without waiting for the device.

        Parameters
        ----------
        routes
            The solutions.
        sizes
            (B,) number of customers of each instance.
        samples
            Number of consecutive solutions per instance.
        rules
            The instances' rules beyond capacity.
        """
        visits, depot = routes.visits(), None  # (B, n)
        if rules is not None and routes.depot is not None:
            depot = routes.depot.gather(1, visits).long()  # (B, n)
            further = rules.is_further_depot  # (B, M)
            # behind the customers, places and nodes have the same order
            visits = torch.where(further[:, 1:], torch.arange(1, further.shape[1], device=visits.device), visits)
            sizes = sizes + further.sum(1)
        count, customers = visits.shape
        place = torch.arange(customers, device=visits.device)
        route = routes.route.gather(1, visits).long()  # (B, n)
        is_visit = route >= 0
        is_start = is_visit & (route != F.pad(route[:, :-1], (1, 0), value=-1))  # (B, n)
        following = torch.where(is_start, place, is_visit.sum(1, keepdim=True))[:, 1:]
        following = F.pad(following, (0, 1), value=customers).minimum(is_visit.sum(1, keepdim=True))
        following = following.flip(1).cummin(1).values.flip(1)  # (B, n) where the next route begins

        # sums of hashes identify sets of customers, and customers with their positions on a route
        customer = torch.where(is_visit, scramble(visits), 0)  # (B, n)
        left = customer.sum(1, keepdim=True) - customer.cumsum(1) + customer  # (B, n)
        at_place = torch.where(is_visit, scramble(visits + (routes.position.gather(1, visits) + 1) * customers), 0)
        driven = at_place.cumsum(1)
        on_route = driven.gather(1, (following - 1).clamp(min=0)) - driven + at_place  # (B, n)
        starts_elsewhere = torch.zeros_like(is_start) if depot is None else depot > 0
        if depot is not None:
            on_route = on_route + scramble(-depot)

        def first_alike(is_alike: Tensor) -> Tensor:
            sample = is_alike.int().argmax(-1)  # (I, n, S): the first that is true
            instance = torch.arange(count // samples, device=visits.device)[:, None, None]
            number = (instance * samples + sample) * customers + place[:, None]
            return torch.where(is_start, number.transpose(1, 2).reshape(count, customers), -1)

        def compare(values: Tensor) -> Tensor:
            by_sample = values.view(-1, samples, customers).transpose(1, 2)  # (I, n, S)
            return by_sample[:, :, :, None] == by_sample[:, :, None, :]  # (I, n, S, S)

        # visits that do not begin a route match none that do
        is_same_state = compare(torch.where(is_start, left, -1))
        state, same = first_alike(is_same_state), first_alike(is_same_state & compare(on_route))
        nodes = 1 + sizes[:, None] - place  # (B, n) of a state
        lengths = following - place + starts_elsewhere  # (B, n)
        is_own_state, is_own_route = _is_own(state), _is_own(same)  # (B, n)
        counts = [
            is_start.sum(),
            is_own_route.sum(),
            (is_own_route * nodes).sum(),
            is_own_state.sum(),
            (is_own_state * nodes).sum(),
            routes.position.amax().long() + 1 + starts_elsewhere.any(),
            (is_own_route * nodes * (lengths + 1)).sum() * (rules is not None),
        ]
        return cls(visits, sizes, state, same, lengths, torch.stack(counts), depot)


class Solutions(NamedTuple):
    """Finished solutions to replay.

    Attributes
    ----------
    batch, routes
        B instances, and a feasible solution for each.
    samples
        Number of consecutive copies of every instance, each with its solution.
    starts
        Where the routes begin, if already known.
    room
        Size of the arrays, if larger than needed, as for recordings.
    has_one_size
        Whether all instances are known to have the same number of customers.
    """

    batch: InstanceBatch
    routes: RouteBatch
    samples: int = 1
    starts: RouteStarts | None = None
    room: ReplaySize | WholeSize | None = None
    has_one_size: bool = False

    def count_steps(self) -> int:
        """Return the number of steps of the longest solution, or more if it was given."""
        if isinstance(self.room, WholeSize):
            return self.room.steps
        return int(count_steps(self.routes, self.batch.sizes).max())


@dataclass(frozen=True, eq=False)
class ReplayLayout:
    """Which nodes are in which segment: S states, and R routes with all nodes of the state they leave.

    A state's segment holds the depot and the remaining customers in some order. A route's segment holds the same in
    order of visit, so that its own customers come first. In arrays that are larger than needed, extra segments have
    length 0 and extra tokens have node -1.

    Attributes
    ----------
    states, routes
        The two kinds of segments.
    state_token
        (T,) the token of the states for each token of the routes.
    route_lengths
        (R,) nodes visited on each route.
    occurrence_route, occurrence_solution
        (O,) route and solution of each occurrence.
    is_occurrence
        (O,) false for padding.
    """

    states: Segments
    routes: Segments
    state_token: Tensor
    route_lengths: Tensor
    occurrence_route: Tensor
    occurrence_solution: Tensor
    is_occurrence: Tensor

    @classmethod
    def of_starts(cls, starts: RouteStarts, size: ReplaySize) -> ReplayLayout:
        """Lay out states and routes. Shapes depend only on `size`, so nothing waits for the device."""
        sizes, customers = starts.sizes, starts.visits.shape[1]
        is_state, is_route = _is_own(starts.state).flatten(), _is_own(starts.route).flatten()  # (B n,)
        first_of_state = _list_places(is_state, size.states)  # (S,)
        first_of_route = _list_places(is_route, size.routes)  # (R,)
        states = Segments.of_visits(starts.visits, first_of_state, sizes, size.state_tokens)
        leaving = Segments.of_visits(starts.visits, first_of_route, sizes, size.route_tokens)
        if starts.depot is not None:
            leaving = leaving.start_at(starts.depot.flatten()[first_of_route.clamp(min=0)], sizes)

        # a customer of a route's segment is found where the first solution with this state visits it
        place = torch.arange(customers, device=sizes.device)
        visit_place = starts.visits.new_zeros(len(sizes), customers + 1)  # (B, M)
        visit_place.scatter_(1, starts.visits, place.expand_as(starts.visits))
        first_like = starts.state.flatten()[first_of_route.clamp(min=0)].clamp(min=0)[leaving.token_segment]  # (T,)
        state = (is_state.cumsum(0) - 1)[first_like]  # (T,)
        slot = visit_place[first_like // customers, leaving.token_node.clamp(min=0)] - first_like % customers + 1
        token = states.offsets[state.clamp(min=0)] + torch.where(leaving.token_node > 0, slot, 0)
        # padding is spread out, because gradients for the same row wait for each other
        padding = torch.arange(size.route_tokens, device=sizes.device) % size.state_tokens

        occurrence = _list_places((starts.route >= 0).flatten(), size.occurrences)  # (O,)
        its_route = (is_route.cumsum(0) - 1)[starts.route.flatten()[occurrence.clamp(min=0)].clamp(min=0)]
        return cls(
            states=states,
            routes=leaving,
            state_token=torch.where(leaving.token_node >= 0, token, padding),
            route_lengths=torch.where(
                first_of_route >= 0, starts.route_lengths.flatten()[first_of_route.clamp(min=0)], 0
            ),
            occurrence_route=its_route,
            occurrence_solution=occurrence.clamp(min=0) // customers,
            is_occurrence=occurrence >= 0,
        )


@dataclass(frozen=True, eq=False)
class Segments:
    """Consecutive segments, each a depot with a suffix of a solution.

    Attributes
    ----------
    solution
        (P,) solution of each segment.
    lengths, offsets
        (P,) number of tokens of each segment, and the first of them; length 0 for padding.
    token_segment, token_node
        (T,) segment and node of each token; node -1 for padding.
    """

    solution: Tensor
    lengths: Tensor
    offsets: Tensor
    token_segment: Tensor
    token_node: Tensor

    @classmethod
    def of_visits(cls, visits: Tensor, first: Tensor, sizes: Tensor, tokens: int) -> Segments:
        """Lay out suffixes.

        Parameters
        ----------
        visits
            (B, n) customers in order of visit.
        first
            (P,) where suffixes begin, as numbers of visits over all solutions; -1 for padding.
        sizes
            (B,) number of customers of each instance.
        tokens
            Room to make.
        """
        count, customers = visits.shape
        solution = first.clamp(min=0) // customers
        lengths = torch.where(first >= 0, 1 + solution * customers + sizes[solution] - first, 0)
        offsets = lengths.cumsum(0) - lengths
        token = torch.arange(tokens, device=visits.device)
        segment = torch.searchsorted(offsets + lengths, token, right=True).clamp(max=len(first) - 1)  # (T,)
        slot = token - offsets[segment]
        visited = (first[segment] + slot - 1).clamp(0, count * customers - 1)
        node = torch.where(slot > 0, visits.flatten()[visited], 0)
        return cls(
            solution=solution,
            lengths=lengths,
            offsets=offsets,
            token_segment=segment,
            token_node=torch.where(slot < lengths[segment], node, -1),
        )

    def start_at(self, depot: Tensor, sizes: Tensor) -> Segments:
        """Move the depots where routes start, if not at node 0, from behind the customers to slot 1.

        Parameters
        ----------
        depot
            (P,) nodes where the segments' routes start.
        sizes
            (B,) number of customers and further depots of each instance.
        """
        slot = torch.arange(len(self.token_node), device=depot.device) - self.offsets[self.token_segment]
        start = depot[self.token_segment]  # (T,)
        # further depots come last, in order
        place = self.lengths[self.token_segment] - 1 - (sizes[self.token_solution] - start)
        is_moved = (start > 0) & (slot >= 1) & (slot <= place)
        before = torch.where(slot == 1, start, self.token_node.roll(1))
        return replace(self, token_node=torch.where(is_moved, before, self.token_node))

    @property
    def token_solution(self) -> Tensor:
        """(T,) solution of each token."""
        return self.solution[self.token_segment]


def _is_own(first_alike: Tensor) -> Tensor:
    """Mark (B, n) visits that are the first of their kind."""
    return first_alike == torch.arange(first_alike.numel(), device=first_alike.device).view_as(first_alike)


def _list_places(is_there: Tensor, room: int) -> Tensor:
    """List (room,) positions of true (N,) flags, then -1, without waiting for the device."""
    place = torch.where(is_there, is_there.cumsum(0) - 1, room)
    listed = torch.full((room + 1,), -1, dtype=torch.int64, device=is_there.device)
    return listed.scatter(0, place, torch.arange(len(is_there), device=is_there.device))[:-1]


def count_parts(policy: Policy, needed: ReplaySize, nodes: int, instances: int) -> int:
    """Return the number of equal parts that a step is cut into."""
    budget = _find_budget(policy.device)
    wanted = estimate_bytes(policy, needed, nodes) / budget
    return next(
        parts for parts in range(1, instances + 1) if instances % parts == 0 and parts >= min(wanted, instances)
    )


def estimate_bytes(policy: Policy, needed: ReplaySize, nodes: int) -> float:
    """Estimate what a replay keeps for the backward pass: numbers per token, and scores if no kernel avoids them."""
    config = policy.config
    # per layer: input, queries, keys and values, heads, middle, inner; as much again once in the backward pass
    per_state_token = (config.layers + 1) * (7 * config.dimension + config.feed_forward)
    per_route_token = 13 * config.dimension  # embedding, five projections, and their gradients
    numbers = needed.state_tokens * per_state_token + needed.route_tokens * per_route_token
    if kernels_run_on(policy.device) and needed.longest_route <= LONGEST_ROUTE:
        return 2.0 * numbers + _BYTES_OF_PAIR * needed.pairs
    scores = 4.0 * config.heads * needed.routes * (needed.longest_route + 1) * nodes
    return 4.0 * (numbers + scores)


def _find_budget(device: torch.device) -> float:
    """Return how many bytes a part may take."""
    if device.type != "cuda":
        return float(_ON_CPU)
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return _PART_OF_GPU * (free + unused)


class KnownSteps(NamedTuple):
    """S steps of each of P segments of M slots.

    Attributes
    ----------
    previous, target
        (P, S) int64: slots of the last visited node and of the next one.
    is_step
        (P, S) false for padding.
    is_open
        (P, S, M) customers and further depots not visited before a step.
    is_node
        (P, M) false for padding.
    remaining
        (P, S) remaining capacity.
    outlook
        What the vehicles see by rules beyond capacity; None without rules.
    """

    previous: Tensor
    target: Tensor
    is_step: Tensor
    is_open: Tensor
    is_node: Tensor
    remaining: Tensor
    outlook: Outlook | None = None


def sum_steps(
    policy: Policy, projections: Projections, steps: KnownSteps, demands: Tensor, capacities: Tensor
) -> Tensor:
    """Sum log p over known steps, with the decoder used for construction (eqs 12 to 20): (P,)."""
    graph = projections.graph  # (P, M, d_h)
    is_allowed, may_return = steps.is_open, steps.previous != 0  # (P, S, M), (P, S)
    if steps.outlook is not None:
        is_allowed, may_return = is_allowed & steps.outlook.feasible, may_return & steps.outlook.feasible[..., 0]
    # padding may always return, because something must be feasible
    may_return = may_return | ~steps.is_step | ~steps.is_node[:, :1]
    feasible = find_feasible(is_allowed, demands[:, None], steps.remaining, may_return)  # (P, S, M)
    in_mean = steps.is_node[:, None, :].expand_as(feasible)
    if policy.config.shrinking_mean:
        in_mean = steps.is_open.clone()
        in_mean[:, :, 0] = True
    nodes_in_mean = in_mean.sum(-1, keepdim=True).clamp(min=1)  # (P, S, 1)
    context = Context(
        mean=in_mean.to(graph.dtype) @ graph / nodes_in_mean,
        previous=steps.previous,
        fraction=steps.remaining.to(graph.dtype) / capacities[:, None].to(graph.dtype),
        outlook=steps.outlook,
    )
    logits = policy.decoder.logits(projections, context, feasible)  # (P, S, M)
    target = torch.where(steps.is_step, steps.target, 0)
    chosen = logits.log_softmax(-1).gather(2, target[..., None]).squeeze(-1)  # (P, S), eq 20
    return torch.where(steps.is_step, chosen, 0.0).sum(1, dtype=torch.float64).to(graph.dtype)
