"""Leaving keys out of JSON documents that the user wants to plan without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dynaroute.base.display import show_list
from dynaroute.base.errors import OptionError
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.text import shorten


def leave_out(document: object, ignored: Ignored) -> object:
    """Return an instance in decoded JSON without the ignored keys: its own, of the depot, customers and vehicles."""
    if not ignored.names or not isinstance(document, Mapping):
        return document
    kept = _without(document, ignored)
    for name in kept.keys() & {"customers", "vehicles"}:
        kept[name] = _without_each(kept[name], ignored)
    depot = kept.get("depot")
    return {**kept, "depot": _without(depot, ignored)} if isinstance(depot, Mapping) else kept


def leave_out_of_customers(customers: Sequence[object], ignored: Ignored) -> list[object]:
    """Return new customers in decoded JSON without the ignored keys; each name must be a key of one of them."""
    refuse_unknown_keys([{"customers": customers}], ignored)
    kept = _without_each(customers, ignored)
    assert isinstance(kept, list)
    return kept


def leave_out_of_vehicles(vehicles: object, ignored: Ignored) -> object:
    """Return vehicle types in decoded JSON without the ignored keys."""
    return _without_each(vehicles, ignored)


def list_keys_of_vehicles(vehicles: object) -> list[str]:
    """List the keys of vehicle types in decoded JSON."""
    return list(dict.fromkeys(_list_keys(vehicles)))


def refuse_unknown_keys(documents: Iterable[object], ignored: Ignored) -> None:
    """Raise if a name to ignore is no key of these instances."""
    if not ignored.names:
        return
    keys: dict[str, None] = {}
    for document in documents:
        if isinstance(document, Mapping):
            parts = [document, *(document.get(name) for name in ("depot", "customers", "vehicles"))]
            keys |= dict.fromkeys(key for part in parts for key in _list_keys(part))
    for name in ignored.names_here:
        if not any(_is_called(key, name) for key in keys):
            raise OptionError.about(
                "ignore", f"there is no key {shorten(name)}.", f"The keys are {show_list(list(keys), 30)}."
            )


def _without(document: Mapping[str, object], ignored: Ignored) -> dict[str, object]:
    return {key: value for key, value in document.items() if not any(_is_called(key, name) for name in ignored.names)}


def _without_each(items: object, ignored: Ignored) -> object:
    if not isinstance(items, list) or not ignored.names:
        return items
    return [_without(item, ignored) if isinstance(item, Mapping) else item for item in items]


def _list_keys(part: object) -> Iterator[str]:
    """List the keys of an object, or of all objects in a list."""
    for item in part if isinstance(part, list) else [part]:
        if isinstance(item, Mapping):
            yield from item


def _is_called(key: str, name: str) -> bool:
    return key.casefold() == name.casefold()
