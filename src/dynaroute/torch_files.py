"""Files that PyTorch wrote, read with care: a few bytes of them can describe tensors of any size."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from dynaroute.errors import FormatError
from dynaroute.files import read_bytes
from dynaroute.limits import refuse_large_content

__all__ = ["find_tensors", "load_torch_file", "parse_torch_file"]


def load_torch_file(path: Path, device: torch.device | str) -> object:
    """Read what `torch.save` wrote, by PyTorch's restricted reader, which builds tensors and plain containers alone.

    Parameters
    ----------
    path
        The file.
    device
        Where its tensors go.

    Raises
    ------
    FileError
        If it is missing or no file.
    FormatError
        If it is damaged, asks to build more, or would fill the memory.
    """
    return parse_torch_file(read_bytes(path), device)


def parse_torch_file(contents: bytes, device: torch.device | str) -> object:
    """The same from what a file holds.

    Parameters
    ----------
    contents
        Of the file.
    device
        Where its tensors go.
    """
    try:
        if zipfile.is_zipfile(io.BytesIO(contents)):
            _require_whole(contents)
        with warnings.catch_warnings(action="ignore"):  # of a pickle that is none of PyTorch's: refused below
            state: object = torch.load(io.BytesIO(contents), map_location=device, weights_only=True)
    except Exception as error:  # a damaged pickle can fail in any way
        raise FormatError(
            "the file is damaged, or asks to build more than tensors.", remedy="Save or copy it again."
        ) from error
    # a tensor may repeat one number any number of times, without memory until somebody computes with it
    refuse_large_content(sum(tensor.numel() * tensor.element_size() for tensor in find_tensors(state)))
    return state


def _require_whole(contents: bytes) -> None:
    """PyTorch writes sums of what it stores, and does not look at them when it reads; it compresses nothing."""
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise zipfile.BadZipFile
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def find_tensors(state: object) -> Iterator[Tensor]:
    """All tensors within containers; one that is shared counts once, as it is one in memory."""
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
