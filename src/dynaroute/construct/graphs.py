"""Work recorded as CUDA graphs: one launch instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

__all__ = ["RecordingError", "record"]

Result = TypeVar("Result")


class RecordingError(Exception):
    """Work could not be recorded. Nothing of it was done."""


def record(work: Callable[[], Result], pool: Any = None) -> tuple[torch.cuda.CUDAGraph, Result]:
    """Record work as a CUDA graph.

    Parameters
    ----------
    work
        It must not wait for the device, and must have been done once before, so that kernels are compiled.
    pool
        Memory of other recordings, none of which is ever launched at the same time.

    Returns
    -------
    torch.cuda.CUDAGraph
        Its `replay` does the work.
    Result
        The tensors that it then writes.

    Raises
    ------
    RecordingError
        If this work cannot be recorded.
    """
    try:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=pool):
            return graph, work()
    except RuntimeError as error:
        raise RecordingError(str(error).partition("\n")[0]) from error
