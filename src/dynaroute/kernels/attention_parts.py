"""Shared parts of the attention kernels: which rows a program has, and how it reads and writes them."""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)  # powers of 2 are what a GPU has an instruction for
HUGE = tl.constexpr(1.0e30)


@triton.jit
def find_place(blocks, H: tl.constexpr):
    """The segment, head and block of a program: neighbours read the same rows, which the cache then holds for them."""
    program = tl.program_id(0)
    return program // (H * blocks), program % H, program // H % blocks


@triton.jit
def load_head(packed, start, count, column, STRIDE: tl.constexpr, M: tl.constexpr, DK: tl.constexpr):
    """Load an (M, DK) tile of a segment's rows; zeros past its end."""
    row = tl.arange(0, M)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    return tl.load(packed + where, mask=(row < count)[:, None], other=0.0)


@triton.jit
def store_head(packed, tile, start, count, column, STRIDE: tl.constexpr, M: tl.constexpr, DK: tl.constexpr):
    row = tl.arange(0, M)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    tl.store(packed + where, tile.to(packed.dtype.element_ty), mask=(row < count)[:, None])
