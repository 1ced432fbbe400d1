"""Batch statistics as constants, so that kernels can build routes with AM during training."""

from __future__ import annotations

import copy

import torch
from torch import nn

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Chooser
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy


class StillPolicy:
    """An evaluation-mode policy that normalises like one in training does on a batch.

    It shares the parameters, but has its own running statistics, taken from the batch. So kernels, which need constant
    statistics, sample the same routes as plain operations would in training mode.

    Parameters
    ----------
    policy
        A policy with batch normalisation.
    """

    def __init__(self, policy: Policy) -> None:
        # made once, because copying a module takes longer than a step
        self._policy = copy.deepcopy(policy, {id(parameter): parameter for parameter in policy.parameters()})
        self._normalisations = [module for module in self._policy.modules() if isinstance(module, nn.BatchNorm1d)]
        for module in self._normalisations:
            module.momentum = 1.0  # ignore earlier statistics

    def take(self, batch: InstanceBatch) -> Policy:
        """Take the statistics of a batch, and return the policy, which has them until the next batch."""
        still = self._policy.train()
        is_node = batch.is_customer
        is_node[:, 0] = True
        instance, node = is_node.nonzero().unbind(1)  # (T,) each
        with torch.no_grad():
            features = batch.features(instance, node, still.dtype)  # (T, 3)
            still.encoder(features, node == 0, Packing(is_node.sum(1), batch.nodes))
            for module in self._normalisations:
                assert module.running_var is not None
                module.running_var.mul_(
                    (len(node) - 1) / len(node)
                )  # stored as an unbiased estimate, but applied as is
        return still.eval()


class ConstructionByStatistics:
    """`construct_once` for a policy in training, by the statistics of each batch.

    Parameters
    ----------
    policy
        A policy with batch normalisation.
    samples
        Number of consecutive copies of every instance in the batches.
    """

    def __init__(self, policy: Policy, samples: int) -> None:
        self.samples, self._still = samples, StillPolicy(policy)

    def __call__(self, policy: Policy, batch: InstanceBatch, chooser: Chooser) -> RouteBatch:
        """Build one solution per instance."""
        return construct_once(self._still.take(batch[:: self.samples]), batch, chooser)
