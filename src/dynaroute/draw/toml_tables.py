"""Settings in TOML: reading files, refusing unknown settings, writing values."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from dynaroute.base.errors import FileError, FormatError, OptionError
from dynaroute.base.files import read_bytes
from dynaroute.base.limits import LARGEST_SETTINGS

__all__ = [
    "as_tuple",
    "load_toml",
    "parse_toml",
    "require_amount",
    "require_count",
    "require_known",
    "show_table",
]


def load_toml(path: Path, what: str, example: str) -> dict[str, Any]:
    """Read the tables of a file; call it within `in_file`."""
    try:
        text = read_bytes(path, LARGEST_SETTINGS).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read the {what}.", remedy="Is it text?") from error
    return parse_toml(text, example)


def parse_toml(text: str, example: str) -> dict[str, Any]:
    """Read the tables of a text."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"this is not TOML: {error}.", remedy=f"Correct it, or start from {example}.") from error


def require_known(table: dict[str, Any], kind: type[Any], besides: tuple[str, ...] = ()) -> None:
    """Raise if a name is neither a field of the dataclass nor in `besides`."""
    known = {field.name for field in fields(kind)} - set(besides)
    for name in table:
        if name not in known:
            raise OptionError.about(
                name, "there is no such setting.", f"Known settings are {', '.join(sorted(known))}."
            )


def show_table(values: dict[str, Any]) -> list[str]:
    """Format one line per value that is not None."""
    return [f"{name} = {_show(value)}" for name, value in values.items() if value is not None]


def as_tuple(value: Any) -> Any:
    """Convert lists to tuples."""
    return tuple(value) if isinstance(value, list) else value


def require_count(field: str, value: object) -> None:
    """Raise unless it is a whole number of 1 or more."""
    if type(value) is not int or value < 1:
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a whole number of 1 or more.")


def require_amount(field: str, value: object) -> None:
    """Raise unless it is a finite number above 0."""
    if type(value) not in (int, float) or not 0 < value < float("inf"):  # type: ignore[operator]
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a number above 0.")


def _show(value: object) -> str:
    # same as in JSON, except for surrogate pairs
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
