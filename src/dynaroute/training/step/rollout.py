"""A policy as a plain module that returns routes and their log-probabilities."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model.policy import Policy
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.step.reinforce import sample_solutions

__all__ = ["Rollout"]


class Rollout(nn.Module):
    """Samples one solution per instance in training mode, and decodes greedily in evaluation mode.

    For your own training loops, with any optimiser, baseline and library.

    Parameters
    ----------
    policy
        The policy that builds routes.
    samples
        Number of consecutive copies of every instance in the batches, each with its own sample.
    seed
        Seed of the samples; each call draws new ones.

    Examples
    --------
    >>> rollout = Rollout(Policy(generator=torch.Generator().manual_seed(1)))
    >>> routes, log_probability = rollout(batch)
    >>> (routes.lengths(batch) * log_probability).mean().backward()
    """

    def __init__(self, policy: Policy, samples: int = 1, seed: int = 0) -> None:
        super().__init__()
        self.policy, self.samples, self.seed = policy, samples, seed

    def forward(self, batch: InstanceBatch) -> tuple[RouteBatch, Tensor]:
        """Return routes and their (B,) differentiable log-probabilities."""
        if self.training:
            routes = sample_solutions(self.policy, batch, self.samples, self.seed)
            self.seed += 1
        else:
            routes = construct_once(self.policy, batch, MostLikely())
        precision = torch.float16 if self.policy.device.type == "cuda" else self.policy.dtype
        return routes, replay_log_probabilities(self.policy, batch, routes, self.samples, precision=precision)
