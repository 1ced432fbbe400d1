"""Sets as Parquet tables: one row per instance, and a column for each field of `Instance` that is used.

They need PyArrow, which comes with the extra ``dynaroute[batch]`` and is loaded on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import (
    DynarouteError,
    FormatError,
    UnsupportedError,
    Where,
    merge_notes,
    placed,
    warn_of_input,
)
from dynaroute.base.limits import refuse_large_set
from dynaroute.formats.fleet_options import FleetOptions, use_vehicles
from dynaroute.formats.json.fleet import read_json_vehicles, vehicles_to_json
from dynaroute.formats.numbers import scale_arrays, write_loads
from dynaroute.formats.sets.parquet_columns import COLUMNS, load_pyarrow, refuse_constraints, refuse_other_schema
from dynaroute.formats.text import one_line
from dynaroute.problem.instance import Instance

_ROWS_AT_ONCE = 1024  # per row group, so that readers can read a part of a file
_MORE = tuple(name for name in COLUMNS if name not in ("id", "coordinates", "demands", "capacity"))
_NO_FLEET_OPTIONS = FleetOptions()


def parse_parquet(content: bytes, *, source: str = "") -> list[Instance]:
    """Read a set.

    Parameters
    ----------
    content
        A Parquet file.
    source
        The file's path: named in warnings, and its stem starts the names of instances without an id.

    Raises
    ------
    DynarouteError
        If it is not such a file, columns are wrong, or an instance is not valid.
    """
    pyarrow = load_pyarrow()
    try:
        file = open_table(pyarrow.BufferReader(content))
        refuse_large_set(file.metadata.num_rows, 0)
        refuse_other_schema(file.schema_arrow)
        refuse_constraints(file)
        names = [name for name in file.schema_arrow.names if name in COLUMNS]
        batches = file.read(columns=names).combine_chunks().to_batches()
    except (OSError, ValueError) as error:  # PyArrow's own are kinds of these
        raise FormatError(
            f"this is not a valid Parquet file ({' '.join(str(error).split())[:80]}).", remedy="Copy it again."
        ) from error
    if ignored := [name for name in file.schema_arrow.names if name not in COLUMNS]:
        warn_of_input(source, f"ignored the columns {show_list(ignored)}; known columns: {', '.join(COLUMNS)}.")
    instances: list[Instance] = []
    with merge_notes(source):
        for batch in batches:
            table = InstanceTable(batch)
            for index, name in enumerate(table.read_ids()):
                number = len(instances)
                with placed(partial(_place, number)):
                    instances.append(table.make_instance(index, name or f"{Path(source).stem}-{number + 1}"))
    return instances


def _place(number: int, where: Where) -> Where:
    return where if where.field is None else replace(where, field=f"{where.field}[{number}]")


class InstanceTable:
    """Rows of a table, which become instances on demand.

    Parameters
    ----------
    batch
        PyArrow's batch, whose schema has passed `refuse_other_schema`.
    """

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.columns = {name: batch.column(name) for name in batch.schema.names if name in COLUMNS}
        self.more = [name for name in _MORE if name in self.columns and self.columns[name].null_count < len(batch)]

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def read_ids(self) -> list[str | None]:
        """Read the ids; None for a row without one."""
        if "id" not in self.columns:
            return [None] * len(self)
        pyarrow = load_pyarrow()
        cells = self.columns["id"].cast(pyarrow.string())
        try:
            texts: list[str | None] = cells.to_pylist()
        except UnicodeDecodeError:  # PyArrow does not check it when it reads
            contents = cells.cast(pyarrow.binary()).to_pylist()
            texts = [None if each is None else each.decode(errors="backslashreplace") for each in contents]
        return [None if text is None else one_line(text) or None for text in texts]

    def make_instance(self, index: int, name: str) -> Instance:
        """Make the instance of a row.

        Parameters
        ----------
        index
            Index of the row in this batch.
        name
            Name of the instance.

        Raises
        ------
        DynarouteError
            If the row is not a valid instance; the field is a column.
        """
        coordinates, distances = self._coordinates(index), self._read("distances", index, _read_table)
        if coordinates is None and distances is None:
            raise _missing("coordinates")
        nodes = len(distances) if coordinates is None else len(coordinates)
        refuse_large_set(1, nodes - 1)
        try:
            vehicles = read_json_vehicles(self._read("vehicles", index, _read_plain))
        except UnsupportedError as error:
            error.address_reader_without_option()
            raise
        capacity = np.asarray(self._capacity(index) if vehicles is None else float(vehicles.largest_capacity))
        demands = self._numbers("demands", index)
        if demands is None:
            raise _missing("demands")
        if len(demands) not in (nodes - 1, nodes):
            message = f"there are {len(demands)} demands, but {nodes - 1} customers."
            raise FormatError.about("demands", message, "Give one for each customer.")
        scaled = scale_arrays(_with_depot(demands, nodes), capacity)
        instance = Instance(
            coordinates,
            scaled.demands,
            scaled.capacity,
            name,
            demand_scale=scaled.scale,
            distances=distances,
            **(self._read_more(index, nodes) if self.more else {}),
        )
        instance = instance if vehicles is None else use_vehicles(instance, vehicles)
        return _NO_FLEET_OPTIONS.apply(instance) if self.more else instance

    def _read_more(self, index: int, nodes: int) -> dict[str, Any]:
        """Read the fields that most instances do not have."""
        service = self._numbers("service", index)
        given = {
            "rounding": self._read("rounding", index, _read_plain),
            "metric": self._read("metric", index, _read_plain),
            "customer_names": self._read("customer_names", index, _read_names),
            "service": None if service is None else _with_depot(service, nodes),
            "windows": self._read("windows", index, _read_windows),
            "durations": self._read("durations", index, _read_table),
            "speed": self._read("speed", index, _read_plain),
        }
        return {name: value for name, value in given.items() if value is not None}

    def _read(self, name: str, index: int, read: Callable[[Any, str], Any]) -> Any:
        """Read a cell, if the column exists and the cell is not empty."""
        if name not in self.more or not self.columns[name][index].is_valid:
            return None
        try:
            return read(self.columns[name][index], name)
        except UnicodeDecodeError as error:  # PyArrow does not check it when it reads
            remedy = "Copy the file again, or write it with texts in UTF-8."
            raise FormatError.about(name, "a text is not in UTF-8.", remedy) from error

    def _capacity(self, index: int) -> Any:
        value = self.columns["capacity"][index].as_py() if "capacity" in self.columns else None
        if value is None:
            raise _missing("capacity")
        return float(value) if isinstance(value, Decimal) else value

    def _numbers(self, name: str, index: int) -> NDArray[Any] | None:
        lists = self._lists.get(name)
        return None if lists is None else lists.read(index)

    def _coordinates(self, index: int) -> NDArray[np.float64] | None:
        column = self.columns.get("coordinates")
        if column is None or not column[index].is_valid:
            return None
        if self._pairs is None:  # some row has something other than pairs
            return _read_table(column[index], "coordinates")
        pairs: NDArray[np.float64] | None = self._pairs.read(index)
        return pairs

    @cached_property
    def _lists(self) -> dict[str, _Lists]:
        """The columns of lists of numbers, with all their numbers in one array."""
        return {
            name: _Lists.of(self.columns[name], _to_numbers(self.columns[name].flatten()))
            for name in ("demands", "service")
            if name in self.columns and not load_pyarrow().types.is_null(self.columns[name].type)
        }

    @cached_property
    def _pairs(self) -> _Lists | None:
        """The coordinates, with all pairs in one array; None if not all are pairs."""
        column, pyarrow = self.columns["coordinates"], load_pyarrow()
        inner = column.flatten()
        if pyarrow.types.is_null(inner.type) or inner.null_count:
            return None
        lengths = pyarrow.compute.list_value_length(inner).to_numpy(zero_copy_only=False)
        if (lengths != 2).any():
            return None
        return _Lists.of(column, _to_numbers(inner.flatten()).reshape(-1, 2))


@dataclass(frozen=True)
class _Lists:
    """A column of lists: all items in one array, and the start of each list."""

    items: NDArray[Any]
    begins: NDArray[np.int64]
    is_there: NDArray[np.bool_]

    @classmethod
    def of(cls, column: Any, items: NDArray[Any]) -> _Lists:
        lengths = load_pyarrow().compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        begins = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(items, begins, np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_))

    def read(self, index: int) -> NDArray[Any] | None:
        return self.items[self.begins[index] : self.begins[index + 1]] if self.is_there[index] else None


def _to_numbers(values: Any) -> NDArray[Any]:
    """Convert to an array of numbers; missing ones become NaN."""
    pyarrow = load_pyarrow()
    if pyarrow.types.is_decimal(values.type) or pyarrow.types.is_null(values.type):
        values = values.cast(pyarrow.float64())
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def _with_depot(values: NDArray[Any], nodes: int) -> NDArray[Any]:
    """Add the depot's 0 to numbers that leave it out."""
    return np.concatenate([np.zeros(1, dtype=values.dtype), values]) if len(values) == nodes - 1 else values


def _read_plain(cell: Any, name: str) -> Any:
    return cell.as_py()


def _read_names(cell: Any, name: str) -> tuple[str, ...]:
    return tuple(one_line(text or "") for text in cell.as_py())


def _read_table(cell: Any, name: str) -> NDArray[np.float64]:
    """Read rows of numbers, all of the same length."""
    rows = [[math.nan if number is None else float(number) for number in row or ()] for row in cell.as_py()]
    if len(set(map(len, rows))) > 1:
        raise FormatError.about(name, "its rows have different lengths.", "Make them equally long.")
    return np.array(rows, dtype=np.float64)


def _read_windows(cell: Any, name: str) -> NDArray[np.float64]:
    """Read pairs of times; a missing one means no limit."""
    pairs = [pair or (None, None) for pair in cell.as_py()]
    if any(len(pair) != 2 for pair in pairs):
        remedy = "Give the earliest and the latest time of each node."
        raise FormatError.about(name, "a window does not have two times.", remedy)
    return np.array([(early or 0.0, math.inf if late is None else late) for early, late in pairs], dtype=np.float64)


def _missing(column: str) -> DynarouteError:
    return FormatError.about(column, "this column is empty.", "Fill it in.")


def format_parquet(instances: Sequence[Instance]) -> bytes:
    """Write a set.

    Parameters
    ----------
    instances
        Any problems. Their names become ids; instances without a name are numbered from 1.
    """
    pyarrow = load_pyarrow()
    every = {name: [write(instance) for instance in instances] for name, write in _WRITERS.items()}
    used = {name: cells for name, cells in every.items() if any(cell is not None for cell in cells)}
    names = [instance.name or str(number) for number, instance in enumerate(instances, start=1)]
    return bytes(format_table(pyarrow.table({"id": names, **used})))


def format_table(table: Any) -> memoryview:
    """Write a PyArrow table as a Parquet file, in small row groups and with checksums for `open_table`."""
    pyarrow = load_pyarrow()
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        table, buffer, compression="zstd", row_group_size=_ROWS_AT_ONCE, write_page_checksum=True
    )
    return memoryview(buffer.getvalue())


def open_table(file: Any, bytes_at_once: int = 0) -> Any:
    """Open a Parquet file, and check its pages if it has checksums.

    Parameters
    ----------
    file
        PyArrow's open file.
    bytes_at_once
        Bytes to read ahead per column; 0 for whole row groups.
    """
    pyarrow = load_pyarrow()
    return pyarrow.parquet.ParquetFile(file, buffer_size=bytes_at_once, page_checksum_verification=True)


def _write_array(values: NDArray[Any] | None) -> list[Any] | None:
    return None if values is None else values.tolist()


def _write_windows(instance: Instance) -> list[list[float | None]] | None:
    if instance.windows is None:
        return None
    return [[early, late if math.isfinite(late) else None] for early, late in instance.windows.tolist()]


_WRITERS: dict[str, Callable[[Instance], Any]] = {
    "coordinates": lambda instance: _write_array(instance.coordinates),
    "demands": lambda instance: write_loads(instance, instance.demands.tolist()),
    "capacity": lambda instance: write_loads(instance, [instance.capacity])[0],
    "distances": lambda instance: _write_array(instance.distances),
    "rounding": lambda instance: None if instance.rounding == "none" else instance.rounding,
    "metric": lambda instance: None if instance.metric == "euclidean" else instance.metric,
    "customer_names": lambda instance: None if instance.customer_names is None else list(instance.customer_names),
    "vehicles": lambda instance: None if instance.vehicles is None else vehicles_to_json(instance),
    "service": lambda instance: _write_array(instance.service),
    "windows": _write_windows,
    "durations": lambda instance: _write_array(instance.durations),
    "speed": lambda instance: instance.speed,
}
