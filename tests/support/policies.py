"""Small policies with random weights, and instances for them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch

from dynaroute.batch import InstanceBatch
from dynaroute.draw import draw_paper_set
from dynaroute.model import ModelCard, Policy, PolicyConfig
from dynaroute.model.config import KindName, Normalisation
from dynaroute.problem.instance import Instance

SMALL_AMD = PolicyConfig(dimension=16, heads=2, layers=1, feed_forward=32)
SMALL_AM = replace(PolicyConfig.am(), dimension=16, heads=2, layers=1, feed_forward=32)
_BEYOND = ("distance_bias", "edge_scores")  # settings that are not in the paper


def make_policy(
    config: PolicyConfig = SMALL_AMD, seed: int = 3, *, gain: float = 2.0, card: ModelCard | None = None
) -> Policy:
    """A policy in evaluation mode whose weights, and statistics of batches, are random.

    The gain spreads the logits, which the usual initial weights leave almost equal; the usual seed does not drive
    home after every customer.
    """
    generator = torch.Generator().manual_seed(seed)
    policy = Policy(config, generator=generator, card=card)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(gain)
        if policy.decoder.distance_weight is not None:
            policy.decoder.distance_weight.normal_(generator=generator)
    for module in policy.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_(generator=generator)
            module.running_var.uniform_(0.5, 2.0, generator=generator)
    return policy.eval()


def draw_instances(*sizes: int, seed: int = 0, capacity: int = 20) -> list[Instance]:
    """One instance of the paper's distribution of each size."""
    generator = np.random.default_rng(seed)
    return [draw_paper_set(size, 1, generator, capacity).instances()[0] for size in sizes]


def draw_batch(*sizes: int, seed: int = 0, capacity: int = 20) -> InstanceBatch:
    """The same as a batch."""
    return InstanceBatch.from_instances(draw_instances(*sizes, seed=seed, capacity=capacity))


def list_configurations(dimension: int, heads: int, feed_forward: int) -> list[PolicyConfig]:
    """Every combination of switches that `PolicyConfig` admits, with one layer of this shape."""
    kinds: tuple[tuple[KindName, Normalisation], ...] = (("AM-D", "tanh"), ("AM", "tanh"), ("AM", "batch"))
    shape: dict[str, Any] = {"dimension": dimension, "heads": heads, "layers": 1, "feed_forward": feed_forward}
    plain = [
        PolicyConfig(
            kind=kind,
            normalisation=normalisation,
            scaled=scaled,
            depot_features=features,
            shrinking_mean=shrinks,
            logit_query=query,
            **shape,
        )
        for (kind, normalisation), scaled, features, shrinks, query in product(
            kinds, (False, True), (2, 3), (False, True), (False, True)
        )
    ]
    switched: list[dict[str, Any]] = [dict.fromkeys(names, True) for names in (*((name,) for name in _BEYOND), _BEYOND)]
    further = [
        PolicyConfig(kind=kind, normalisation=normalisation, **switches, **shape)
        for (kind, normalisation), switches in product(kinds, switched)
    ]
    return plain + further


_SWITCHES = ("scaled", "shrinking_mean", "logit_query", *_BEYOND)


def name_configuration(config: PolicyConfig) -> str:
    """Its switches in words, for the names of tests."""
    switches = [name for name in _SWITCHES if getattr(config, name)]
    return ", ".join([config.kind, config.normalisation, f"{config.depot_features} features", *switches])
