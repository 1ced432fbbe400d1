"""Random numbers keyed by their use, the same on every device and in every batch.

Each number is a hash of (seed, instance, sample, step in the whole solution, node). So a sampled route does not depend
on the rest of the batch, and kernels can compute the same numbers. Only products modulo 2^32 and shifts are used, which
are the same on all devices.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

__all__ = ["draw_gumbel", "make_stream_keys", "scramble"]

Words = TypeVar("Words", int, Tensor)

_MASK = 0xFFFFFFFF
_STARTS = (0x243F6A88, 0x13198A2E)  # two arbitrary different constants
_STEP = 0x9E3779B1  # odd constants that keep steps and nodes apart
_NODE = 0x85EBCA77


def make_stream_keys(seed: int, instance_keys: Tensor, samples: Tensor) -> Tensor:
    """Make a key for the random stream of each trajectory.

    Parameters
    ----------
    seed
        Any integer.
    instance_keys
        (P,) int64.
    samples
        (P,) int64: index of the sample of its instance.

    Returns
    -------
    Tensor
        (P, 2) int64 of 32 bits each.
    """
    first, second = (_mix(_mix(start ^ seed & _MASK) ^ (seed >> 32) & _MASK) for start in _STARTS)
    # computed on the device, because a copy from the host would wait for pending work
    words = torch.arange(2, device=instance_keys.device) * (second - first) + first  # (2,)
    for values in (instance_keys & _MASK, (instance_keys >> 32) & _MASK, samples & _MASK):
        words = _mix(words ^ values[:, None])
    return words


def draw_gumbel(stream_keys: Tensor, steps: Tensor, nodes: Tensor) -> Tensor:
    """Draw standard Gumbel noise: the argmax of logits plus noise is a sample from their softmax.

    Parameters
    ----------
    stream_keys
        (P, 2), from `make_stream_keys`.
    steps
        (P,) int64: nodes visited so far, including returns to the depot.
    nodes
        (P, M) int64: node numbers.

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
    """Hash each number to 63 bits; the sum over a set identifies the set.

    The kernels' own version may differ, since only equality matters.
    """
    words = numbers.long() * -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed number
    words = (words ^ (words >> 30)) * -4658895280553007687  # 0xBF58476D1CE4E5B9
    words = (words ^ (words >> 27)) * -7723592293110705685  # 0x94D049BB133111EB
    return words ^ (words >> 31)


def _mix(words: Words) -> Words:
    """Mix all bits of 32-bit words."""
    words = (words ^ (words >> 16)) * 0x7FEB352D & _MASK
    words = (words ^ (words >> 15)) * 0x846CA68B & _MASK
    return words ^ (words >> 16)
