"""The columns of a set as a Parquet table, and the types that they may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, OptionError
from dynaroute.formats.sets.unread import refuse_constraint


def load_pyarrow() -> Any:
    """Load PyArrow, or raise an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.fs
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise OptionError(
            f"Parquet files need {error.name}, which is not installed.",
            remedy="Run pip install '.[batch]' in Dynaroute's folder.",
        ) from error
    return pyarrow


def _is_text(kind: Any) -> bool:
    types = load_pyarrow().types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view))


def _is_number(kind: Any) -> bool:
    types = load_pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_name(kind: Any) -> bool:
    return _is_text(kind) or bool(load_pyarrow().types.is_integer(kind))


def _is_list(of: Callable[[Any], bool], kind: Any) -> bool:
    types = load_pyarrow().types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (of(kind.value_type) or types.is_null(kind.value_type)))


_is_numbers = partial(_is_list, _is_number)
_is_table = partial(_is_list, _is_numbers)


def _is_structs(kind: Any) -> bool:
    return _is_list(load_pyarrow().types.is_struct, kind)


@dataclass(frozen=True)
class ParquetColumn:
    """A column of the table.

    Attributes
    ----------
    holds
        What a cell contains, in words.
    takes
        Whether a PyArrow type is allowed.
    """

    holds: str
    takes: Callable[[Any], bool]


COLUMNS = {
    "id": ParquetColumn("a text or a whole number", _is_name),
    "coordinates": ParquetColumn("a list of pairs of numbers, the depot's first", _is_table),
    "demands": ParquetColumn("a list of numbers, one for each customer, or also the depot's 0 first", _is_numbers),
    "capacity": ParquetColumn("a number", _is_number),
    "distances": ParquetColumn("a list of lists of numbers", _is_table),
    "rounding": ParquetColumn("a text", _is_text),
    "metric": ParquetColumn("a text", _is_text),
    "customer_names": ParquetColumn("a list of texts", partial(_is_list, _is_text)),
    "vehicles": ParquetColumn("a list of structures with capacity, name, count, ...", _is_structs),
    "service": ParquetColumn("a list of seconds, one for each customer, or also the depot's 0 first", _is_numbers),
    "windows": ParquetColumn("a list of pairs of seconds, the depot's first", _is_table),
    "durations": ParquetColumn("a list of lists of seconds", _is_table),
    "speed": ParquetColumn("a number", _is_number),
}
_ROWS_AT_ONCE = 4096
_NEEDED = (("demands",), ("coordinates", "distances"), ("capacity", "vehicles"))


def refuse_other_schema(schema: Any) -> None:
    """Refuse a table without a required column, or with a column of the wrong type.

    Parameters
    ----------
    schema
        PyArrow's schema.

    Raises
    ------
    FormatError
        Names the column.
    """
    for choice in _NEEDED:
        if not any(name in schema.names for name in choice):
            raise FormatError.about(
                choice[0],
                f"there is no column {' or '.join(choice)}.",
                f"Columns are {', '.join(COLUMNS)}; others are ignored.",
            )
    for name, column in COLUMNS.items():
        if schema.names.count(name) > 1:
            raise FormatError.about(name, "there are two such columns.", "Keep one of them.")
        if name in schema.names:
            kind = schema.field(name).type
            if not (column.takes(kind) or load_pyarrow().types.is_null(kind)):
                raise FormatError.about(name, f"this column has the type {kind}.", f"Use {column.holds}.")


def refuse_constraints(file: Any) -> None:
    """Refuse a table with a further column that looks like a constraint, unless its values say nothing.

    Parameters
    ----------
    file
        PyArrow's open file.

    Raises
    ------
    UnsupportedError
        Names the column.
    """
    for name in file.schema_arrow.names:
        if name not in COLUMNS:
            refuse_constraint("column", name, _read_column(file, name))


def _read_column(file: Any, name: str) -> Iterator[NDArray[Any] | None]:
    """Read a column in chunks, with pairs as rows; None for what is not numbers or cannot be read."""
    types = load_pyarrow().types
    try:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[name]):
            values, sides = batch.column(0), 0
            while _is_list(lambda _: True, values.type):
                values, sides = values.flatten(), sides + 1
            if not (types.is_null(values.type) or types.is_boolean(values.type) or _is_number(values.type)):
                yield None
                continue
            numbers = values.cast(load_pyarrow().float64()).to_numpy(zero_copy_only=False)
            yield numbers.reshape(-1, 2) if sides > 1 and not len(numbers) % 2 else np.atleast_1d(numbers)
    except (OSError, ValueError):  # PyArrow's own are kinds of these
        yield None
