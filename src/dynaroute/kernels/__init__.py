"""Triton kernels: each file holds the forward kernel, the backward kernel and the autograd function, in that order.

Every kernel has a plain PyTorch twin, named in its docstring, and the tests compare the two. Nothing outside needs
Triton to be there: `kernels_run_on` says whether these modules can be imported and used.
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
LONGEST_ROUTE = 255  # customers of a route whose steps do


def kernels_run_on(device: torch.device) -> bool:
    """Whether to use Triton kernels on this device: a GPU.

    Triton's interpreter runs them anywhere, a thousand times slower: only `dynaroute.selftest` and the tests ask for
    that, by DYNAROUTE_INTERPRET=1.

    Parameters
    ----------
    device
        Where the tensors are.
    """
    return _has_triton() and (device.type == "cuda" or os.environ.get("DYNAROUTE_INTERPRET") == "1")


def dot_precision(operand: Tensor) -> str:
    """What Triton shall make of a matrix product: float32 operands are split into three parts for the tensor cores.

    That keeps float32's digits at a fraction of the time that Triton takes to compile, and a GPU to run, plain
    float32 products. For half precision it makes no difference.

    Parameters
    ----------
    operand
        One of the operands.
    """
    return "tf32x3" if operand.is_cuda else "ieee"


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
