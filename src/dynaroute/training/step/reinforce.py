"""REINFORCE: one training step (eq 27, the loop body of Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Chooser, Sample, StartAt, make_stream_keys
from dynaroute.construct.eager import first_log_probabilities
from dynaroute.kernels import kernels_run_on
from dynaroute.model.policy import Policy
from dynaroute.training.ranks import Ranks
from dynaroute.training.replay.layout import ReplaySize, RouteStarts, WholeSize, count_parts
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.step.baselines import Baseline
from dynaroute.training.step.instances import InstanceSource
from dynaroute.training.step.optimiser import Optimiser
from dynaroute.training.step.statistics import ConstructionByStatistics
from dynaroute.training.step.update_input import UpdateInput, spread_entropy, weigh_sizes

_WEIGHED_TOGETHER = (
    16  # solutions with total weight 1 in the backward pass; with fewer, half precision loses small gradients
)


def train_step(learner: Learner, step: int) -> StepReport:
    """Draw instances, sample solutions, compare them with the baseline, and update the policy.

    Parameters
    ----------
    learner
        The policy, and what it learns from.
    step
        Number of this step, which keys the random streams.
    """
    # every process draws all instances and keeps its part, so that the result equals that of one process
    count = learner.instances * learner.ranks.count
    everyones = learner.task.draw(count, learner.generator, first_key=step * count)
    batch = everyones[learner.ranks.part(learner.instances)]
    copies = batch.repeat_each(learner.samples)  # (B,) = instances x samples
    routes = sample_solutions(
        learner.policy,
        copies,
        learner.samples,
        step,
        forces_starts=learner.forces_starts,
        construct=learner.construct,
    )
    lengths = routes.lengths(copies)  # (B,)
    advantages = learner.baseline.advantages(batch, lengths)  # (B,)
    sampled = UpdateInput(copies, routes, advantages, learner.samples)
    norm = learner.update(sampled.keep_most_instructive(learner.replayed))
    return StepReport(lengths.mean(), norm)


def reinforce_loss(log_probability: Tensor, advantages: Tensor, samples: int, entropy: Tensor | float) -> Tensor:
    """Sum advantage times log p over solutions (eq 27).

    Parameters
    ----------
    log_probability
        (B,) log p of the solutions, grouped by instance.
    advantages
        (B,) length minus baseline; negative is good.
    samples
        Solutions per instance.
    entropy
        Weight of the entropy bonus, or one for each solution, in units of the advantages: likely solutions count as
        longer.
    """
    likelihood = log_probability.detach().view(-1, samples)  # (instances, samples)
    excess = (likelihood - likelihood.mean(1, keepdim=True)).flatten()  # (B,)
    return ((advantages + entropy * excess) * log_probability).sum()


@dataclass(frozen=True, eq=False)
class PolicyUpdate:
    """θ <- Adam(θ, mean over solutions of the gradient of `reinforce_loss`).

    Attributes
    ----------
    replay
        Log-probabilities of solutions.
    optimiser
        Optimiser of the policy's parameters.
    ranks
        The processes, over which gradients are averaged.
    largest_norm
        Gradients are clipped to this norm.
    entropy
        Weight of the entropy bonus, which keeps the policy exploring, for the largest instances (`spread_entropy`).
        Needs several samples per instance.
    size_weight
        How much more large instances count (`weigh_sizes`).
    """

    replay: Replay
    optimiser: Optimiser
    ranks: Ranks
    largest_norm: float = 1.0
    entropy: float = 0.0
    size_weight: float = 0.0

    @cached_property
    def shared_replay(self) -> nn.Module:
        """The replay, with gradients averaged over all processes."""
        return self.replay if self.ranks.count == 1 else DistributedDataParallel(self.replay)

    @cached_property
    def means(self) -> Tensor:
        """(2,) loss and entropy (mean -log p) of the last step, on the device."""
        return torch.zeros(2, dtype=torch.float64, device=self.replay.policy.device)

    @cached_property
    def _sums(self) -> Tensor:
        """The same, summed over the parts of a step. Both keep their memory, for recordings."""
        return torch.zeros_like(self.means)

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step, in as many parts as memory requires; returns the gradient norm before clipping."""
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
        """Count the parts that a step is cut into."""
        return count_parts(self.replay.policy, needed, given.batch.nodes, given.instances)

    def step(self, given: UpdateInput, starts: RouteStarts | None, room: ReplaySize | WholeSize) -> Tensor:
        """Take a whole step as it is recorded: with known starts, in arrays of a given size."""
        self.optimiser.zero_grad()
        self.accumulate(given, starts, room)
        return self.finish(len(given.batch))

    def accumulate(self, part: UpdateInput, starts: RouteStarts | None, room: ReplaySize | WholeSize | None) -> None:
        """Add the gradients of a part; None: find starts and sizes."""
        log_probability = self.shared_replay(part, starts, room)  # (B,)
        weight = weigh_sizes(self.size_weight, part.batch)
        entropy = weight * spread_entropy(self.entropy, part.batch)
        loss = reinforce_loss(log_probability, weight * part.advantages, part.samples, entropy)
        self._sums.add_(torch.stack([loss.detach().double(), -log_probability.detach().sum(dtype=torch.float64)]))
        (loss / _WEIGHED_TOGETHER).backward()  # type: ignore[no-untyped-call]

    def finish(self, solutions: int) -> Tensor:
        """Update the parameters from the gradients of this many solutions; returns their norm before clipping.

        Rarely, a sum overflows half precision. Such gradients count as 0, so that only momentum moves the parameters.
        The returned norm shows it, without waiting for the device.
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
    """`replay_log_probabilities` as a module, which PyTorch needs for distributed training.

    Parameters
    ----------
    policy
        The policy being trained.
    precision
        Precision of the matrix products.
    forces_starts
        Whether first customers were forced, so that their probability does not count.
    has_one_size
        Whether all instances have the same number of customers.
    """

    def __init__(
        self, policy: Policy, precision: torch.dtype, *, forces_starts: bool = False, has_one_size: bool = False
    ) -> None:
        super().__init__()
        self.policy, self.precision = policy, precision
        self.forces_starts, self.has_one_size = forces_starts, has_one_size

    def forward(self, given: UpdateInput, starts: RouteStarts | None, room: ReplaySize | WholeSize | None) -> Tensor:
        """Compute (B,) log p(π | X) (eq 1)."""
        log_probability = replay_log_probabilities(
            self.policy,
            given.batch,
            given.routes,
            given.samples,
            room,
            self.precision,
            starts,
            has_one_size=self.has_one_size,
        )
        if not self.forces_starts:
            return log_probability
        return log_probability - first_log_probabilities(self.policy, given.batch, given.routes)


Construct: TypeAlias = Callable[[Policy, InstanceBatch, Chooser], RouteBatch]  # the type of `construct_once`


def choose_construction(policy: Policy, samples: int) -> Construct:
    """Choose how a policy builds the routes that it learns from: the fastest way for its kind and device.

    Parameters
    ----------
    policy
        The policy.
    samples
        Solutions per instance.
    """
    if policy.training and policy.config.normalisation == "batch" and kernels_run_on(policy.device):
        return ConstructionByStatistics(policy, samples)
    return construct_once


def sample_solutions(
    policy: Policy,
    copies: InstanceBatch,
    samples: int,
    seed: int,
    *,
    forces_starts: bool = False,
    construct: Construct | None = None,
) -> RouteBatch:
    """Sample one solution for each copy of each instance.

    Parameters
    ----------
    policy
        The policy.
    copies
        Every instance `samples` times in a row.
    samples
        Copies per instance.
    seed
        Seed of the samples.
    forces_starts
        Whether the k-th sample is forced to start with the k-th customer (POMO).
    construct
        How routes are built: the result of `choose_construction`, made once for many batches; None for a single one.
    """
    sample = torch.arange(len(copies), device=copies.device) % samples
    chooser: Chooser = Sample(make_stream_keys(seed, copies.keys, sample))
    if forces_starts:
        chooser = StartAt(1 + sample % copies.sizes, chooser)
    construct = choose_construction(policy, samples) if construct is None else construct
    return construct(policy, copies, chooser)


class StepReport(NamedTuple):
    """Figures of a step, as tensors, so that only a reader waits for them.

    Attributes
    ----------
    length
        Mean length of the samples.
    gradient_norm
        Gradient norm before clipping.
    """

    length: Tensor
    gradient_norm: Tensor


@dataclass(frozen=True, eq=False)
class Learner:
    """Everything a step needs.

    Attributes
    ----------
    policy
        The policy being trained.
    update
        Replays the solutions and takes the gradient step: a `PolicyUpdate`, or a recording of one.
    baseline
        The baseline for lengths.
    task
        Source of instances.
    instances, samples, replayed
        Instances of this process, solutions sampled per instance, and how many of them the policy learns from.
    generator
        Source of the instances, on the policy's device and in the same state in all processes.
    ranks
        The processes.
    forces_starts
        Whether the samples of an instance are forced to start with different customers (POMO).
    construct
        How routes are built; None: as `choose_construction` says, anew in each step.
    """

    policy: Policy
    update: Callable[[UpdateInput], Tensor]
    baseline: Baseline
    task: InstanceSource
    instances: int
    samples: int
    replayed: int
    generator: torch.Generator
    ranks: Ranks
    forces_starts: bool = False
    construct: Construct | None = None
