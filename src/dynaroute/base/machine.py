"""What the machine offers: its processor cores, and the device that a policy runs on."""

from __future__ import annotations

import os
import sys


def choose_device(device: str | None) -> str:
    """Return PyTorch's name of the device to use.

    Parameters
    ----------
    device
        "auto" or None for a GPU if there is one, or PyTorch's own name.
    """
    if device not in (None, "auto"):
        return device
    if "torch" not in sys.modules and _is_built_for_processors():
        return "cpu"  # without the seconds that importing PyTorch takes, only to be told the same
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _is_built_for_processors() -> bool:
    """Whether the installed PyTorch says in its version that it cannot use GPUs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def count_cores() -> int:
    """Count the cores this process may use, or all cores if the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
