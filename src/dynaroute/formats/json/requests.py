"""Refusing keys of JSON documents that ask for what is not planned, such as breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dynaroute.base.errors import Where
from dynaroute.formats.json.document import join_path
from dynaroute.formats.unsupported import (
    Owner,
    Request,
    find_load,
    find_request,
    is_unsupported,
    is_unsupported_for_vehicles,
    refuse_requests,
)

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
    demands = [_show(item.get("demand")) for item in items]
    for key in sorted({key for item in items for key in item.keys() - known}):
        values = [item.get(key) for item in items]
        texts = [_show(value) for value in values]
        request = _find_request(key, texts, owner)
        if request is None and owner == "stops" and texts != demands:
            request = find_load(key, texts)
        if request is not None:
            index = next(index for index, text in enumerate(texts) if text)
            found.append((request, Where(field=join_path(path_of(index), key))))
    if found:
        refuse_requests([request for request, _ in found], found[0][1])


def _find_request(key: str, texts: Sequence[str], owner: Owner) -> Request | None:
    request = find_request(key, texts, owner)
    if request is not None:
        return request._replace(hint=_WINDOW_HINT) if request.role else request
    # programs that write JSON name their fields in English, and mean what they say
    is_asked = is_unsupported(key) or (owner == "vehicles" and is_unsupported_for_vehicles(key))
    return Request(key, "a constraint") if is_asked and any(text not in ("", "no") for text in texts) else None


def _show(value: object) -> str:
    """Write a value as a cell of a table."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "1 value" if isinstance(value, list | dict) else str(value)
