"""Distributed training: several processes train one policy, each on its own instances."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as processes
from torch import Tensor


@dataclass(frozen=True)
class Ranks:
    """The index of this process among the others; alone by default.

    Attributes
    ----------
    rank
        Index of this process; 0 writes files.
    count
        Number of processes.
    device
        Device of this process.
    """

    rank: int = 0
    count: int = 1
    device: str = "cpu"

    @classmethod
    def join(cls, device: str) -> Ranks:
        """Join the processes started by torchrun; without torchrun, run alone.

        Parameters
        ----------
        device
            "cuda": each process takes the GPU of its index; "cpu": they communicate through gloo.
        """
        count = int(os.environ.get("WORLD_SIZE", "1"))
        if count == 1:
            return cls(device=device)
        if device == "cuda":
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
            torch.cuda.set_device(device)
        processes.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(processes.get_rank(), count, device)

    @property
    def writes(self) -> bool:
        """Whether this process writes files and reports to the user."""
        return self.rank == 0

    def part(self, each: int) -> slice:
        """Return this process's slice of `count` times `each` instances."""
        return slice(self.rank * each, (self.rank + 1) * each)

    def sum(self, values: Tensor) -> Tensor:
        """Sum values over all processes."""
        if self.count == 1:
            return values
        total = values.clone()
        processes.all_reduce(total)
        return total

    def agree(self, values: list[float]) -> list[float]:
        """Return the largest of each value over all processes, so that all decide the same."""
        if self.count == 1:
            return values
        largest = torch.tensor(values, dtype=torch.float64, device=self.device)
        processes.all_reduce(largest, processes.ReduceOp.MAX)
        return largest.tolist()

    def share(self, tensors: Iterable[Tensor]) -> None:
        """Copy the first process's values to all."""
        if self.count == 1:
            return
        for tensor in tensors:
            processes.broadcast(tensor, 0)

    def leave(self) -> None:
        """Leave the group. References to it must be gone, or a process may abort at exit."""
        if self.count == 1:
            return
        gc.collect()
        processes.destroy_process_group()
