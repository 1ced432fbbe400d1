"""Leg lengths, in the instances' own units and rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.batch.instances import InstanceBatch
from dynaroute.problem.lengths import ROUNDING_CODES

__all__ = ["leg_lengths"]


def leg_lengths(batch: InstanceBatch, start: Tensor, end: Tensor) -> Tensor:
    """Measure legs between nodes: (B, ...) lengths.

    Parameters
    ----------
    batch
        The instances.
    start, end
        (B, ...) nodes; they broadcast.
    """
    trailing = (1,) * (start.ndim - 1)
    rows = torch.arange(len(batch), device=batch.device).view(-1, *trailing)
    if batch.distances is not None:
        return batch.distances[rows, start, end]
    difference = batch.coordinates[rows, start] - batch.coordinates[rows, end]  # (B, ..., 2)
    length = difference.square().sum(-1).sqrt()  # (B, ...)
    rounding = batch.rounding.view(-1, *trailing)
    length = torch.where(rounding == ROUNDING_CODES["nearest"], (length + 0.5).floor(), length)
    return torch.where(rounding == ROUNDING_CODES["up"], length.ceil(), length)
