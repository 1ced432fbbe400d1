"""Times and windows in JSON: seconds, or texts with a unit or as on a clock."""

from __future__ import annotations

import math

from dynaroute.base.errors import FormatError, UnsupportedError, Where
from dynaroute.formats.json.document import read_number, require_list
from dynaroute.formats.numbers import refuse_unmeasurable
from dynaroute.problem.times import parse_time, parse_window


def read_window(value: object, path: str) -> tuple[float, float]:
    """Read the earliest and the latest time."""
    if value is None:
        return 0.0, math.inf
    if isinstance(value, str):
        return parse_window(value, Where(field=path))
    bounds = require_list(value, path)
    if any(isinstance(bound, list) for bound in bounds):
        raise UnsupportedError.about(
            path, "there are several time windows under the key of a single one.", 'Write them as "windows".'
        )
    if len(bounds) != 2:
        raise FormatError.about(
            path, f"there are {len(bounds)} times, not two.", "Give the earliest and the latest time."
        )
    return read_seconds(bounds[0], f"{path}[0]", 0.0), read_seconds(bounds[1], f"{path}[1]", math.inf)


def read_seconds(value: object, path: str, default: float) -> float:
    """Read a time; null is the default."""
    if value is None:
        return default
    if isinstance(value, str):
        return parse_time(value, Where(field=path))
    return refuse_unmeasurable(float(read_number(value, path)), Where(field=path))
