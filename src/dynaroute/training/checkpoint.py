"""The whole state of a run in a file."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from dynaroute.errors import ModelError, in_file
from dynaroute.training.run_files import replace_file

__all__ = ["load_checkpoint", "save_checkpoint"]

_VERSION = 1
_WAY_OUT = "Copy the run's best.pt over it and go on from there, or start from the run's model with the option init."


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Write the state of a run.

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
    replace_file(path, contents.getbuffer())


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
            contents = path.read_bytes()
            _require_whole(contents)
            state = torch.load(io.BytesIO(contents), map_location=device, weights_only=True)
        except FileNotFoundError:
            raise ModelError(
                "there is no checkpoint to go on from.", remedy="Name the folder of a run that was started."
            ) from None
        except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
            raise ModelError("the checkpoint is damaged.", remedy=_WAY_OUT) from error
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise ModelError("the checkpoint is of another version.", remedy="Use the Dynaroute that wrote it.")
    return state


def _require_whole(contents: bytes) -> None:
    """PyTorch writes sums of what it stores, and does not look at them when it reads."""
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        if archive.testzip() is not None:
            raise zipfile.BadZipFile
