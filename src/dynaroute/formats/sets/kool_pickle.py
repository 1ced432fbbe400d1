"""Published test sets (.pkl): a list of tuples (depot, customers, demands, capacity), and MVMoE's longer ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dynaroute.base.errors import FormatError, UnsupportedError, Where, merge_notes, placed, warn_of_input
from dynaroute.base.limits import refuse_large_set
from dynaroute.formats.numbers import instance_from_arrays
from dynaroute.formats.sets.mvmoe import FurtherRules, NamedKind, find_kind, read_further_rules
from dynaroute.formats.sets.plain_pickle import PlainArray, load_plain_pickle
from dynaroute.problem.instance import Instance

_SHAPE = "Each instance is ([x, y], [[x, y], ...], [demand, ...], capacity)."


def parse_kool_pickle(content: bytes, *, source: str = "") -> list[Instance]:
    """Read a set without executing anything.

    Parameters
    ----------
    content
        The pickle.
    source
        The file's path; its stem begins the instances' names.

    Raises
    ------
    DynarouteError
        If the pickle holds more than plain data, has the wrong shape, or an instance is invalid.
    """
    stem = Path(source).stem
    kind = find_kind(source)
    items = _require_sequence(load_plain_pickle(content), "document")
    # a few bytes can repeat one instance or customer many times
    refuse_large_set(len(items), sum(map(_count_customers, items)))
    instances = []
    with merge_notes(source):
        for index, item in enumerate(items):
            with placed(partial(_place_within, index)):
                instances.append(_read_instance(item, f"{stem}-{index + 1}", kind))
    return instances


def _count_customers(item: object) -> int:
    """Count an instance's customers: the length of its longest part."""
    parts = item if isinstance(item, list | tuple) else ()
    arrays = [part.array.size for part in parts if isinstance(part, PlainArray) and part.array is not None]
    return max([*arrays, *(len(part) for part in parts if isinstance(part, list | tuple))], default=0)


def _place_within(index: int, where: Where) -> Where:
    """Place errors in one element of the list."""
    position = "depot" if where.customer is None else "customers"
    fields = {None: "", "demands": ".demand", "coordinates": f".{position}"}
    return replace(where, field=f"[{index}]{fields.get(where.field, f'.{where.field}')}")


def _read_instance(item: object, name: str, kind: NamedKind) -> Instance:
    parts = _require_sequence(item, None)
    if len(parts) < 4:
        raise _wrong_shape(None)
    depot, customers, demands, capacity = (_unwrap(part) for part in parts[:4])
    if isinstance(depot, list | tuple) and len(depot) == 1 and isinstance(depot[0], list | tuple):  # [[x, y]]
        depot = depot[0]
    if isinstance(parts[3], PlainArray) and isinstance(capacity, list) and len(capacity) == 1:
        capacity = capacity[0]
    places = [
        _require_sequence(depot, "depot"),
        *(_require_sequence(place, "customers") for place in _require_sequence(customers, "customers")),
    ]
    if set(map(len, places)) != {2}:
        raise _wrong_shape("customers")
    flat = _require_numbers([number for place in places for number in place], "customers")
    loads = _require_numbers(_require_sequence(demands, "demand"), "demand")
    if len(loads) != len(places) - 1:
        raise _wrong_shape("demand")
    limits = _require_numbers([capacity], "capacity")
    try:
        coordinates = np.array(flat, dtype=np.float64).reshape(-1, 2)
        instance = instance_from_arrays(coordinates, _as_array(loads), _as_array(limits).reshape(()), name)
        further = read_further_rules([_unwrap(part) for part in parts[4:]], instance.size, kind)
        if further is None:
            _pass_over(parts[4:], demands)
        return (further or FurtherRules()).add_to(instance, kind)
    except OverflowError as error:
        raise _wrong_shape("customers") from error


def _unwrap(value: object) -> object:
    """Convert arrays to lists, to check them number by number."""
    return value.array.tolist() if isinstance(value, PlainArray) and value.array is not None else value


def _pass_over(further: Sequence[object], demands: object) -> None:
    """Ignore elements after the capacity, unless they have one value per customer and so might matter."""
    customers = len(_require_sequence(demands, "demand"))
    for number, value in enumerate(map(_unwrap, further), 5):
        if isinstance(value, list | tuple) and len(value) >= customers:
            raise UnsupportedError(
                f"element {number} of an instance has one value per customer, but its meaning is unknown.",
                remedy=f"Remove it if the routes do not depend on it. {_SHAPE}",
            )
    if further:
        warn_of_input("", f"ignored {len(further)} elements after the capacity of each instance.")


def _as_array(numbers: list[int | float] | tuple[int | float, ...]) -> np.ndarray:
    array = np.array(numbers)
    return array.astype(np.float64) if array.dtype.kind == "O" else array  # integers beyond 64 bits


def _require_sequence(value: object, field: str | None) -> list[object] | tuple[object, ...]:
    plain = _unwrap(value)
    if not isinstance(plain, list | tuple):
        raise _wrong_shape(field)
    return plain


def _require_numbers(values: list[object] | tuple[object, ...], field: str) -> list[int | float]:
    if not set(map(type, values)) <= {int, float}:
        raise _wrong_shape(field)
    return values  # type: ignore[return-value]  # the types have just been checked


def _wrong_shape(field: str | None) -> FormatError:
    return FormatError.about(field, "the values have the wrong shape or type.", _SHAPE)
