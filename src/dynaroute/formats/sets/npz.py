"""Sets of instances as numpy archives (.npz), plain ones or in the arrays of RouteFinder."""

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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, merge_notes, warn_of_input
from dynaroute.base.limits import refuse_large_content
from dynaroute.formats.limitations import refuse_what_cannot_be_stored
from dynaroute.formats.numbers import write_loads
from dynaroute.formats.sets.layouts import SetLayout, find_layout
from dynaroute.formats.sets.routefinder import list_obstacles, make_variant_arrays
from dynaroute.formats.sets.unread import refuse_constraint
from dynaroute.problem.instance import Instance

_ENTRY, _BYTES_OF_ENTRY = b"PK\x01\x02", 1000  # an entry in an archive's directory, and the memory Python takes for it
_LARGEST_HEADER = 100_000  # bytes before an array's values
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # its subclasses are raised for unknown compression methods
    SyntaxError,  # this and the next: numpy parses array headers as Python text
    tokenize.TokenError,
)


def parse_npz(content: bytes, *, source: str = "") -> list[Instance]:
    """Read a set.

    Parameters
    ----------
    content
        The archive. Nothing in it is unpickled.
    source
        The file's path, for warnings; its stem begins the instances' names.

    Raises
    ------
    DynarouteError
        If it is not such an archive, an array is missing or has the wrong type or shape, or an instance is invalid.
    """
    refuse_large_content(content.count(_ENTRY) * _BYTES_OF_ENTRY)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            layout = find_layout(names)
            arrays = _load_arrays(archive, layout)
            _refuse_constraints(archive, arrays["locs"].shape, layout)
    except _DAMAGES as error:
        raise FormatError(
            f"this is not a valid .npz archive ({textwrap.shorten(str(error), 80, placeholder=' ...')}).",
            remedy="Write it with numpy.savez, and copy it completely.",
        ) from error
    with merge_notes(source):
        instances = layout.make_instances(arrays, Path(source).stem)
    if ignored := [name for name in names if name not in layout.keys]:
        warn_of_input(source, f"ignored the arrays {show_list(ignored)}; known arrays are {', '.join(layout.keys)}.")
    return instances


def format_npz(instances: Sequence[Instance]) -> bytes:
    """Write a set, in the arrays of RouteFinder if an instance has more than capacities.

    Parameters
    ----------
    instances
        Instances of one size, with plane coordinates and without rounding.

    Raises
    ------
    UnsupportedError
        If an instance has something this format cannot hold, or sizes differ.
    """
    for instance in instances:
        _refuse_what_cannot_be_stored(instance, (instances[0].size, instances[0].node_count))
    buffer = io.BytesIO()
    if any(instance.parts_of_fleet for instance in instances):
        for instance in instances:
            refuse_what_cannot_be_stored("a .npz file", list_obstacles(instance))
        np.savez(buffer, **make_variant_arrays(instances))  # type: ignore[arg-type]  # numpy's stub takes keywords for flags
        return buffer.getvalue()
    coordinates = np.stack([instance.coordinates for instance in instances if instance.coordinates is not None])
    np.savez(
        buffer,
        depot=coordinates[:, 0],
        locs=coordinates[:, 1:],
        demand=np.array([write_loads(instance, instance.demands[1:].tolist()) for instance in instances]),
        capacity=np.array([write_loads(instance, [instance.capacity])[0] for instance in instances]),
    )
    return buffer.getvalue()


def _refuse_what_cannot_be_stored(instance: Instance, sizes: tuple[int, int]) -> None:
    obstacles = {
        "distances": ("a distance matrix", instance.distances is not None),
        "customer_names": ("customer names", instance.customer_names is not None),
        "metric": ("latitudes and longitudes", instance.metric != "euclidean"),
        "rounding": ("rounded distances", instance.rounding != "none"),
        "size": ("instances of different sizes", (instance.size, instance.node_count) != sizes),
    }
    refuse_what_cannot_be_stored("a .npz file", obstacles)


def _load_arrays(archive: zipfile.ZipFile, layout: SetLayout) -> dict[str, NDArray[Any]]:
    names = archive.namelist()
    keys = [key for key in layout.keys if f"{key}.npy" in names]
    for key in keys:
        if names.count(f"{key}.npy") != 1:
            raise FormatError.about(key, f"the array {key} appears twice.", f"The arrays are {layout.shapes}.")
    with warnings.catch_warnings():
        # numpy warns about headers from Python 2, but reads them correctly
        warnings.simplefilter("ignore", UserWarning)
        members = {key: archive.getinfo(f"{key}.npy") for key in keys}
        headers = {key: _read_header(archive, member) for key, member in members.items()}
        for key, header in headers.items():
            _refuse_faulty_header(key, header, kinds="iufb" if key == "open_route" else "iuf")
        layout.refuse_faulty_shapes({key: header.shape for key, header in headers.items()})
        return {key: _load_array(archive, member) for key, member in members.items()}


def _refuse_constraints(archive: zipfile.ZipFile, locs: tuple[int, ...], layout: SetLayout) -> None:
    """Refuse further arrays that routes may depend on."""
    count, size, _ = locs
    most = 2 * count * (size + 2)  # values that a window for each node has
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name not in layout.keys:
            refuse_constraint("array", name, map(partial(_load_other, archive, most=most), [member]), (count, size))


def _load_other(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> NDArray[Any] | None:
    """Load an array that is not read; None if it does not hold numbers, or too many for values of customers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            header = _read_header(archive, member)
            _refuse_faulty_header(member.filename, header, kinds="iufb")
            return _load_array(archive, member) if math.prod(header.shape) <= most else None
    except (FormatError, *_DAMAGES):
        return None


@dataclass(frozen=True)
class _ArrayHeader:
    """What an array's header declares, and how many bytes follow it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int


def _read_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _ArrayHeader:
    key = member.filename.removesuffix(".npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # numpy never writes the others, and Python unpacks them in blocks of any size
        raise FormatError.about(
            key,
            f"the array {key} uses a compression that numpy does not.",
            "Write it with numpy.savez or numpy.savez_compressed.",
        )
    with archive.open(member) as file:
        start = io.BytesIO(file.read(_LARGEST_HEADER))
    version = np.lib.format.read_magic(start)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(start)
    return _ArrayHeader(shape, dtype, member.file_size - start.tell())


def _refuse_faulty_header(key: str, header: _ArrayHeader, kinds: str = "iuf") -> None:
    """Check the declared kind of values, and the declared shape against the bytes, before allocating memory."""
    if header.dtype.kind not in kinds:
        kind = "objects, which could run code" if header.dtype.hasobject else f"values of type {header.dtype}"
        raise FormatError.about(key, f"the array {key} holds {kind}.", "Store plain numbers.")
    if math.prod(header.shape) * header.dtype.itemsize != header.size:
        raise FormatError.about(
            key,
            f"the array {key} declares {math.prod(header.shape)} values, but has {header.size} bytes.",
            "Write it with numpy.savez, and copy it completely.",
        )


def _load_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array
