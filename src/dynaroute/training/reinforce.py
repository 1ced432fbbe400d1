"""REINFORCE: one training step (eq 27, Algorithm 1's loop body)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Sample
from dynaroute.construct.noise import make_stream_keys
from dynaroute.model.policy import Policy
from dynaroute.training.baselines import Baseline
from dynaroute.training.instances import TrainingTask
from dynaroute.training.ranks import Ranks
from dynaroute.training.update import UpdateInput

__all__ = ["Learner", "StepReport", "sample_solutions", "train_step"]


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
class Learner:
    """All that a step needs.

    Attributes
    ----------
    policy
        What learns.
    update
        Replays the solutions and takes the gradient step.
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
    """

    policy: Policy
    update: Callable[[UpdateInput], Tensor]
    baseline: Baseline
    task: TrainingTask
    instances: int
    samples: int
    generator: torch.Generator
    ranks: Ranks


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
    routes = sample_solutions(learner.policy, copies, learner.samples, seed=step)
    lengths = routes.lengths(copies)  # (B,)
    advantages = learner.baseline.advantages(batch, lengths)  # (B,)
    norm = learner.update(UpdateInput(copies, routes, advantages, learner.samples))
    return StepReport(lengths.mean(), norm)


def sample_solutions(policy: Policy, copies: InstanceBatch, samples: int, seed: int) -> RouteBatch:
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
    """
    sample = torch.arange(len(copies), device=copies.device) % samples
    return construct_once(policy, copies, Sample(make_stream_keys(seed, copies.keys, sample)))
