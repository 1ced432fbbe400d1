"""Building routes with plain tensor operations: the reference, for any device and dtype, and differentiable.

The loop is over routes, not over steps of the whole batch, because between two visits to the depot nothing is
re-encoded and instances do not interact. In each round the remaining nodes of all unfinished instances are packed and
encoded; then every vehicle drives until it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Chooser, Departures, Follow, MostLikely, Resume, StepInfo, scramble
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Left, Memory, Policy
from dynaroute.model.rules import SegmentRules
from dynaroute.model.state import RouteState

Begin: TypeAlias = Callable[[Left, Tensor], Memory]  # the type of `Policy.begin`


class Decision(NamedTuple):
    """One step of P trajectories.

    Attributes
    ----------
    info
        Their positions.
    logits
        (P, M), eq 19.
    chosen
        (P,) slots.
    is_driving
        (P,) false for vehicles that are back and waiting.
    """

    info: StepInfo
    logits: Tensor
    chosen: Tensor
    is_driving: Tensor

    def log_probability(self) -> Tensor:
        """(P,) log p of eq 20 for the chosen node; 0 for waiting vehicles."""
        chosen = self.logits.log_softmax(1).gather(1, self.chosen[:, None]).squeeze(1)
        return torch.where(self.is_driving, chosen, torch.zeros_like(chosen))


def construct_eagerly(policy: Policy, batch: InstanceBatch, chooser: Chooser) -> RouteBatch:
    """Build one solution for each instance."""
    visits: list[tuple[Tensor, ...]] = []
    with torch.inference_mode():
        for info, _, chosen, _ in decide(policy, batch, chooser):
            node = info.nodes.gather(1, chosen[:, None]).squeeze(1)  # (P,)
            visits.append((info.trajectory, node, info.route, info.position))
    routes = chooser.known if isinstance(chooser, Resume) else RouteBatch.unvisited(batch)
    if not visits:
        return routes
    # written all at once, because thousands of small indexed writes would cost more than the policy
    trajectory, node, route, position = (torch.cat(parts) for parts in zip(*visits, strict=True))  # (steps x P,) each
    is_customer = (node > 0) & (node <= batch.sizes[trajectory])
    place = (trajectory[is_customer], node[is_customer])
    routes = replace(
        routes,
        route=routes.route.index_put(place, route[is_customer].int()),
        position=routes.position.index_put(place, position[is_customer].int()),
    )
    if batch.further_depots is None:
        return routes
    is_start = (node > 0) & ~is_customer
    routes = routes.started_at(trajectory[is_start], route[is_start], node[is_start])
    assert routes.depot is not None
    return replace(routes, position=routes.position - (routes.depot > 0).int())  # the depot is no position


def resume(
    policy: Policy, batch: InstanceBatch, known: RouteBatch, is_back: Tensor, then: Chooser | None = None
) -> RouteBatch:
    """Build on from partial solutions, with plain operations.

    Parameters
    ----------
    policy, batch
        As for `construct`, on one device.
    known
        Feasible routes of some customers, numbered from 0 without a gap; the others have route -1.
    is_back
        (B,) whether the vehicle of each last known route is back at the depot; else it goes on.
    then
        How further nodes are chosen; the most probable ones if None.

    Raises
    ------
    SolutionError
        If a known route is more than its vehicle can do.
    """
    return construct_eagerly(policy, batch, Resume(known, is_back, MostLikely() if then is None else then))


def log_probabilities(policy: Policy, batch: InstanceBatch, routes: RouteBatch) -> Tensor:
    """Compute (B,) log p(π | X) of given solutions (eq 1), differentiable, step by step.

    This is the reference for gradients: it encodes in float64 (`encode_exactly`), whatever the policy's dtype.

    Parameters
    ----------
    policy
        On the batch's device.
    batch
        The instances.
    routes
        A feasible solution for each instance.
    """
    return sum_log_probabilities(policy, batch, routes, policy.begin_exactly)


def sum_log_probabilities(policy: Policy, batch: InstanceBatch, routes: RouteBatch, begin: Begin) -> Tensor:
    """Do the same as `log_probabilities`, with `Policy.begin` or `Policy.begin_exactly`."""
    # float32 would lose a digit in a sum of hundreds
    total = torch.zeros(len(batch), dtype=torch.float64, device=batch.device)
    for decision in decide(policy, batch, Follow(routes), begin):
        total = total.index_add(0, decision.info.trajectory, decision.log_probability().double())
    return total.to(policy.dtype)


def first_log_probabilities(policy: Policy, batch: InstanceBatch, routes: RouteBatch) -> Tensor:
    """Compute (B,) log p of the first customer of each solution, differentiable."""
    return next(decide(policy, batch, Follow(routes))).log_probability()


def decide(policy: Policy, batch: InstanceBatch, chooser: Chooser, begin: Begin | None = None) -> Iterator[Decision]:
    """Take all decisions step by step, alternating encoder and decoder (eq 22).

    Parameters
    ----------
    policy
        On the batch's device.
    batch
        The instances.
    chooser
        How the next node is chosen.
    begin
        How the remaining nodes are encoded; `policy.begin` if None.
    """
    begin = policy.begin if begin is None else begin
    folded = policy.fold()
    start = Departures.of(batch) if not isinstance(chooser, Resume) else chooser.start(policy.encodes_anew)
    is_open, steps, routes = start.is_open & batch.is_customer, start.step, start.route  # (B, M), (B,), (B,)
    while True:
        unfinished = is_open.any(1).nonzero().squeeze(1)  # (P,)
        if not len(unfinished):
            return
        left = Departures(is_open[unfinished], steps[unfinished], routes[unfinished])
        drive = Stretch(policy, begin, batch, folded, unfinished, left)
        yield from drive.decide(chooser)
        now = drive.finish(batch.nodes)
        is_open = is_open.index_copy(0, unfinished, now.is_open)
        steps = steps.index_copy(0, unfinished, now.step)
        routes = routes.index_copy(0, unfinished, now.route)


class Stretch:
    """From one encoding to the next: one route per vehicle, or all its routes if nothing is re-encoded.

    Attributes
    ----------
    trajectory, step, route, position
        (P,) int64, as in `StepInfo`.
    state
        Of the vehicles.
    """

    def __init__(
        self, policy: Policy, begin: Begin, batch: InstanceBatch, folded: Tensor, trajectory: Tensor, start: Departures
    ) -> None:
        self.policy = policy
        self.trajectory, self.step, self.route = trajectory, start.step, start.route  # (P,) each
        self.position = torch.zeros_like(trajectory)
        is_left = start.is_open.clone()  # (P, B's M)
        is_left[:, 0] = True
        if batch.further_depots is not None:
            is_left |= batch.further_depots[trajectory]
        someone, state = _find_states(batch.keys[trajectory], is_left)  # (S,), (P,)
        is_left = is_left[someone]  # (S, B's M)
        lengths = is_left.sum(1)  # (S,)
        packing = Packing(lengths, int(lengths.max()))
        row, node = is_left.nonzero().unbind(1)  # (T,) each
        owner = trajectory[someone][row]  # (T,)
        is_depot = batch.find_depots(owner, node)  # (T,)
        memory = begin(Left(batch.features(owner, node, policy.dtype), is_depot, packing), folded)
        self.memory = memory if len(someone) == len(state) else memory.take(state)
        self.nodes = packing.pad(node)[state]  # (P, M)
        demands = packing.pad(batch.demands[owner, node])[state]  # (P, M)
        capacity = batch.capacity[trajectory]  # (P,)
        rules = None
        if batch.rules is not None:
            rules = SegmentRules.of(
                batch.rules, trajectory, self.nodes, demands, capacity, lengths[state], policy.dtype
            )
        self.state = RouteState.at_depot(demands, capacity, self.nodes > 0, rules)

    def decide(self, chooser: Chooser) -> Iterator[Decision]:
        """Step until every vehicle is back for good."""
        depot = torch.zeros_like(self.step)
        is_driving = torch.ones_like(self.step, dtype=torch.bool)
        while bool(is_driving.any()):
            info, logits = self.look()
            chosen = torch.where(is_driving, chooser(logits, info), depot)  # (P,)
            yield Decision(info, logits, chosen, is_driving)
            self.move(chosen, is_driving)
            is_driving = is_driving & ~self.is_back(chosen)

    def look(self) -> tuple[StepInfo, Tensor]:
        """Where the vehicles are, and their (P, M) logits."""
        info = StepInfo(self.trajectory, self.step, self.route, self.position, self.nodes)
        return info, self.policy.logits(self.memory, self.state)

    def move(self, chosen: Tensor, is_driving: Tensor) -> None:
        """Move every vehicle to its (P,) chosen slot; those that do not drive wait at the depot."""
        self.memory = self.policy.advance(self.memory, self.state, chosen)
        self.state = self.state.update(chosen)
        is_depot = chosen == 0
        self.step = self.step + is_driving
        self.route = self.route + (is_driving & is_depot)
        self.position = torch.where(is_depot, 0, self.position + 1)

    def is_back(self, chosen: Tensor) -> Tensor:
        """(P,) whether vehicles that have just moved are back for good, or until they are encoded again."""
        is_depot = chosen == 0
        return is_depot if self.policy.encodes_anew else is_depot & self.state.is_done

    def take(self, rows: Tensor) -> Stretch:
        """Select the (Q,) vehicles in `rows`, which may repeat: several continuations of one state."""
        taken = copy(self)
        taken.memory, taken.state = self.memory.take(rows), self.state.take(rows)
        taken.trajectory, taken.step, taken.route, taken.position, taken.nodes = (
            part[rows] for part in (self.trajectory, self.step, self.route, self.position, self.nodes)
        )
        return taken

    def finish(self, nodes: int) -> Departures:
        """Return where the vehicles start next, of batches of this many nodes."""
        left = torch.zeros(len(self.nodes), nodes, dtype=torch.bool, device=self.nodes.device)
        left = left.scatter(1, self.nodes, self.state.is_open_customer)  # depots stay, but nobody has to go there
        left[:, 0] = False
        return Departures(left, self.step, self.route)


def _find_states(keys: Tensor, is_left: Tensor) -> tuple[Tensor, Tensor]:
    """Group P trajectories with the same remaining customers of the same instance, which are encoded once.

    Returns
    -------
    Tensor
        (S,) a trajectory of each state, in order.
    Tensor
        (P,) the state of each trajectory.
    """
    number = torch.arange(len(keys), device=keys.device)
    if len(torch.unique(keys)) == len(keys):  # every instance is unique
        return number, number
    left = torch.where(is_left, scramble(torch.arange(is_left.shape[1], device=keys.device)), 0).sum(1)  # (P,)
    # keys may be small numbers like customers, so plain sums could collide
    _, state = torch.unique(scramble(left) + 3 * scramble(keys), return_inverse=True)  # (P,)
    first = torch.full_like(number, len(keys)).scatter_reduce(0, state, number, "amin")  # (P,); unused ones last
    someone = first[first < len(keys)].sort()
    return someone.values, someone.indices.argsort()[state]
