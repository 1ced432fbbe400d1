"""Segments of different lengths packed into one array of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Packing:
    """The layout of P segments in an array of T tokens.

    Linear layers run on the packed tokens, so nothing is computed for padding. Operations on whole segments pad them
    temporarily.

    Attributes
    ----------
    lengths
        (P,) int64 number of tokens of each segment, at least 1.
    longest
        M, the largest length, kept as a number to avoid waiting for the device.
    """

    lengths: Tensor
    longest: int

    @classmethod
    def evenly(cls, segments: int, longest: int, device: torch.device) -> Packing:
        """Lay out segments that are known to have the same length, so that nothing waits for the device."""
        packing = cls(torch.full((segments,), longest, device=device), longest)
        vars(packing)["is_even"] = True
        return packing

    @cached_property
    def offsets(self) -> Tensor:
        """(P,) index of the first token of each segment."""
        return self.lengths.cumsum(0) - self.lengths

    @cached_property
    def is_even(self) -> bool:
        """Whether all segments have the same length, so that padding is just a view."""
        return bool((self.lengths == self.longest).all())

    @cached_property
    def is_token(self) -> Tensor:
        """(P, M) true for tokens, false for padding."""
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]

    @cached_property
    def _slots(self) -> Tensor:
        """(T,) index of each token in the flattened (P, M) array."""
        return self.is_token.reshape(-1).nonzero().squeeze(1)

    def pad(self, tokens: Tensor) -> Tensor:
        """Spread (T, ...) tokens to (P, M, ...), with zeros as padding."""
        segments = len(self.lengths)
        if self.is_even:
            return tokens.reshape(segments, self.longest, *tokens.shape[1:])
        padded = tokens.new_zeros(segments * self.longest, *tokens.shape[1:])
        # index_copy, because its gradient is a plain gather; that of an indexed read would accumulate
        return padded.index_copy(0, self._slots, tokens).reshape(segments, self.longest, *tokens.shape[1:])

    def pack(self, padded: Tensor) -> Tensor:
        """Collect the tokens of (P, M, ...) into (T, ...)."""
        flat = padded.reshape(-1, *padded.shape[2:])
        return flat if self.is_even else flat.index_select(0, self._slots)
