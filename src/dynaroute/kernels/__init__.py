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

__all__ = ["kernels_run_on"]


def kernels_run_on(device: torch.device) -> bool:
    """Whether Triton kernels can be used on this device: a GPU, or any under Triton's interpreter.

    Parameters
    ----------
    device
        Where the tensors are.
    """
    return _has_triton() and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
