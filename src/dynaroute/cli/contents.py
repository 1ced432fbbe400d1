"""What kind of thing a file holds."""

from __future__ import annotations

import re
from pathlib import Path

from dynaroute.errors import in_file

__all__ = ["holds_solution"]

_ROUTES_KEY = re.compile(rb'"routes"\s*:')


def holds_solution(file: Path) -> bool:
    """Whether a file is one of routes rather than of instances: by its suffix, or as JSON by the key "routes".

    Parameters
    ----------
    file
        Any file; whether it is sound shows when it is read.
    """
    from dynaroute.files import read_bytes
    from dynaroute.formats import INSTANCE_SUFFIXES, SOLUTION_SUFFIXES

    suffix = file.suffix.lower()  # the standard input has none, and holds no solution
    if suffix not in INSTANCE_SUFFIXES or suffix not in SOLUTION_SUFFIXES:
        return suffix in SOLUTION_SUFFIXES
    with in_file(file):
        return _ROUTES_KEY.search(read_bytes(file)) is not None
