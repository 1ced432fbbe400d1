"""Recording work as CUDA graphs: one launch instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

__all__ = ["RecordingError", "record"]

Result = TypeVar("Result")


class RecordingError(Exception):
    """Raised if work cannot be recorded; none of it was done."""


def record(work: Callable[[], Result], pool: Any = None) -> tuple[torch.cuda.CUDAGraph, Result]:
    """Record work as a CUDA graph.

    Parameters
    ----------
    work
        A function that does not wait for the device. It must have run once before, so that kernels are compiled.
    pool
        Memory shared with other recordings, which must never run at the same time.

    Returns
    -------
    torch.cuda.CUDAGraph
        The recording; its `replay` does the work.
    Result
        The tensors that each replay overwrites.

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
