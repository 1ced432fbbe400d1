"""REINFORCE: one training step (eq 27, Algorithm 1's loop body)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Chooser, Sample, StartAt
from dynaroute.construct.eager import first_log_probabilities
from dynaroute.construct.noise import make_stream_keys
from dynaroute.kernels import kernels_run_on
from dynaroute.model.policy import Policy
from dynaroute.training.baselines import Baseline
from dynaroute.training.instances import InstanceSource
from dynaroute.training.memory import count_parts
from dynaroute.training.optimiser import Optimiser
from dynaroute.training.ranks import Ranks
from dynaroute.training.replay import replay_log_probabilities
from dynaroute.training.replay_layout import ReplaySize, RouteStarts
from dynaroute.training.statistics import hold_statistics

__all__ = [
    "Learner",
    "PolicyUpdate",
    "Replay",
    "StepReport",
    "UpdateInput",
    "reinforce_loss",
    "sample_solutions",
    "train_step",
]

_WEIGHED_TOGETHER = 16  # solutions that weigh 1 on the way back; fewer, and half precision loses small gradients


def train_step(learner: Learner, step: int) -> StepReport:
    """Draw instances, sample solutions, compare them with the baseline, and learn.

    Parameters
    ----------
    learner
        What learns, and from what.
    step
        Number of this step; it names the random streams.
    """
    # every process draws the instances of all and keeps its part: the same as one process with all of them
    count = learner.instances * learner.ranks.count
    everyones = learner.task.draw(count, learner.generator, first_key=step * count)
    batch = everyones[learner.ranks.part(learner.instances)]
    copies = batch.repeat_each(learner.samples)  # (B,) = instances x samples
    routes = sample_solutions(learner.policy, copies, learner.samples, step, forces_starts=learner.forces_starts)
    lengths = routes.lengths(copies)  # (B,)
    advantages = learner.baseline.advantages(batch, lengths)  # (B,)
    norm = learner.update(UpdateInput(copies, routes, advantages, learner.samples))
    return StepReport(lengths.mean(), norm)


def reinforce_loss(log_probability: Tensor, advantages: Tensor, samples: int, entropy: float) -> Tensor:
    """Eq 27: the sum over solutions of advantage times log p, whose gradient is the policy's.

    Parameters
    ----------
    log_probability
        (B,) of the solutions, those of an instance in a row.
    advantages
        (B,) length minus baseline; negative is good.
    samples
        Solutions of each instance.
    entropy
        What a unit of entropy is worth, in the units of the advantages: what is likely counts as longer.
    """
    if entropy > 0:
        likelihood = log_probability.detach().view(-1, samples)  # (instances, samples)
        advantages = advantages + entropy * (likelihood - likelihood.mean(1, keepdim=True)).flatten()
    return (advantages * log_probability).sum()


@dataclass(frozen=True, eq=False)
class PolicyUpdate:
    """θ <- Adam(θ, mean over solutions of the gradient of `reinforce_loss`).

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
        What a unit of entropy is worth: a policy that is sure of itself tries nothing new. Needs several samples of
        an instance.
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

    @cached_property
    def means(self) -> Tensor:
        """(2,) loss, and entropy (mean -log p), of the last step's solutions; on the device until they are read."""
        return torch.zeros(2, dtype=torch.float64, device=self.replay.policy.device)

    @cached_property
    def _sums(self) -> Tensor:
        """The same, added up over the parts of a step. Both are always in one place, where recordings find them."""
        return torch.zeros_like(self.means)

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step, in as many parts as memory asks for; returns the gradient's norm before clipping."""
        starts = given.find_starts()
        needed = ReplaySize.of(starts)
        parts = self.count_parts(given, needed)
        if parts == 1:
            return self.step(given, starts, needed)
        self.optimiser.zero_grad()
        for part in given.split(parts):
            self.accumulate(part, None, None)
        return self.finish(len(given.batch))

    def count_parts(self, given: UpdateInput, needed: ReplaySize) -> int:
        """Into how many parts a step is cut."""
        return count_parts(self.replay.policy, needed, given.batch.nodes, given.instances)

    def step(self, given: UpdateInput, starts: RouteStarts, room: ReplaySize) -> Tensor:
        """A whole step, as it is recorded: with known starts, in arrays of a given size."""
        self.optimiser.zero_grad()
        self.accumulate(given, starts, room)
        return self.finish(len(given.batch))

    def accumulate(self, part: UpdateInput, starts: RouteStarts | None, room: ReplaySize | None) -> None:
        """Add the gradients of a part; None: starts and sizes as they come."""
        log_probability = self.shared_replay(part, starts, room)  # (B,)
        loss = reinforce_loss(log_probability, part.advantages, part.samples, self.entropy)
        self._sums.add_(torch.stack([loss.detach().double(), -log_probability.detach().sum(dtype=torch.float64)]))
        (loss / _WEIGHED_TOGETHER).backward()  # type: ignore[no-untyped-call]

    def finish(self, solutions: int) -> Tensor:
        """Move the parameters by the gradients of so many solutions; returns their norm before clipping.

        Once in a while a sum does not fit in half precision. Such gradients count as 0, so that momentum alone moves
        the parameters; the norm that is returned tells, and nobody has to wait for it.
        """
        torch.mul(self._sums, 1 / solutions, out=self.means)
        self._sums.zero_()
        gradients = [parameter.grad for parameter in self.replay.parameters() if parameter.grad is not None]
        torch._foreach_mul_(gradients, _WEIGHED_TOGETHER / solutions)  # the mean over solutions
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True)
        factor = torch.where(norm.isfinite(), (self.largest_norm / (norm + 1e-6)).clamp(max=1.0), 0.0)
        for gradient in gradients:
            gradient.nan_to_num_(0.0, 0.0, 0.0)
        torch._foreach_mul_(gradients, factor)
        self.optimiser.step()
        return norm


class Replay(nn.Module):
    """`replay_log_probabilities` as a module, which is what PyTorch shares among processes.

    Parameters
    ----------
    policy
        What learns.
    precision
        Of the matrix products.
    forces_starts
        Whether first customers were given, not chosen, so that their probability does not count.
    """

    def __init__(self, policy: Policy, precision: torch.dtype, forces_starts: bool = False) -> None:
        super().__init__()
        self.policy, self.precision, self.forces_starts = policy, precision, forces_starts

    def forward(self, given: UpdateInput, starts: RouteStarts | None, room: ReplaySize | None) -> Tensor:
        """Eq 1: (B,) log p(π | X)."""
        log_probability = replay_log_probabilities(
            self.policy, given.batch, given.routes, given.samples, room, self.precision, starts
        )
        if not self.forces_starts:
            return log_probability
        return log_probability - first_log_probabilities(self.policy, given.batch, given.routes)


def sample_solutions(
    policy: Policy, copies: InstanceBatch, samples: int, seed: int, *, forces_starts: bool = False
) -> RouteBatch:
    """One sampled solution for each copy of each instance.

    Parameters
    ----------
    policy
        The policy.
    copies
        Every instance `samples` times in a row.
    samples
        How many times.
    seed
        Of the samples.
    forces_starts
        Whether the k-th sample begins with the k-th customer (POMO), not with one that the policy chooses.
    """
    sample = torch.arange(len(copies), device=copies.device) % samples
    if policy.training and policy.config.normalisation == "batch" and kernels_run_on(policy.device):
        policy = hold_statistics(policy, copies[::samples])
    chooser: Chooser = Sample(make_stream_keys(seed, copies.keys, sample))
    if forces_starts:
        chooser = StartAt(1 + sample % copies.sizes, chooser)
    return construct_once(policy, copies, chooser)


class StepReport(NamedTuple):
    """What a step saw; tensors, so that nobody waits for them unless they are read.

    Attributes
    ----------
    length
        Mean length of the samples.
    gradient_norm
        Before clipping.
    """

    length: Tensor
    gradient_norm: Tensor


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

    @property
    def instances(self) -> int:
        """How many instances there are."""
        return len(self.batch) // self.samples

    def tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        values = [getattr(self.batch, field.name) for field in fields(self.batch)]
        return [
            value for value in (*values, self.routes.route, self.routes.position, self.advantages) if value is not None
        ]

    def find_starts(self) -> RouteStarts:
        """Where the routes begin, and which of them are alike."""
        return RouteStarts.of_routes(self.routes, self.batch.sizes, self.samples)

    def split(self, parts: int) -> list[UpdateInput]:
        """Parts of equally many instances, each with all its solutions."""
        if parts == 1:
            return [self]
        together = len(self.batch) // parts
        cuts = [slice(first, first + together) for first in range(0, len(self.batch), together)]
        return [UpdateInput(self.batch[cut], self.routes[cut], self.advantages[cut], self.samples) for cut in cuts]

    def clone(self) -> UpdateInput:
        """A copy in memory of its own."""
        routes = RouteBatch(self.routes.route.clone(), self.routes.position.clone())
        return UpdateInput(self.batch.map_tensors(torch.clone), routes, self.advantages.clone(), self.samples)


@dataclass(frozen=True, eq=False)
class Learner:
    """All that a step needs.

    Attributes
    ----------
    policy
        What learns.
    update
        Replays the solutions and takes the gradient step: a `PolicyUpdate`, or a recording of one.
    baseline
        What lengths are compared with.
    task
        Where instances come from.
    instances, samples
        How many instances of this process, and solutions of each.
    generator
        Source of the instances, on the policy's device and in the same state in all processes.
    ranks
        The processes.
    forces_starts
        Whether the samples of an instance begin with different customers (POMO).
    """

    policy: Policy
    update: Callable[[UpdateInput], Tensor]
    baseline: Baseline
    task: InstanceSource
    instances: int
    samples: int
    generator: torch.Generator
    ranks: Ranks
    forces_starts: bool = False
