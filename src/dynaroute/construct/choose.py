"""How routes are chosen: choosers take one node after the other, and strategies the best of several attempts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from dynaroute.base.errors import OptionError, SolutionError
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
        (P,) int64: customers on the current route so far.
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
    """Force the first customer of the solution, then use another chooser.

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
        return torch.where(
            info.step == 0, self.customers[info.trajectory], chosen
        )  # at the first step, slots are node numbers


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
        is_next = on_route & (self.routes.position[rows, info.nodes] == info.position[:, None])
        return is_next.int().argmax(1)  # 0, the depot, if no customer is next


class Start(NamedTuple):
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
    def of(cls, batch: InstanceBatch) -> Start:
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

    def start(self, encodes_anew: bool) -> Start:
        """Begin after all whole routes if the remaining customers are encoded anew, and otherwise with the first."""
        whole = self._count_whole() * encodes_anew  # (B,)
        is_done = (self.known.route >= 0) & (self.known.route < whole[:, None])  # (B, M)
        return Start(~is_done, is_done.sum(1) + whole, whole)

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


SYMMETRIES = 8  # of the square: four quarter turns, each also mirrored

_HOTTEST = 1e6  # its inverse is the coldest; beyond these, logits / temperature overflow float32


class Strategy(Protocol):
    """A fixed number of attempts per instance."""

    @property
    def attempts(self) -> int:
        """Number of solutions built per instance."""
        ...

    @property
    def held(self) -> int:
        """Number of partial solutions that an attempt holds at once."""
        ...

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return the instances as the policy sees them in these (B,) attempts."""
        ...

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser | SolutionBuilder:
        """Return the chooser for these (B,) attempts at instances from `place`."""
        ...


class _AsGiven:
    """Attempts at instances as they are, one solution at a time."""

    @property
    def held(self) -> int:
        """One."""
        return 1

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return them unchanged."""
        return batch


@dataclass(frozen=True)
class Greedy(_AsGiven):
    """Greedy decoding: one attempt, taking the most probable node at every step."""

    @property
    def attempts(self) -> int:
        """One."""
        return 1

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Greedy."""
        return MostLikely()


@dataclass(frozen=True)
class Sampling(_AsGiven):
    """Sampling from the policy. The first k samples are the same for any larger number of samples.

    Attributes
    ----------
    samples
        Number of samples.
    temperature
        Above 1 is more random, below 1 less.
    """

    samples: int = 16
    temperature: float = 1.0

    def __post_init__(self) -> None:
        refuse_below_one("samples", self.samples)
        if not isinstance(self.temperature, Real) or not 1 / _HOTTEST <= self.temperature <= _HOTTEST:
            raise OptionError.about(
                "temperature",
                f"the temperature is {self.temperature!r}.",
                f"Give a number from {1 / _HOTTEST:g} to {_HOTTEST:g}; greedy decoding is temperature 0.",
            )

    @property
    def attempts(self) -> int:
        """The number of samples."""
        return self.samples

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Sample, with a separate random stream per attempt."""
        return Sample(make_stream_keys(seed, batch.keys, attempt), self.temperature)


@dataclass(frozen=True)
class MultiStart(_AsGiven):
    """Greedy decoding from k distinct first customers, the nearest to the depot.

    Attributes
    ----------
    starts
        k; an instance with fewer customers reuses its starts.
    """

    starts: int = 16

    def __post_init__(self) -> None:
        refuse_below_one("starts", self.starts)

    @property
    def attempts(self) -> int:
        """The number of starts."""
        return self.starts

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Force the first customer, then decode greedily."""
        distance = (batch.locations - batch.locations[:, :1]).norm(dim=-1)  # (B, M)
        distance = distance.masked_fill(~batch.is_customer, torch.inf)
        nearest = distance.sort(dim=1, stable=True).indices  # (B, M); ties go to the lower number
        rank = attempt % batch.sizes
        return StartAt(nearest.gather(1, rank[:, None]).squeeze(1), MostLikely())


@dataclass(frozen=True)
class Augmented:
    """Another strategy in all eight orientations of the square; the first is the original instance.

    Extra node features are computed again for each orientation (`InstanceBatch.with_node_features`).

    Attributes
    ----------
    strategy
        The strategy for each orientation.
    """

    strategy: Strategy

    @property
    def attempts(self) -> int:
        """Eight times those of the other strategy."""
        return SYMMETRIES * self.strategy.attempts

    @property
    def held(self) -> int:
        """Those of the other strategy."""
        return self.strategy.held

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Turn and mirror the instances; each orientation has its own random streams."""
        inner = self.strategy.place(batch, attempt // SYMMETRIES)
        orientation = attempt % SYMMETRIES
        turned = inner.turned_to(reflect(inner.locations, orientation))
        # orientation 0 keeps the streams of the plain strategy
        return replace(turned, keys=inner.keys ^ (orientation << 59))

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser | SolutionBuilder:
        """Return the other strategy's chooser."""
        return self.strategy.chooser(batch, attempt // SYMMETRIES, seed)


def reflect(locations: Tensor, symmetry: Tensor) -> Tensor:
    """Apply symmetries of the unit square.

    Parameters
    ----------
    locations
        (B, M, 2) in the unit square.
    symmetry
        (B,) 0 to 7; 0 is the identity.
    """
    code = symmetry[:, None]
    x, y = locations.unbind(-1)  # (B, M) each
    x = torch.where(code & 1 > 0, 1 - x, x)
    y = torch.where(code & 2 > 0, 1 - y, y)
    swap = code & 4 > 0
    return torch.stack([torch.where(swap, y, x), torch.where(swap, x, y)], -1)


def refuse_below_one(field: str, value: int) -> None:
    """Raise if a number of attempts is none."""
    if not isinstance(value, Integral) or value < 1:
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a whole number above 0.")
