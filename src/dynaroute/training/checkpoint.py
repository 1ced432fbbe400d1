"""Checkpoints: the whole state of a run in a file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch

from dynaroute.errors import FormatError, ModelError, Where, in_file
from dynaroute.torch_files import find_tensors, load_torch_file
from dynaroute.training.run_files import replace_file

__all__ = ["CHECKPOINT_REMEDY", "load_checkpoint", "require_finite", "save_checkpoint"]

_VERSION = 1
CHECKPOINT_REMEDY = (
    "Copy the run's best.pt over it and resume from there, or start from the run's model with the option init."
)


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Write the state of a run.

    Parameters
    ----------
    state
        Tensors, numbers and strings.
    path
        The file; its folder must exist.

    Raises
    ------
    FileError
        If it cannot be written; an existing file is left untouched.
    """
    contents = io.BytesIO()
    torch.save({"version": _VERSION, **state}, contents)
    replace_file(path, contents.getbuffer())


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote.

    Parameters
    ----------
    path
        The file.
    device
        Device for the tensors; generator states stay on the CPU.

    Raises
    ------
    ModelError
        If it is missing, damaged, or from another version.
    """
    with in_file(path):
        if not path.exists():
            raise ModelError("there is no checkpoint to resume from.", remedy="Name the folder of a run.")
        try:
            state = load_torch_file(path, device)
        except FormatError as error:
            raise ModelError(f"the checkpoint is damaged: {error.message}", remedy=CHECKPOINT_REMEDY) from error
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise ModelError(
                "the checkpoint is from another version.", remedy="Use the version of Dynaroute that wrote it."
            )
    return state


def require_finite(contents: dict[str, Any]) -> None:
    """Raise if a checkpoint holds a number that is not finite; a run would fail with it much later.

    Raises
    ------
    ModelError
        It names the part of the checkpoint.
    """
    for name, part in contents.items():
        if not all(bool(tensor.isfinite().all()) for tensor in find_tensors(part)):
            raise ModelError(
                f"{name} contains numbers that are not finite.", where=Where(field=name), remedy=CHECKPOINT_REMEDY
            )
