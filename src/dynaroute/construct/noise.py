"""Random numbers keyed by what they are for, the same on every device and in every batch.

A number is a hash of (seed, instance, sample, step in the whole solution, node). So a sampled route does not depend
on which other instances are in the batch, and a kernel can draw its own. Only products modulo 2^32 and shifts are
used, which any device does alike.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

__all__ = ["draw_gumbel", "make_stream_keys", "scramble"]

Words = TypeVar("Words", int, Tensor)

_MASK = 0xFFFFFFFF
_STARTS = (0x243F6A88, 0x13198A2E)  # two unlike ones
_STEP = 0x9E3779B1  # odd constants that keep steps and nodes apart
_NODE = 0x85EBCA77


def make_stream_keys(seed: int, instance_keys: Tensor, samples: Tensor) -> Tensor:
    """Name the random stream of each trajectory.

    Parameters
    ----------
    seed
        Any integer.
    instance_keys
        (P,) int64.
    samples
        (P,) int64: which sample of its instance a trajectory is.

    Returns
    -------
    Tensor
        (P, 2) int64 of 32 bits each.
    """
    first, second = (_mix(_mix(start ^ seed & _MASK) ^ (seed >> 32) & _MASK) for start in _STARTS)
    # computed, not copied: a copy from the host would wait for all that the device has still to do
    words = torch.arange(2, device=instance_keys.device) * (second - first) + first  # (2,)
    for values in (instance_keys & _MASK, (instance_keys >> 32) & _MASK, samples & _MASK):
        words = _mix(words ^ values[:, None])
    return words


def draw_gumbel(stream_keys: Tensor, steps: Tensor, nodes: Tensor) -> Tensor:
    """Standard Gumbel noise: the argmax of logits plus this is a sample of their softmax.

    Parameters
    ----------
    stream_keys
        (P, 2), from `make_stream_keys`.
    steps
        (P,) int64: nodes visited so far, returns to the depot included.
    nodes
        (P, M) int64: the nodes' own numbers.

    Returns
    -------
    Tensor
        (P, M) float32.
    """
    row = _mix(stream_keys[:, 0] ^ (steps * _STEP & _MASK))  # (P,)
    bits = _mix(_mix(row[:, None] ^ (nodes * _NODE & _MASK)) ^ stream_keys[:, 1, None])  # (P, M)
    uniform = ((bits >> 9).float() + 0.5) * 2.0**-23  # strictly between 0 and 1, exact in float32
    return -torch.log(-torch.log(uniform))


def scramble(numbers: Tensor) -> Tensor:
    """63 pseudo-random bits of each number; their sum over a set stands for the set.

    Kernels have one of their own, with which this need not agree: nothing but equality is read from it.

    Parameters
    ----------
    numbers
        Any integers.
    """
    words = numbers.long() * -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed number
    words = (words ^ (words >> 30)) * -4658895280553007687  # 0xBF58476D1CE4E5B9
    words = (words ^ (words >> 27)) * -7723592293110705685  # 0x94D049BB133111EB
    return words ^ (words >> 31)


def _mix(words: Words) -> Words:
    """Spread every bit of 32-bit words over all 32."""
    words = (words ^ (words >> 16)) * 0x7FEB352D & _MASK
    words = (words ^ (words >> 15)) * 0x846CA68B & _MASK
    return words ^ (words >> 16)
