"""Safe reading of PyTorch files: a few bytes can describe tensors of any size."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from dynaroute.base.errors import FormatError
from dynaroute.base.files import read_bytes
from dynaroute.base.limits import refuse_large_content


def load_torch_file(path: Path, device: torch.device | str) -> object:
    """Read what `torch.save` wrote with PyTorch's restricted reader, which builds only tensors and plain containers.

    Raises
    ------
    FileError
        If it is missing or not a regular file.
    FormatError
        If it is damaged, contains other objects, or is too large for memory.
    """
    return parse_torch_file(read_bytes(path), device)


def parse_torch_file(contents: bytes, device: torch.device | str) -> object:
    """Read the content of such a file."""
    try:
        if zipfile.is_zipfile(io.BytesIO(contents)):
            _require_whole(contents)
        with warnings.catch_warnings(action="ignore"):  # about pickles not written by PyTorch, which are refused below
            state: object = torch.load(io.BytesIO(contents), map_location=device, weights_only=True)
    except Exception as error:  # a damaged pickle can raise anything
        raise FormatError(
            "the file is damaged, or contains more than tensors.", remedy="Save or copy it again."
        ) from error
    # a tensor may repeat one number many times, and take no memory until it is used
    refuse_large_content(sum(tensor.numel() * tensor.element_size() for tensor in find_tensors(state)))
    return state


def _require_whole(contents: bytes) -> None:
    """Verify the checksums, which PyTorch writes but does not check; it never compresses."""
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise zipfile.BadZipFile
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def find_tensors(state: object) -> Iterator[Tensor]:
    """Find all tensors within containers; a shared tensor counts once."""
    left, seen = [state], set()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, dict):
            left += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set):
            left += part
