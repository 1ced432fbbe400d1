"""Decoding JSON with exact numbers, and checking the kinds of values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from dynaroute.base.errors import FormatError, Where


def load_json(text: str) -> object:
    """Decode a JSON document; decimal numbers become Decimal, so that no digit is lost."""
    try:
        document: object = json.loads(text, parse_float=Decimal, object_pairs_hook=_distinct_pairs)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"this is not JSON: {error.msg}, column {error.colno}.",
            where=Where(line=error.lineno),
            remedy="Was the file cut off or edited by hand?",
        ) from error
    except (InvalidOperation, ValueError) as error:  # an exponent too large for Decimal, or too many digits for int
        raise FormatError("a number has far too many digits.", remedy="Write plain numbers.") from error
    except RecursionError as error:
        raise FormatError("the JSON is nested too deeply.", remedy="Give an instance or a list of them.") from error
    return document


def join_path(path: str, key: str) -> str:
    """Return the path of a key in the object at `path`, which is "" for the document."""
    return f"{path}.{key}" if path else key


def require(document: Mapping[str, object], key: str, path: str) -> object:
    """Return a required value of the object at `path`; null counts as missing."""
    value = document.get(key)
    if value is None:
        raise FormatError.about(join_path(path, key), f"{key} is missing.", f"Add {key!r}.")
    return value


def require_object(value: object, path: str) -> Mapping[str, object]:
    """Return a value that must be an object."""
    if not isinstance(value, dict):
        raise _wrong_kind(value, path, "an object {...}")
    return value


def require_list(value: object, path: str) -> list[object]:
    """Return a value that must be a list."""
    if not isinstance(value, list):
        raise _wrong_kind(value, path, "a list [...]")
    return value


def read_number(value: object, path: str) -> Decimal:
    """Return a finite number exactly; a float counts with the decimals it is printed with, and true is not a number."""
    if type(value) is int:
        return Decimal(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if not isinstance(value, Decimal):
        raise _wrong_kind(value, path, "a number")
    if not value.is_finite():
        raise FormatError.about(path, "the value is not a finite number.", "Write a plain number.")
    return value


def _distinct_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise FormatError.about(repeated, f"the key {repeated!r} appears twice in one object.", "Keep one of them.")
    return document


def _wrong_kind(value: object, path: str, expected: str) -> FormatError:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    found = kinds.get(type(value), "a number")
    message = f"found {found}, expected {expected}."
    return FormatError.about(path or "document", message, "Change the value, or the shape.")
