"""Choosing the device that a policy runs on."""

from __future__ import annotations

__all__ = ["choose_device"]


def choose_device(device: str | None) -> str:
    """Return PyTorch's name of the device to use.

    Parameters
    ----------
    device
        "auto" or None for a GPU if there is one, or PyTorch's own name.
    """
    if device not in (None, "auto"):
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
