"""Documents of every kind that the service takes, and values that no place in them expects."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

FLEET: dict[str, Any] = {
    "version": 2,
    "name": "week",
    "capacity": 10,
    "depot": {"id": "yard", "x": 0, "y": 0, "window": [0, 90_000]},
    "customers": [
        {"id": "a", "x": 3, "y": 4, "demand": 2, "service": 5, "window": ["08:00", "12:00"], "details": {"tel": "1"}},
        {"id": 7, "x": 3.5, "y": 0, "demand": 2.5, "window": "08:00-12:00"},
    ],
    "rounding": "nearest",
    "speed": 2,
    "vehicles": [
        {"name": "van", "capacity": 10, "count": 3, "max_duration": "9h", "shift": [0, 90_000], "end": "open"},
        {"name": "bicycle", "capacity": 5.5, "max_distance": 1000, "max_stops": 9, "shift": "08:00-20:00"},
    ],
    "options": {"improve": "search", "time_limit": 0.01, "objective": "vehicles"},
}
MATRIX: dict[str, Any] = {
    "capacity": 10,
    "customers": [{"demand": 2}, {"demand": 7}],
    "distances": [[0, 1, 2], [3, 0, 4.5], [5, 6, 0]],
    "durations": [[0, 1, 2], [3, 0, 4.5], [5, 6, 0]],
    "options": {"model": "amd-20", "decode": "sample", "samples": 2, "augment": True, "time_limit": 0.01, "seed": 3},
}
GLOBE: dict[str, Any] = {
    "capacity": 10,
    "depot": {"lat": 1, "lon": 2},
    "customers": [{"lat": 3, "lon": 4, "demand": 2, "service": "5 min"}],
    "speed": 10,
}
JUDGED: dict[str, Any] = {
    "instance": {key: value for key, value in FLEET.items() if key != "options"},
    "solution": {"routes": [[1], [2]], "cost": 12, "vehicles": ["van", "bicycle"]},
}
PLAN: dict[str, Any] = {
    "plan": {"instance": JUDGED["instance"], "routes": [[1], [2]], "vehicles": [0, 1]},
    "customers": [{"id": "new", "x": 1, "y": 1, "demand": 1, "service": 4, "window": [0, 50_000]}],
}

DIGITS = "9" * 400
EXTREMES = (
    DIGITS,
    f"-{DIGITS}",
    "9" * 4_300,
    "9" * 5_000,
    f"0.{DIGITS}",
    "1e400",
    "-1e400",
    "1e999999999",
    "-1e-999999999",
    "5e-324",
    "1e308",
    "9223372036854775808",
    "NaN",
    "-Infinity",
    "true",
    '""',
    '"\\ud800"',
    '"\\u0000"',
    f'"{DIGITS}"',
    f'"{DIGITS}:00"',
    f'"08:00-{DIGITS}h"',
    '"1e400 min"',
    "[]",
    "{}",
    f"[{DIGITS}]",
    f"[{DIGITS}, 1e400]",
    '[["\\ud800"]]',
    "[null]",
    "[true, 1.5]",
    '{"\\ud800": "\\udfff"}',
    "[" * 900 + "]" * 900,
    '{"a":' * 900 + "1" + "}" * 900,
)

_MARK = "the value that is replaced"


def replace_each(document: dict[str, Any], extreme: str) -> Iterator[bytes]:
    """Write the document once for each place in it, with this JSON there."""
    for path in _list_paths(document):
        yield _replace(document, path, extreme)


def extreme_bodies(document: dict[str, Any]) -> st.SearchStrategy[Any]:
    """The document with one value replaced, from among those that every kind of body can hold."""
    paths = list(_list_paths(document))
    return st.builds(_put, st.just(document), st.sampled_from(paths), st.sampled_from(_list_sendable()))


def _list_sendable() -> list[Any]:
    """List the extremes that Python can hold and write: neither infinite numbers nor broken characters."""
    sendable = []
    for extreme in EXTREMES:
        with suppress(ValueError):
            value = json.loads(extreme)
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
            sendable.append(value)
    return sendable


def _list_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """List the places in a document; the document itself is none."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _list_paths(item, (*path, key))


def _put(document: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _replace(document: dict[str, Any], path: tuple[str | int, ...], extreme: str) -> bytes:
    return json.dumps(_put(document, path, _MARK)).replace(json.dumps(_MARK), extreme).encode()
