"""Triton kernels: each file contains the forward kernel, the backward kernel and the autograd function, in that order.

Every kernel has a plain PyTorch twin, named in its docstring; tests compare the two. Triton is optional:
`kernels_run_on` says whether these modules can be imported and used. Begin with `token_layer`, the shortest one. It
imports no other room.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["LONGEST_ROUTE", "LONGEST_SEGMENT", "dot_precision", "kernels_run_on"]

LONGEST_SEGMENT = 128  # nodes that fit in one tile on chip
LONGEST_ROUTE = 255  # customers of a route whose steps fit in one tile


def kernels_run_on(device: torch.device) -> bool:
    """Whether to use Triton kernels on this device: a GPU.

    Triton's interpreter runs them anywhere, but a thousand times slower. Only `dynaroute.selftest` and the tests use
    it, by setting DYNAROUTE_INTERPRET=1.

    Parameters
    ----------
    device
        Where the tensors are.
    """
    return _has_triton() and (device.type == "cuda" or os.environ.get("DYNAROUTE_INTERPRET") == "1")


def dot_precision(operand: Tensor) -> str:
    """The precision of Triton's matrix products: float32 operands are split into three parts for the tensor cores.

    That keeps the precision of float32, but compiles and runs much faster than plain float32 products. It makes no
    difference to half precision.

    Parameters
    ----------
    operand
        One of the operands.
    """
    return "tf32x3" if operand.is_cuda else "ieee"


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
