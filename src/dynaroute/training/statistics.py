"""AM while it learns: the statistics of its batch as constants, so that kernels can build its routes."""

from __future__ import annotations

import copy

import torch
from torch import nn

from dynaroute.batch import InstanceBatch
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy

__all__ = ["hold_statistics"]


def hold_statistics(policy: Policy, batch: InstanceBatch) -> Policy:
    """A policy for evaluation that normalises as this one, in training, does over a batch.

    It has the same parameters, not copies of them, and running statistics of its own: those of the batch. A policy that
    learns samples routes by it, as plain operations would, but by kernels, which know only constants.

    Parameters
    ----------
    policy
        With batch normalisation.
    batch
        The instances, each once.
    """
    still = copy.deepcopy(policy, {id(parameter): parameter for parameter in policy.parameters()}).train()
    normalisations = [module for module in still.modules() if isinstance(module, nn.BatchNorm1d)]
    for module in normalisations:
        module.momentum = 1.0  # nothing of what was before
    is_node = batch.is_customer
    is_node[:, 0] = True
    instance, node = is_node.nonzero().unbind(1)  # (T,) each
    with torch.no_grad():
        features = batch.features(instance, node, policy.dtype)  # (T, 3)
        still.encoder(features, node == 0, Packing(is_node.sum(1), batch.nodes))
        for module in normalisations:
            assert module.running_var is not None
            module.running_var.mul_((len(node) - 1) / len(node))  # kept as an estimate, used as it is
    return still.eval()
