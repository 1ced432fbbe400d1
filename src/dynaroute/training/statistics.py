"""Batch statistics as constants, so that kernels can build routes with AM during training."""

from __future__ import annotations

import copy

import torch
from torch import nn

from dynaroute.batch import InstanceBatch
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy

__all__ = ["hold_statistics"]


def hold_statistics(policy: Policy, batch: InstanceBatch) -> Policy:
    """Return an evaluation-mode policy that normalises like this one does in training on a batch.

    It shares the parameters, but has its own running statistics, taken from the batch. So kernels, which need constant
    statistics, sample the same routes as plain operations would in training mode.
    """
    still = copy.deepcopy(policy, {id(parameter): parameter for parameter in policy.parameters()}).train()
    normalisations = [module for module in still.modules() if isinstance(module, nn.BatchNorm1d)]
    for module in normalisations:
        module.momentum = 1.0  # ignore earlier statistics
    is_node = batch.is_customer
    is_node[:, 0] = True
    instance, node = is_node.nonzero().unbind(1)  # (T,) each
    with torch.no_grad():
        features = batch.features(instance, node, policy.dtype)  # (T, 3)
        still.encoder(features, node == 0, Packing(is_node.sum(1), batch.nodes))
        for module in normalisations:
            assert module.running_var is not None
            module.running_var.mul_((len(node) - 1) / len(node))  # stored as an unbiased estimate, but applied as is
    return still.eval()
