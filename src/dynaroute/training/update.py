"""One gradient step from finished solutions: replay, backward, clip, Adam; recorded as a CUDA graph where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.kernels import LONGEST_SEGMENT
from dynaroute.model.policy import Policy
from dynaroute.training.optimiser import Optimiser
from dynaroute.training.ranks import Ranks
from dynaroute.training.replay import replay_log_probabilities, replay_starts
from dynaroute.training.replay_layout import ReplaySize, RouteStarts

__all__ = ["GraphedUpdate", "PolicyUpdate", "Replay", "UpdateInput", "choose_recording"]

_MOST_RECORDINGS = 8
_ROOM = 1.06  # of what a step needs, in a new recording


@dataclass(frozen=True, eq=False)
class UpdateInput:
    """What a step learns from: B solutions and how much worse than expected each is.

    Attributes
    ----------
    batch
        The instances, one a solution.
    routes
        The solutions.
    advantages
        (B,) length minus baseline; negative is good.
    samples
        Every instance stands so many times in a row, with a solution each.
    """

    batch: InstanceBatch
    routes: RouteBatch
    advantages: Tensor
    samples: int

    def tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        values = [getattr(self.batch, field.name) for field in fields(self.batch)]
        return [
            value for value in (*values, self.routes.route, self.routes.position, self.advantages) if value is not None
        ]

    @cached_property
    def starts(self) -> RouteStarts:
        """Where the routes begin, and which of them are alike."""
        return RouteStarts.of_routes(self.routes, self.batch.sizes, self.samples)

    def clone(self) -> UpdateInput:
        """A copy in memory of its own."""
        routes = RouteBatch(self.routes.route.clone(), self.routes.position.clone())
        return UpdateInput(self.batch.map_tensors(torch.clone), routes, self.advantages.clone(), self.samples)


class Replay(nn.Module):
    """`replay_log_probabilities` as a module, which is what PyTorch shares among processes.

    Parameters
    ----------
    policy
        What learns.
    precision
        Of the matrix products.
    """

    def __init__(self, policy: Policy, precision: torch.dtype) -> None:
        super().__init__()
        self.policy, self.precision = policy, precision

    def forward(self, given: UpdateInput, size: ReplaySize | None) -> Tensor:
        """Eq 1: (B,) log p(π | X), in arrays of the given size or as large as they need be."""
        if not self.policy.config.dynamic:
            batch, routes = given.batch, given.routes
            return replay_log_probabilities(self.policy, batch, routes, given.samples, precision=self.precision)
        room = size if size is not None else ReplaySize.of(given.starts)
        return replay_starts(self.policy, given.batch, given.starts, room, self.precision)


@dataclass(frozen=True, eq=False)
class PolicyUpdate:
    """Eq 27: θ <- Adam(θ, mean of advantage times ∇ log p).

    Attributes
    ----------
    replay
        Log-probabilities of solutions.
    optimiser
        Over the policy's parameters.
    ranks
        The processes, over which gradients are averaged.
    largest_norm
        Gradients are clipped to this norm.
    entropy
        What a unit of entropy is worth, in the units of the advantages: a policy that is sure of itself tries nothing
        new. Needs several samples of an instance.
    """

    replay: Replay
    optimiser: Optimiser
    ranks: Ranks
    largest_norm: float = 1.0
    entropy: float = 0.0

    @cached_property
    def shared_replay(self) -> nn.Module:
        """The replay whose gradients are means over all processes."""
        return self.replay if self.ranks.count == 1 else DistributedDataParallel(self.replay)

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step; returns the gradient's norm before clipping."""
        return self.step(given, None)

    def step(self, given: UpdateInput, size: ReplaySize | None) -> Tensor:
        """The step itself, in arrays of the given size or as large as they need be."""
        log_probability = self.shared_replay(given, size)  # (B,)
        advantages = given.advantages
        if self.entropy > 0:  # what is likely counts as longer
            likelihood = log_probability.detach().view(-1, given.samples)
            advantages = advantages + self.entropy * (likelihood - likelihood.mean(1, keepdim=True)).flatten()
        # 16 solutions weigh 1 on the way back, not all of them: half precision would lose the small gradients
        loss = (advantages * log_probability).sum() / 16
        self.optimiser.zero_grad()
        loss.backward()
        gradients = [parameter.grad for parameter in self.replay.parameters() if parameter.grad is not None]
        torch._foreach_mul_(gradients, 16 / len(given.batch))  # the mean over solutions
        norm = torch.nn.utils.clip_grad_norm_(self.replay.parameters(), self.largest_norm, foreach=True)
        self.optimiser.step()
        return norm


class GraphedUpdate:
    """`PolicyUpdate` recorded for arrays of a few sizes, then replayed: one launch instead of hundreds.

    A step uses the smallest recording that holds its solutions and is not much larger than they need. What a step
    needs varies, the more so the fewer its instances are: a new recording holds, besides, what those before it held,
    so that soon one of them holds nearly every step. Adam must be made with capturable=True and a tensor as learning
    rate. All steps have as many instances, nodes and samples as the first.

    Parameters
    ----------
    update
        What to record.
    """

    def __init__(self, update: PolicyUpdate) -> None:
        self.update = update
        self._input: _RecordedInput | None = None
        self._recordings: dict[ReplaySize, _Recording] = {}

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step; returns the gradient's norm before clipping."""
        if given.batch.nodes > LONGEST_SEGMENT:  # plain operations, in arrays that fit exactly
            return self.update(given)
        needed = ReplaySize.of(given.starts) if self._input is None else self._input.take(given)
        size = choose_recording(needed, len(given.batch) // given.samples, list(self._recordings))
        if self._input is None:
            # the first step wakes what must not wake during a recording: libraries, kernels, Adam's moments
            norm = self.update.step(given, size)
            self._input = _RecordedInput(given)
            return norm
        recording = self._recordings.pop(size, None)
        if recording is None:
            # never two at a time: memory is shared
            pool = next((other.graph.pool() for other in self._recordings.values()), None)
            recording = _Recording(self.update, self._input.given, size, pool)
        self._recordings[size] = recording  # the one used last is the last to go
        if len(self._recordings) > _MOST_RECORDINGS:
            del self._recordings[next(iter(self._recordings))]
        recording.graph.replay()
        return recording.norm


def choose_recording(needed: ReplaySize, instances: int, recorded: Sequence[ReplaySize]) -> ReplaySize:
    """The smallest recording that holds a step and is not much larger than it needs, or the size of a new one.

    Parameters
    ----------
    needed
        By the step.
    instances
        Of the step: the more they are, the less do steps of one policy differ, and the more is room for them wasted.
    recorded
        What there is.
    """
    roomy = _with_room(needed)
    most_tokens = max(roomy.state_tokens, needed.state_tokens * (1.1 + 4 * instances**-0.5))
    similar = [size for size in recorded if size.state_tokens <= most_tokens]
    fitting = [size for size in similar if size.holds(needed)]
    return min(fitting, key=lambda size: size.state_tokens) if fitting else roomy.join(*similar)


class _RecordedInput:
    """Where recordings read what they are given, and how large it is, which is recorded as well.

    The recordings of steps read the starts that this one finds, at the place where it found them first: so the copy
    must not have looked for them before.
    """

    def __init__(self, like: UpdateInput) -> None:
        self.given = like.clone()
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):
            self._counts = self.given.starts.counts

    def take(self, given: UpdateInput) -> ReplaySize:
        """Copy it in; the host waits for the device."""
        for mine, theirs in zip(self.given.tensors(), given.tensors(), strict=True):
            mine.copy_(theirs)
        self._graph.replay()
        return ReplaySize(*self._counts.tolist())


class _Recording:
    """A step on one input, in arrays of one size."""

    def __init__(self, update: PolicyUpdate, given: UpdateInput, size: ReplaySize, pool: Any) -> None:
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            self.norm = update.step(given, size)


def _with_room(size: ReplaySize) -> ReplaySize:
    """Some room, so that the next steps fit as well, and routes up to the next tile of the kernels."""
    roomy = {name: _with_room_for_more(count) for name, count in asdict(size).items()}
    return ReplaySize(**roomy | {"longest_route": max(15, (1 << size.longest_route.bit_length()) - 1)})


def _with_room_for_more(count: int) -> int:
    return -(-int(_ROOM * count) // 64) * 64 + 64
