"""Sets saved by PyTorch (.pt, .pth): a dictionary of tensors, or a list with one such dictionary per instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, merge_notes, warn_of_input
from dynaroute.base.limits import refuse_large_set
from dynaroute.formats.sets.arrays import SHAPES
from dynaroute.formats.sets.layouts import find_layout
from dynaroute.formats.sets.unread import refuse_constraint
from dynaroute.problem.instance import Instance

if TYPE_CHECKING:
    import torch

_ALIASES = {"loc": "locs", "demands": "demand", "depot_xy": "depot", "node_xy": "locs", "node_demand": "demand"}
_SHAPE = f"Save a dictionary of tensors ({SHAPES}), or a list with one such dictionary per instance."


def parse_torch_set(content: bytes, *, source: str = "") -> list[Instance]:
    """Read a set with PyTorch's restricted reader, which builds only tensors and plain containers.

    Parameters
    ----------
    content
        Bytes written by `torch.save`.
    source
        The file's path, for warnings; its stem begins the instances' names.

    Raises
    ------
    DynarouteError
        If it contains other objects, a tensor is missing or has the wrong shape, or an instance is invalid.
    """
    from dynaroute.base.torch_files import parse_torch_file

    state = parse_torch_file(content, "cpu")
    arrays = _stack(state) if isinstance(state, list | tuple) else _read_arrays(state, "document")
    layout = find_layout(arrays)
    ignored = [str(key) for key in arrays if key not in layout.keys]
    known = {key: arrays[key] for key in layout.keys if key in arrays}
    layout.refuse_faulty_shapes({key: array.shape for key, array in known.items()})
    count, size, _ = known["locs"].shape
    for key in ignored:
        refuse_constraint("tensor", key, [arrays[key]], (count, size))
    with merge_notes(source):
        instances = layout.make_instances(known, Path(source).stem)
    if ignored:
        warn_of_input(source, f"ignored the tensors {show_list(ignored)}; known tensors are {', '.join(layout.keys)}.")
    return instances


def _stack(items: Sequence[object]) -> dict[str, NDArray[Any]]:
    """Stack instances of the same size."""
    tables = [_read_arrays(item, f"[{index}]") for index, item in enumerate(items)]
    refuse_large_set(len(tables), sum(table["locs"].shape[0] for table in tables if table.get("locs", _NONE).ndim))
    if not tables or any(table.keys() != tables[0].keys() for table in tables):
        raise FormatError.about("document", "the instances do not have the same tensors.", _SHAPE)
    try:
        return {key: np.stack([table[key] for table in tables]) for key in tables[0]}
    except ValueError as error:
        raise FormatError.about("document", "the instances have different sizes.", "Save one file per size.") from error


_NONE = np.zeros(())


def _read_arrays(item: object, field: str) -> dict[str, NDArray[Any]]:
    if not isinstance(item, Mapping):
        raise FormatError.about(field, "there is no dictionary of tensors.", _SHAPE)
    return {_ALIASES.get(str(key), str(key)): _read_array(value, f"{field}.{key}") for key, value in item.items()}


def _number_types() -> set[torch.dtype]:
    import torch

    whole = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
    return whole | {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def _read_array(value: object, field: str) -> NDArray[Any]:
    import torch

    if isinstance(value, int | float) and not isinstance(value, bool):
        return np.array(value)
    types = _number_types() | ({torch.bool} if field.endswith(".open_route") else set())
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.dtype not in types:
        raise FormatError.about(field, "this is not a tensor of numbers.", _SHAPE)
    plain = value.detach()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
