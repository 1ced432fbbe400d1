"""Refusing keys of JSON documents that ask for what is not planned, such as breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dynaroute.base.errors import Where
from dynaroute.formats.json.document import join_path
from dynaroute.formats.unsupported import (
    Owner,
    Request,
    find_request,
    is_unsupported,
    is_unsupported_for_vehicles,
    refuse_requests,
)

__all__ = ["refuse_keys"]

_WINDOW_HINT = 'A time window is written as "window": ["08:00", "12:00"].'


def refuse_keys(
    items: Sequence[Mapping[str, object]], known: frozenset[str], owner: Owner, path_of: Callable[[int], str]
) -> None:
    """Raise if an unknown key asks for something that Dynaroute does not plan.

    Parameters
    ----------
    items
        Objects of one kind: the depot and all customers, all vehicle types, or a whole instance.
    known
        Keys that are used.
    owner
        What they describe.
    path_of
        Makes the path of an object in the document.
    """
    found: list[tuple[Request, Where]] = []
    for key in sorted({key for item in items for key in item.keys() - known}):
        values = [item.get(key) for item in items]
        request = _find_request(key, values, owner)
        if request is not None:
            index = next(index for index, value in enumerate(values) if value not in _NO_VALUES)
            found.append((request, Where(field=join_path(path_of(index), key))))
    if found:
        refuse_requests([request for request, _ in found], found[0][1])


_NO_VALUES: tuple[object, ...] = (None, False, "", [], {})


def _find_request(key: str, values: Sequence[object], owner: Owner) -> Request | None:
    if all(value in _NO_VALUES for value in values):
        return None
    request = find_request(key, [_show(value) for value in values], owner)
    if request is not None:
        return request._replace(hint=_WINDOW_HINT) if request.role else request
    # programs that write JSON name their fields in English, and mean what they say
    is_asked = is_unsupported(key) or (owner == "vehicles" and is_unsupported_for_vehicles(key))
    return Request(key, "a constraint") if is_asked else None


def _show(value: object) -> str:
    """Write a value as a cell of a table."""
    if value in _NO_VALUES:
        return ""
    if isinstance(value, bool):
        return "yes"
    return "1 value" if isinstance(value, list | dict) else str(value)
