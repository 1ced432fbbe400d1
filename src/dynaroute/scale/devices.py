"""Which devices the workers of a run use."""

from __future__ import annotations

from dynaroute.device import choose_device
from dynaroute.solving.options import SolveOptions

__all__ = ["list_gpus", "name_device", "name_kind"]


def name_device(options: SolveOptions) -> str:
    """The device that decides on routes."""
    if not (options.uses_policy or options.total_time is not None):
        return "cpu"  # savings and searches of single instances
    if options.device in (None, "auto") and options.searches and options.total_time is None:
        return "cpu"  # the policy takes little of the time, and few workers can share a GPU: let all cores search
    return choose_device(options.device)


def name_kind(options: SolveOptions) -> str:
    """The kind of device that decides on routes: the same routes are promised on the same kind alone."""
    return name_device(options).partition(":")[0]


def list_gpus(options: SolveOptions) -> list[str]:
    """The GPUs to share out among workers; none where all work is the processor's."""
    chosen = name_device(options)
    if chosen.partition(":")[0] != "cuda":
        return []
    if ":" in chosen:
        return [chosen]
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
