"""Finding out what a file holds."""

from __future__ import annotations

import re
from pathlib import Path

from dynaroute.base.errors import in_file

_ROUTES_KEY = re.compile(rb'"routes"\s*:')
_PLAN_KEY = re.compile(rb'"instance"\s*:\s*\{')


def holds_solution(file: Path) -> bool:
    """Whether a file holds routes, by its suffix or, for JSON, the key "routes".

    Parameters
    ----------
    file
        Any file; errors are reported when it is read.
    """
    from dynaroute.base.files import read_bytes
    from dynaroute.formats import INSTANCE_SUFFIXES, SOLUTION_SUFFIXES

    suffix = file.suffix.lower()  # standard input has none, and holds no solution
    if suffix not in INSTANCE_SUFFIXES or suffix not in SOLUTION_SUFFIXES:
        return suffix in SOLUTION_SUFFIXES
    with in_file(file):
        return _ROUTES_KEY.search(read_bytes(file)) is not None


def holds_plan(file: Path) -> bool:
    """Whether a file holds a plan: an instance with its routes.

    Parameters
    ----------
    file
        Any file; errors are reported when it is read.
    """
    from dynaroute.base.files import read_bytes

    if file.suffix.lower() != ".json":
        return False
    with in_file(file):
        content = read_bytes(file)
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(
        key.search(content) for key in (_PLAN_KEY, _ROUTES_KEY)
    )
