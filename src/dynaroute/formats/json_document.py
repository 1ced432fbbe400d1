"""Decoded JSON: exact numbers, and values that are what they should be or an error with their path."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from dynaroute.errors import FormatError, Where

__all__ = ["join_path", "load_json", "read_number", "require", "require_list", "require_object"]


def load_json(text: str) -> object:
    """Decode a JSON document; numbers with a point become Decimal, so that none of their digits is lost."""
    try:
        document: object = json.loads(text, parse_float=Decimal, object_pairs_hook=_distinct_pairs)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"this is not JSON: {error.msg}, column {error.colno}.",
            where=Where(line=error.lineno),
            remedy="Was the file cut off or edited by hand?",
        ) from error
    except (InvalidOperation, ValueError) as error:  # an exponent that Decimal, digits that int does not take
        raise FormatError("a number has far too many digits.", remedy="Write plain numbers.") from error
    except RecursionError as error:
        raise FormatError("the JSON is nested too deeply.", remedy="Give an instance or a list of them.") from error
    return document


def join_path(path: str, key: str) -> str:
    """Path of a key in an object that has a path itself, if it is not the document."""
    return f"{path}.{key}" if path else key


def require(document: Mapping[str, object], key: str, path: str) -> object:
    """Return a value of an object at `path` that must be there and not null."""
    value = document.get(key)
    if value is None:
        raise FormatError(f"{key} is missing.", where=Where(field=join_path(path, key)), remedy=f"Add {key!r}.")
    return value


def require_object(value: object, path: str) -> Mapping[str, object]:
    """Return a value that must be an object; the path of the document is ""."""
    if not isinstance(value, dict):
        raise _wrong_kind(value, path, "an object {...}")
    return value


def require_list(value: object, path: str) -> list[object]:
    """Return a value that must be a list; the path of the document is ""."""
    if not isinstance(value, list):
        raise _wrong_kind(value, path, "a list [...]")
    return value


def read_number(value: object, path: str) -> Decimal:
    """Return a finite number exactly; the decimals of a float are those it is written with, true is none."""
    if type(value) is int:
        return Decimal(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if not isinstance(value, Decimal):
        raise _wrong_kind(value, path, "a number")
    if not value.is_finite():
        raise FormatError("the value is not a finite number.", where=Where(field=path), remedy="Write a plain number.")
    return value


def _distinct_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise FormatError(
            f"the key {repeated!r} comes twice in one object.", where=Where(field=repeated), remedy="Keep one of them."
        )
    return document


def _wrong_kind(value: object, path: str, expected: str) -> FormatError:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    found = kinds.get(type(value), "a number")
    message = f"{found} stands where {expected} is expected."
    return FormatError(message, where=Where(field=path or "document"), remedy="Change the value, or the shape.")
