"""Test whether Triton can compile for a GPU and run there, with a product of two small matrices."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_SIDE = 16  # the smallest size of Triton's products


@triton.jit
def _multiply(left, right, out, SIDE: tl.constexpr):
    """Write left @ right, (SIDE, SIDE) float16 each; twin: `torch.matmul`."""
    row = tl.arange(0, SIDE)
    where = row[:, None] * SIDE + row[None, :]
    product = tl.dot(tl.load(left + where), tl.load(right + where))
    tl.store(out + where, product.to(out.dtype.element_ty))


def probe_kernels(device: torch.device) -> bool:
    """Whether a small kernel compiles, runs and gives the right result on this device.

    Parameters
    ----------
    device
        A GPU, or the CPU under Triton's interpreter.
    """
    whole = torch.arange(_SIDE * _SIDE, device=device).reshape(_SIDE, _SIDE)
    left, right = (whole % 7).half(), (whole % 5).half()  # small whole numbers: every sum is exact in float16
    out = torch.empty_like(left)
    with torch.cuda.device(device) if device.type == "cuda" else torch.no_grad():
        _multiply[(1,)](left, right, out, SIDE=_SIDE)
    return torch.equal(out.cpu(), left.cpu() @ right.cpu())
