"""The devices that the workers of a run use."""

from __future__ import annotations

from dynaroute.base.machine import choose_device
from dynaroute.solving.options import SolveOptions


def name_device(options: SolveOptions) -> str:
    """Return the device that computes the routes."""
    if not (options.uses_policy or options.total_time is not None):
        return "cpu"  # savings, and searches of one instance at a time
    if options.device in (None, "auto") and options.searches and options.total_time is None:
        return "cpu"  # the policy takes little time and few workers can share a GPU, so let all cores search
    return choose_device(options.device)


def name_kind(options: SolveOptions) -> str:
    """Return the kind of device that computes the routes, which are reproducible only on the same kind."""
    return name_device(options).partition(":")[0]


def list_gpus(options: SolveOptions) -> list[str]:
    """List the GPUs that workers share; empty if only the CPU is used."""
    chosen = name_device(options)
    if chosen.partition(":")[0] != "cuda":
        return []
    if ":" in chosen:
        return [chosen]
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
