"""REINFORCE: one training step (eq 27, Algorithm 1's loop body)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Sample
from dynaroute.construct.noise import make_stream_keys
from dynaroute.model.policy import Policy
from dynaroute.training.instances import TrainingTask
from dynaroute.training.update import UpdateInput

__all__ = ["StepReport", "sample_solutions", "shared_advantages", "train_step"]


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


def train_step(
    policy: Policy,
    update: Callable[[UpdateInput], Tensor],
    task: TrainingTask,
    instances: int,
    samples: int,
    generator: torch.Generator,
    step: int,
) -> StepReport:
    """Draw instances, sample solutions, compare each with its siblings, and learn.

    Parameters
    ----------
    policy
        What learns.
    update
        Replays the solutions and takes the gradient step.
    task
        Where instances come from.
    instances, samples
        How many instances, and solutions of each.
    generator
        Source of the instances, on the policy's device.
    step
        Number of this step; it names the random streams.
    """
    batch = task.draw(instances, generator, first_key=step * instances)
    copies = batch.repeat_each(samples)  # (B,) = instances x samples
    routes = sample_solutions(policy, copies, samples, seed=step)
    lengths = routes.lengths(copies)  # (B,)
    advantages = shared_advantages(lengths, samples)  # (B,)
    norm = update(UpdateInput(copies, routes, advantages))
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


def shared_advantages(lengths: Tensor, samples: int) -> Tensor:
    """Length minus the mean of the instance's samples, over the standard deviation of the batch: (B,).

    Parameters
    ----------
    lengths
        (B,) the samples of an instance in a row.
    samples
        How many an instance has.
    """
    grouped = lengths.view(-1, samples)
    difference = grouped - grouped.mean(1, keepdim=True)
    return (difference / difference.std().clamp(min=1e-9)).flatten()
