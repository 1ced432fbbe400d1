"""Sets of random instances as numpy archives (.npz): depot, locs, demand and capacity, as `set_arrays` knows them."""

from __future__ import annotations

import io
import math
import textwrap
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.display import show_list
from dynaroute.errors import FormatError, Where, merge_notes, warn_of_input
from dynaroute.formats.holding import refuse_unholdable
from dynaroute.formats.numbers import write_loads
from dynaroute.formats.set_arrays import KEYS, SHAPES, make_instances, refuse_faulty_shapes
from dynaroute.instance import Instance
from dynaroute.limits import refuse_large_content

__all__ = ["format_npz", "parse_npz"]

_ENTRY, _BYTES_OF_ENTRY = b"PK\x01\x02", 1000  # of an archive's list of contents, and what Python makes of it
_LARGEST_HEADER = 100_000  # bytes before the values of an array
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # ways of compression that Python does not know raise a kind of it
    SyntaxError,  # this and the next: numpy reads the headers of arrays as Python text
    tokenize.TokenError,
)


def parse_npz(content: bytes, *, source: str = "") -> list[Instance]:
    """Read a set.

    Parameters
    ----------
    content
        The archive. Nothing in it is unpickled.
    source
        The file's path: named in warnings, and its stem starts the names of the instances.

    Raises
    ------
    DynarouteError
        If it is not such an archive, an array is missing or of a wrong kind or shape, or an instance is no problem.
    """
    refuse_large_content(content.count(_ENTRY) * _BYTES_OF_ENTRY)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            arrays = _load_arrays(archive)
    except _DAMAGES as error:
        raise FormatError(
            f"this is not a sound .npz archive ({textwrap.shorten(str(error), 80, placeholder=' ...')}).",
            remedy="Write it with numpy.savez, and copy it whole.",
        ) from error
    with merge_notes(source):
        instances = make_instances(arrays, Path(source).stem)
    ignored = [name.removesuffix(".npy") for name in names if name.removesuffix(".npy") not in KEYS]
    if ignored:
        warn_of_input(source, f"ignored the arrays {show_list(ignored)}; known are {', '.join(KEYS)}.")
    return instances


def format_npz(instances: Sequence[Instance]) -> bytes:
    """Write a set.

    Parameters
    ----------
    instances
        Problems of one size, with coordinates in the plane and without rounding.

    Raises
    ------
    UnsupportedError
        If an instance has something this format cannot hold, or sizes differ.
    """
    for instance in instances:
        _refuse_unholdable(instance, instances[0].size)
    coordinates = np.stack([instance.coordinates for instance in instances if instance.coordinates is not None])
    buffer = io.BytesIO()
    np.savez(
        buffer,
        depot=coordinates[:, 0],
        locs=coordinates[:, 1:],
        demand=np.array([write_loads(instance, instance.demands[1:].tolist()) for instance in instances]),
        capacity=np.array([write_loads(instance, [instance.capacity])[0] for instance in instances]),
    )
    return buffer.getvalue()


def _refuse_unholdable(instance: Instance, size: int) -> None:
    obstacles = {
        "distances": ("a distance matrix", instance.distances is not None),
        "customer_names": ("names of customers", instance.customer_names is not None),
        "metric": ("latitudes and longitudes", instance.metric != "euclidean"),
        "rounding": ("rounded distances", instance.rounding != "none"),
        "size": ("instances of different sizes", instance.size != size),
    }
    refuse_unholdable("a .npz file", obstacles)


def _load_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    names = archive.namelist()
    keys = [key for key in KEYS if f"{key}.npy" in names]
    for key in keys:
        if names.count(f"{key}.npy") != 1:
            raise FormatError(
                f"the array {key} comes twice.", where=Where(field=key), remedy=f"The arrays are {SHAPES}."
            )
    with warnings.catch_warnings():
        # numpy finds a header of Python 2 worth a word, but reads it rightly
        warnings.simplefilter("ignore", UserWarning)
        headers = {key: _read_header(archive, key) for key in keys}
        _refuse_faulty_headers(headers)
        return {key: _load_array(archive, key) for key in keys}


@dataclass(frozen=True)
class _Header:
    """What an array announces, and the bytes that there are for it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int


def _read_header(archive: zipfile.ZipFile, key: str) -> _Header:
    member = archive.getinfo(f"{key}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # numpy writes none of the others, and Python unpacks those by blocks of any size
        raise FormatError(
            f"the array {key} is compressed in another way than numpy's.",
            where=Where(field=key),
            remedy="Write it with numpy.savez or numpy.savez_compressed.",
        )
    with archive.open(member) as file:
        start = io.BytesIO(file.read(_LARGEST_HEADER))
    version = np.lib.format.read_magic(start)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(start)
    return _Header(shape, dtype, member.file_size - start.tell())


def _refuse_faulty_headers(headers: dict[str, _Header]) -> None:
    """Compare what the arrays announce with what there is and with each other, before any room is made for them."""
    for key, header in headers.items():
        if header.dtype.kind not in "iuf":
            kind = "objects, which could run code" if header.dtype.hasobject else f"values of type {header.dtype}"
            raise FormatError(f"the array {key} holds {kind}.", where=Where(field=key), remedy="Store plain numbers.")
        if math.prod(header.shape) * header.dtype.itemsize != header.size:
            raise FormatError(
                f"the array {key} announces {math.prod(header.shape)} values, but has {header.size} bytes.",
                where=Where(field=key),
                remedy="Write it with numpy.savez, and copy it whole.",
            )
    refuse_faulty_shapes({key: header.shape for key, header in headers.items()})


def _load_array(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    with archive.open(f"{key}.npy") as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array
