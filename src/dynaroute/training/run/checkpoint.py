"""Checkpoints: the whole state of a run in a file, with a checksum of its contents.

PyTorch's own checksums find damage, but not an edit: who loads, changes and saves a checkpoint writes new ones.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dynaroute.base.checksums import checksum_of
from dynaroute.base.errors import FormatError, ModelError, Where, in_file, warn_of_input
from dynaroute.base.torch_files import find_tensors, load_torch_file
from dynaroute.training.run.files import replace_file

__all__ = ["CHECKPOINT_REMEDY", "load_checkpoint", "require_finite", "require_unchanged", "save_checkpoint"]

_VERSION = 2  # version 1 had no checksum
_CHECKSUM = "checksum"
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
    torch.save({**state, "version": _VERSION, _CHECKSUM: _compute_checksum(state)}, contents)
    replace_file(path, contents.getbuffer())


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote. `require_unchanged` verifies its checksum.

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
        if not isinstance(state, dict) or state.get("version") not in (1, _VERSION):
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


def require_unchanged(contents: dict[str, Any]) -> None:
    """Raise if a checkpoint is not as it was written, or note that nobody can tell.

    Raises
    ------
    ModelError
        If its checksum does not match.
    """
    if contents["version"] == 1:
        warn_of_input("", "the checkpoint has no checksum, because an earlier version wrote it.")
    elif contents.get(_CHECKSUM) != _compute_checksum(contents):
        message = "the checkpoint was changed after it was written: its checksum does not match its contents."
        raise ModelError(message, remedy=CHECKPOINT_REMEDY)


def _compute_checksum(contents: dict[str, Any]) -> str:
    """Compute the checksum of all contents but the version and the checksum."""
    state = {name: part for name, part in contents.items() if name not in ("version", _CHECKSUM)}
    return checksum_of(b"".join(_list_bytes(state)))


def _list_bytes(part: object) -> Iterator[bytes]:
    """Write tensors, containers and plain values as bytes that are the same on every device."""
    if isinstance(part, Tensor):
        yield f"{part.dtype} {tuple(part.shape)} ".encode()
        yield part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    elif isinstance(part, dict):
        yield f"dict {len(part)} ".encode()
        for item in part.items():
            yield from _list_bytes(item)
    elif isinstance(part, list | tuple):
        yield f"list {len(part)} ".encode()
        for item in part:
            yield from _list_bytes(item)
    else:
        yield f"{part!r} ".encode(errors="backslashreplace")
