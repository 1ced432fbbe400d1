"""The whole state of a run in a file that is either the old one or the new one, never half of it."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import torch

from dynaroute.errors import FileError, ModelError, in_file

__all__ = ["load_checkpoint", "save_checkpoint"]

_VERSION = 1


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Write beside, then rename.

    Parameters
    ----------
    state
        Tensors, numbers and texts.
    path
        Where to; its folder must be there.

    Raises
    ------
    FileError
        If it cannot be written; what was there before is untouched.
    """
    contents = io.BytesIO()
    torch.save({"version": _VERSION, **state}, contents)
    part = path.with_name(path.name + ".part")
    with in_file(path):
        try:
            with part.open("wb") as file:
                file.write(contents.getbuffer())
                file.flush()
                os.fsync(file.fileno())  # a name must never stand for contents that a power cut took
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise FileError(
                f"cannot write the checkpoint: {error.strerror or error}.",
                remedy="Make room, or bring the folder back, and go on with --resume; the last good one is untouched.",
            ) from error


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote.

    Parameters
    ----------
    path
        The file.
    device
        Where its tensors go; generators' states stay on the CPU.

    Raises
    ------
    ModelError
        If it is missing, damaged, or of a newer version.
    """
    with in_file(path):
        try:
            state = torch.load(path, map_location=device, weights_only=True)
        except FileNotFoundError:
            raise ModelError(
                "there is no checkpoint to go on from.", remedy="Name the folder of a run that was started."
            ) from None
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, ValueError) as error:
            raise ModelError("the checkpoint is damaged.", remedy="Start from the run's model with --init.") from error
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise ModelError("the checkpoint is of another version.", remedy="Use the Dynaroute that wrote it.")
    return state
