"""Several processes that train one policy, each on instances of its own."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as processes
from torch import Tensor

__all__ = ["Ranks"]


@dataclass(frozen=True)
class Ranks:
    """Which process this is among the others; alone by default.

    Attributes
    ----------
    rank
        Number of this process; 0 writes files.
    count
        How many there are.
    device
        Where this one computes.
    """

    rank: int = 0
    count: int = 1
    device: str = "cpu"

    @classmethod
    def join(cls, device: str) -> Ranks:
        """Meet the processes that torchrun started; without torchrun, be alone.

        Parameters
        ----------
        device
            "cuda": each process takes the GPU of its number; "cpu": they talk through gloo.
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
        """Whether this process writes files and speaks to the user."""
        return self.rank == 0

    def part(self, each: int) -> slice:
        """Which of `count` times `each` instances are this process's."""
        return slice(self.rank * each, (self.rank + 1) * each)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.count == 1:
            return values
        total = values.clone()
        processes.all_reduce(total)
        return total

    def agree(self, values: list[float]) -> list[float]:
        """The largest of each over all processes, so that all take the same decision."""
        if self.count == 1:
            return values
        largest = torch.tensor(values, dtype=torch.float64, device=self.device)
        processes.all_reduce(largest, processes.ReduceOp.MAX)
        return largest.tolist()

    def share(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the first one's values."""
        if self.count == 1:
            return
        for tensor in tensors:
            processes.broadcast(tensor, 0)

    def leave(self) -> None:
        """Part from the others; what held on to them must be gone, or a process may abort at its end."""
        if self.count == 1:
            return
        gc.collect()
        processes.destroy_process_group()
