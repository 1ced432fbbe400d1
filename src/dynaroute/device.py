"""Where a policy works."""

from __future__ import annotations

__all__ = ["choose_device"]


def choose_device(device: str | None) -> str:
    """What PyTorch calls the device that is meant.

    Parameters
    ----------
    device
        "auto" or None (a GPU if there is one), or that name itself.
    """
    if device not in (None, "auto"):
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
