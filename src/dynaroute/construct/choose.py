"""Choosing nodes one after the other, and the noise that samples are drawn with.

The noise is keyed by its use, and the same on every device and in every batch: each number is a hash of (seed,
instance, sample, step in the whole solution, node). So a sampled route does not depend on the rest of the batch, and
kernels can compute the same numbers. Only products modulo 2^32 and shifts are used, which are the same on all devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from dynaroute.base.errors import SolutionError
from dynaroute.batch import InstanceBatch, RouteBatch

if TYPE_CHECKING:
    from dynaroute.model.policy import Policy


class StepInfo(NamedTuple):
    """The position of P trajectories in their solutions.

    Attributes
    ----------
    trajectory
        (P,) int64 index in the batch.
    step
        (P,) int64: nodes visited so far, including returns to the depot.
    route
        (P,) int64: routes finished so far.
    position
        (P,) int64: nodes visited on the current route so far.
    nodes
        (P, M) int64: node number of each slot.
    """

    trajectory: Tensor
    step: Tensor
    route: Tensor
    position: Tensor
    nodes: Tensor


class Chooser(Protocol):
    """Chooses a slot for each of P trajectories."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Choose (P,) slots from (P, M) logits, never one with minus infinity."""
        ...


@runtime_checkable
class SolutionBuilder(Protocol):
    """Builds whole solutions with a policy, where choosing a slot at a time is not enough."""

    def build(self, policy: Policy, batch: InstanceBatch) -> RouteBatch:
        """Build one solution per instance, on the policy's device."""
        ...

    def watched(self, watch: Callable[[], None]) -> SolutionBuilder:
        """Return one that calls a function before every step; it may raise."""
        ...


class MostLikely:
    """Greedy: the most probable node; ties go to the lower number."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the argmax."""
        return logits.argmax(1)


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampling: a node drawn from eq 20.

    Attributes
    ----------
    stream_keys
        (B, 2) random streams of the trajectories.
    temperature
        Above 1 is more random, below 1 less.
    """

    stream_keys: Tensor
    temperature: float = 1.0

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the argmax after adding Gumbel noise."""
        return self.scores(logits, info).argmax(1)

    def scores(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Add noise to (P, M) logits: the largest is the sample."""
        noise = draw_gumbel(self.stream_keys[info.trajectory], info.step, info.nodes)
        return logits / self.temperature + noise


@dataclass(frozen=True, eq=False)
class StartAt:
    """Force the first customer of the solution, if it may be first, then use another chooser.

    Attributes
    ----------
    customers
        (B,) first customer of each trajectory.
    then
        The chooser for all other steps.
    """

    customers: Tensor
    then: Chooser

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the forced customer at the first step, then the other chooser's slot."""
        chosen = self.then(logits, info)
        forced = self.customers[info.trajectory]  # (P,)
        # at the first step, slots are node numbers; from the first depot, not everybody need be within reach
        slot = forced.clamp(max=logits.shape[1] - 1)[:, None]
        is_forced = (info.step == 0) & logits.gather(1, slot).squeeze(1).isfinite()
        return torch.where(is_forced, forced, chosen)


@dataclass(frozen=True, eq=False)
class Follow:
    """Follow given solutions, to compute their probability.

    Attributes
    ----------
    routes
        The solutions of all trajectories.
    """

    routes: RouteBatch

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the next stop of the given route, or the depot at its end."""
        rows = info.trajectory[:, None]
        on_route = self.routes.route[rows, info.nodes] == info.route[:, None]  # (P, M)
        position = self.routes.position[rows, info.nodes]  # (P, M)
        if self.routes.depot is None:
            return (on_route & (position == info.position[:, None])).int().argmax(1)  # 0, the depot, if nobody is next
        depot = torch.where(on_route, self.routes.depot[rows, info.nodes], 0)  # (P, M)
        is_next = on_route & (position + (depot > 0) == info.position[:, None])
        is_start = (info.nodes == depot.amax(1, keepdim=True)) & (info.nodes > 0) & (info.position == 0)[:, None]
        return (is_next | is_start).int().argmax(1)


class Departures(NamedTuple):
    """Where P trajectories leave the depot.

    Attributes
    ----------
    is_open
        (P, M) customers still to visit.
    step, route
        (P,) int64, as in `StepInfo`.
    """

    is_open: Tensor
    step: Tensor
    route: Tensor

    @classmethod
    def of(cls, batch: InstanceBatch) -> Departures:
        """Begin at the depot with every customer."""
        none = torch.zeros_like(batch.sizes)
        return cls(batch.is_customer, none, none)


@dataclass(frozen=True, eq=False)
class Resume:
    """Follow partial solutions to their end, then go on with another chooser.

    Attributes
    ----------
    known
        Routes of some customers, numbered from 0 without a gap; the others are in no route.
    is_back
        (B,) whether the vehicle of the last known route is back at the depot; else it goes on.
    then
        The chooser for all that is not known.
    """

    known: RouteBatch
    is_back: Tensor
    then: Chooser

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the next known stop, the depot after a whole route, or the other chooser's slot."""
        at_depot = info.position == 0
        following = Follow(self.known)(logits, info)  # (P,)
        is_whole = info.route < self._count_whole()[info.trajectory]
        is_known = (following > 0) | (is_whole & ~at_depot)
        if bool((is_known & logits.gather(1, following[:, None]).squeeze(1).isneginf()).any()):
            message = "a known route is more than its vehicle can do."
            raise SolutionError.about("known", message, "dynaroute check lists what is wrong.")
        return torch.where(is_known, following, self.then(logits, info))

    def start(self, encodes_anew: bool) -> Departures:
        """Begin after all whole routes if the remaining customers are encoded anew, and otherwise with the first."""
        whole = self._count_whole() * encodes_anew  # (B,)
        is_done = (self.known.route >= 0) & (self.known.route < whole[:, None])  # (B, M)
        return Departures(~is_done, is_done.sum(1) + whole, whole)

    def _count_whole(self) -> Tensor:
        """(B,) routes whose vehicle is back."""
        return (self.known.route.amax(1).long() + self.is_back.long()).clamp(min=0)


Words = TypeVar("Words", int, Tensor)

_MASK = 0xFFFFFFFF
_STARTS = (0x243F6A88, 0x13198A2E)  # two arbitrary different constants
_STEP = 0x9E3779B1  # odd constants that keep steps and nodes apart
_NODE = 0x85EBCA77


def make_stream_keys(seed: int, instance_keys: Tensor, samples: Tensor) -> Tensor:
    """Make a key for the random stream of each trajectory.

    Parameters
    ----------
    seed
        Any integer.
    instance_keys
        (P,) int64.
    samples
        (P,) int64: index of the sample of its instance.

    Returns
    -------
    Tensor
        (P, 2) int64 of 32 bits each.
    """
    first, second = (_mix(_mix(start ^ seed & _MASK) ^ (seed >> 32) & _MASK) for start in _STARTS)
    # computed on the device, because a copy from the host would wait for pending work
    words = torch.arange(2, device=instance_keys.device) * (second - first) + first  # (2,)
    for values in (instance_keys & _MASK, (instance_keys >> 32) & _MASK, samples & _MASK):
        words = _mix(words ^ values[:, None])
    return words


def draw_gumbel(stream_keys: Tensor, steps: Tensor, nodes: Tensor) -> Tensor:
    """Draw standard Gumbel noise: the argmax of logits plus noise is a sample from their softmax.

    Parameters
    ----------
    stream_keys
        (P, 2), from `make_stream_keys`.
    steps
        (P,) int64: nodes visited so far, including returns to the depot.
    nodes
        (P, M) int64: node numbers.

    Returns
    -------
    Tensor
        (P, M) float32.
    """
    row = _mix(stream_keys[:, 0] ^ (steps * _STEP & _MASK))  # (P,)
    bits = _mix(_mix(row[:, None] ^ (nodes * _NODE & _MASK)) ^ stream_keys[:, 1, None])  # (P, M)
    uniform = ((bits >> 9).float() + 0.5) * 2.0**-23  # strictly between 0 and 1, exact in float32
    return -torch.log(-torch.log(uniform))


def scramble(numbers: Tensor) -> Tensor:
    """Hash each number to 63 bits; the sum over a set identifies the set.

    The kernels' own version may differ, since only equality matters.
    """
    words = numbers.long() * -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed number
    words = (words ^ (words >> 30)) * -4658895280553007687  # 0xBF58476D1CE4E5B9
    words = (words ^ (words >> 27)) * -7723592293110705685  # 0x94D049BB133111EB
    return words ^ (words >> 31)


def _mix(words: Words) -> Words:
    """Mix all bits of 32-bit words."""
    words = (words ^ (words >> 16)) * 0x7FEB352D & _MASK
    words = (words ^ (words >> 15)) * 0x846CA68B & _MASK
    return words ^ (words >> 16)
