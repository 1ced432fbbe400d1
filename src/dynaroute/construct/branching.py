"""Choosers that keep several partial solutions of each instance, and build routes from them step by step.

They need more than a chooser's single slot: states are copied where several continuations of one are kept, and what was
encoded at the depot is shared by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt
from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import (
    Chooser,
    Departures,
    MostLikely,
    Resume,
    Sample,
    SolutionBuilder,
    StepInfo,
    make_stream_keys,
    scramble,
)
from dynaroute.construct.eager import Stretch, construct_eagerly
from dynaroute.construct.strategies import refuse_below_one
from dynaroute.model.policy import Policy

_DIGITS = 1e10  # of lengths that are compared


def _never_stop() -> None:
    """Let the work go on."""


@dataclass(frozen=True)
class KeepLikeliest:
    """Beam search: of all continuations by a step, the most probable partial solutions of each instance are kept.

    The score is log p (eq 1); visits to the depot are steps, and finished solutions keep their score.

    Attributes
    ----------
    width
        Number of partial solutions kept.
    watch
        Called before each step; it may raise.
    """

    width: int
    watch: Callable[[], None] = _never_stop

    def watched(self, watch: Callable[[], None]) -> KeepLikeliest:
        """Return the same with another function that is called."""
        return replace(self, watch=watch)

    def build(self, policy: Policy, batch: InstanceBatch) -> RouteBatch:
        """Build routes for every instance: the shortest solution of the last beam."""
        with torch.inference_mode():
            beam = _Beam(policy, batch, self.width)
            while beam.pools:
                self.watch()
                beam.step()
        return _choose_shortest(batch, beam.routes, beam.owner)


@dataclass(frozen=True)
class KeepShortest:
    """Simulation-guided beam search (Choo et al. 2022), with routes as the steps of the tree.

    Whenever vehicles are at the depot, every kept partial solution is continued several times: a sampled route, then
    the most probable nodes to the end. Those with the shortest whole solutions are kept, one for each set of remaining
    customers.

    Attributes
    ----------
    width, expansions
        Number of partial solutions kept, and of continuations of each.
    seed
        Of the samples.
    watch
        Called before each step; it may raise.
    """

    width: int
    expansions: int
    seed: int
    watch: Callable[[], None] = _never_stop

    def watched(self, watch: Callable[[], None]) -> KeepShortest:
        """Return the same with another function that is called."""
        return replace(self, watch=watch)

    def build(self, policy: Policy, batch: InstanceBatch) -> RouteBatch:
        """Build routes for every instance."""
        best = construct_eagerly(policy, batch, self._timed(MostLikely()))
        active = torch.arange(len(batch), device=batch.device)  # (A,) instances whose routes are not all fixed
        beam = best[active.repeat_interleave(self.width)]  # (A width,)
        fixed = 0  # routes of every kept solution
        while len(active):
            beam = self._extend(policy, batch[active], beam, fixed)
            fixed += 1
            best = best.with_rows(active, beam[:: self.width])
            is_left = (beam.route.view(len(active), -1) >= fixed).any(1)  # (A,)
            active, beam = active[is_left], beam[is_left.repeat_interleave(self.width)]
        return best

    def _extend(self, policy: Policy, batch: InstanceBatch, beam: RouteBatch, fixed: int) -> RouteBatch:
        """Continue (A width) solutions after their first routes, and keep the best of old and new ones."""
        count, copies = len(batch), self.width * self.expansions
        every = batch.repeat_each(copies)
        parents = beam[torch.arange(len(beam), device=batch.device).repeat_interleave(self.expansions)]
        is_known = parents.route < fixed
        known = RouteBatch(*(torch.where(is_known, part, -1) for part in (parents.route, parents.position)))
        number = torch.arange(copies, device=batch.device).repeat(count)
        then = _SampleRoute(fixed, Sample(make_stream_keys(self.seed, every.keys, number)))
        resumed = Resume(known, torch.ones_like(every.sizes, dtype=torch.bool), self._timed(then))
        built = construct_eagerly(policy, every, resumed)
        both = RouteBatch(*(_join(old, new, count) for old, new in zip(_parts(beam), _parts(built), strict=True)))
        most = len(both) // count  # candidates of each instance
        lengths = both.lengths(batch.repeat_each(most)).view(count, most)
        node = torch.arange(batch.nodes, device=batch.device)
        left = torch.where(both.route > fixed, scramble(node), 0).sum(1).view(count, most)
        chosen = _choose_distinct(lengths, left, self.width)  # (A, width)
        return both[(chosen + most * torch.arange(count, device=batch.device)[:, None]).flatten()]

    def _timed(self, chooser: Chooser) -> Chooser:
        def choose(logits: Tensor, info: StepInfo) -> Tensor:
            self.watch()
            return chooser(logits, info)

        return choose


@dataclass(frozen=True)
class Beam:
    """Beam search by probability (`KeepLikeliest`); the shortest solution of the last beam counts.

    Attributes
    ----------
    width
        Number of partial solutions kept per instance.
    """

    width: int = 16

    def __post_init__(self) -> None:
        refuse_below_one("width", self.width)

    @property
    def attempts(self) -> int:
        """One."""
        return 1

    @property
    def held(self) -> int:
        """The width."""
        return self.width

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return them unchanged."""
        return batch

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> SolutionBuilder:
        """Keep the most probable partial solutions."""
        return KeepLikeliest(self.width)


@dataclass(frozen=True)
class SGBS:
    """Simulation-guided beam search (`KeepShortest`): partial solutions are judged by completing them.

    Attributes
    ----------
    width
        Number of partial solutions kept per instance.
    expansions
        Number of continuations of each at every visit to the depot.
    """

    width: int = 4
    expansions: int = 4

    def __post_init__(self) -> None:
        refuse_below_one("width", self.width)
        refuse_below_one("expansions", self.expansions)

    @classmethod
    def of(cls, completions: int) -> SGBS:
        """About as many continuations of each partial solution as there are of these, and at most so many in all."""
        refuse_below_one("completions", completions)
        width = isqrt(completions)
        return cls(width, completions // width)

    @property
    def attempts(self) -> int:
        """One."""
        return 1

    @property
    def held(self) -> int:
        """All continuations."""
        return self.width * self.expansions

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return them unchanged."""
        return batch

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> SolutionBuilder:
        """Keep those with the shortest completions."""
        return KeepShortest(self.width, self.expansions, seed)


@dataclass(frozen=True, eq=False)
class _SampleRoute:
    """Sample one route, and take the most probable nodes after it."""

    route: int
    sample: Sample

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        return torch.where(info.route == self.route, self.sample(logits, info), MostLikely()(logits, info))


class _Candidates(NamedTuple):
    """N continuations of partial solutions: (N,) each.

    Attributes
    ----------
    parent
        The partial solution.
    pool, row
        Where its state is; the pool is -1 for finished solutions.
    slot
        The next slot there.
    score
        log p with it.
    """

    parent: Tensor
    pool: Tensor
    row: Tensor
    slot: Tensor
    score: Tensor


class _Group(NamedTuple):
    """Vehicles that left the depot together, and the (P,) partial solutions that they belong to."""

    drive: Stretch
    member: Tensor


class _Beam:
    """H partial solutions, after the same number of steps.

    Attributes
    ----------
    owner
        (H,) instance of each.
    score
        (H,) log p so far.
    routes
        The H partial solutions.
    pools
        The states of those that are not finished.
    """

    def __init__(self, policy: Policy, batch: InstanceBatch, width: int) -> None:
        self.policy, self.batch, self.width = policy, batch, width
        self.folded = policy.fold()
        self.owner = torch.arange(len(batch), device=batch.device)
        self.score = torch.zeros(len(batch), dtype=torch.float64, device=batch.device)
        self.routes = RouteBatch.unvisited(batch)
        self.pools = [self._leave(self.owner, Departures.of(batch))] if len(batch) else []

    def step(self) -> None:
        """Visit one more node with every partial solution."""
        every = self._list_candidates()
        kept = _find_best(self.owner[every.parent], every.score, self.width)
        parent, pool, row, slot, self.score = (part[kept] for part in every)
        self.owner = self.owner[parent]
        routes = self.routes[parent]
        pools: list[_Group] = []
        leaving: list[tuple[Tensor, Departures]] = []
        for number, (drive, _) in enumerate(self.pools):
            member = (pool == number).nonzero().squeeze(1)  # (Q,)
            if not len(member):
                continue
            chosen, moved = slot[member], drive.take(row[member])
            node = moved.nodes.gather(1, chosen[:, None]).squeeze(1)  # (Q,)
            is_customer = node > 0
            place = member[is_customer], node[is_customer]
            routes.route[place] = moved.route[is_customer].int()
            routes.position[place] = moved.position[is_customer].int()
            moved.move(chosen, torch.ones_like(is_customer))
            is_back = moved.is_back(chosen)
            goes_on, leaves = ((~is_back).nonzero().squeeze(1), (is_back & ~moved.state.is_done).nonzero().squeeze(1))
            if len(goes_on):
                pools.append(_Group(moved.take(goes_on), member[goes_on]))
            if len(leaves):
                leaving.append((member[leaves], moved.take(leaves).finish(self.batch.nodes)))
        self.routes = routes
        if leaving:
            members, starts = zip(*leaving, strict=True)
            start = Departures(*(torch.cat(parts) for parts in zip(*starts, strict=True)))
            pools.append(self._leave(torch.cat(members), start))
        self.pools = pools

    def _leave(self, member: Tensor, start: Departures) -> _Group:
        """Encode what is left of (P,) partial solutions, the same states once."""
        policy = self.policy
        return _Group(Stretch(policy, policy.begin, self.batch, self.folded, self.owner[member], start), member)

    def _list_candidates(self) -> _Candidates:
        """The most probable continuations of every partial solution; finished ones stay as they are."""
        is_finished = torch.ones_like(self.owner, dtype=torch.bool)
        found: list[_Candidates] = []
        for number, (drive, member) in enumerate(self.pools):
            is_finished[member] = False
            logits = drive.look()[1].double().nan_to_num(0.0, neginf=-torch.inf)  # (P, M); huge weights give no numbers
            log_probability = logits.log_softmax(1)
            values, slots = log_probability.sort(dim=1, descending=True, stable=True)  # ties go to the lower number
            row, rank = values[:, : self.width].isfinite().nonzero().unbind(1)  # (N,) each
            score = self.score[member[row]] + values[row, rank]
            found.append(_Candidates(member[row], torch.full_like(row, number), row, slots[row, rank], score))
        finished = is_finished.nonzero().squeeze(1)
        nowhere = torch.full_like(finished, -1)
        found.append(_Candidates(finished, nowhere, nowhere, nowhere, self.score[finished]))
        return _Candidates(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def _find_best(owner: Tensor, score: Tensor, count: int) -> Tensor:
    """Find the `count` best of each owner, of (N,) candidates; ties go to the first."""
    order = score.argsort(descending=True, stable=True)
    order = order[owner[order].argsort(stable=True)]  # by owner, the best first
    sizes = torch.bincount(owner)
    rank = torch.arange(len(order), device=owner.device) - (sizes.cumsum(0) - sizes)[owner[order]]
    return order[rank < count]


def _choose_distinct(lengths: Tensor, left: Tensor, count: int) -> Tensor:
    """(B, count) the shortest of (B, C) candidates, one for each state; the shortest of all where states are few."""
    order = _round_lengths(lengths, lengths.amin(1, keepdim=True)).argsort(dim=1, stable=True)  # (B, C)
    state = left.gather(1, order)
    is_known = (state[:, :, None] == state[:, None]).tril(-1).any(2)  # (B, C)
    first = is_known.int().argsort(dim=1, stable=True)[:, :count]  # (B, count) new states first, the shortest first
    return order.gather(1, torch.where(is_known.gather(1, first), 0, first))


def _choose_shortest(batch: InstanceBatch, routes: RouteBatch, owner: Tensor) -> RouteBatch:
    """The shortest of each instance's solutions."""
    lengths = routes.lengths(batch[owner])
    least = lengths.new_full((len(batch),), torch.inf).scatter_reduce(0, owner, lengths, "amin")  # (B,)
    return routes[_find_best(owner, -_round_lengths(lengths, least[owner]), 1)]


def _round_lengths(lengths: Tensor, least: Tensor) -> Tensor:
    """Lengths beside the least, without the last digits, in which a tour differs from its reverse."""
    return (lengths / least.clamp(min=1e-300)).mul(_DIGITS).round()


def _parts(routes: RouteBatch) -> tuple[Tensor, Tensor]:
    return routes.route, routes.position


def _join(old: Tensor, new: Tensor, count: int) -> Tensor:
    """Put the (B K, M) old solutions of each instance before its (B L, M) new ones."""
    return torch.cat([part.view(count, -1, part.shape[1]) for part in (old, new)], 1).flatten(0, 1)
