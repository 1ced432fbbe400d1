"""Which devices the workers of a run use."""

from __future__ import annotations

from dynaroute.device import choose_device
from dynaroute.solving.options import SolveOptions

__all__ = ["list_gpus", "name_kind"]


def name_kind(options: SolveOptions) -> str:
    """The kind of device that decides on routes: the same routes are promised on the same kind alone."""
    if not (options.uses_policy or options.total_time is not None):
        return "cpu"  # savings and searches of single instances
    return choose_device(options.device).partition(":")[0]


def list_gpus(options: SolveOptions) -> list[str]:
    """The GPUs to share out among workers; none where all work is the processor's."""
    if name_kind(options) != "cuda":
        return []
    chosen = choose_device(options.device)
    if ":" in chosen:
        return [chosen]
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
