"""The table of formats: which suffix means which, what it can hold, and who reads and writes it.

A new format is a module of its own and an entry here; every list of suffixes follows from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dynaroute.errors import FormatError, UnsupportedError
from dynaroute.formats.csv import format_csv, parse_csv
from dynaroute.formats.json import format_json, format_json_set, parse_json
from dynaroute.formats.json_solution import format_json_solution, parse_json_solution
from dynaroute.formats.kool_pickle import parse_kool_pickle
from dynaroute.formats.npz import format_npz, parse_npz
from dynaroute.formats.sol import format_sol, parse_sol
from dynaroute.formats.solomon import format_solomon, parse_solomon
from dynaroute.formats.text import decode_text
from dynaroute.formats.vrplib import format_vrplib, parse_vrplib
from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = [
    "FORMATS",
    "INSTANCE_SUFFIXES",
    "SOLUTION_SUFFIXES",
    "WRITABLE_INSTANCE_SUFFIXES",
    "WRITABLE_SET_SUFFIXES",
    "Capacity",
    "Format",
    "require_suffix",
]

Capacity = float | Decimal | None


@dataclass(frozen=True)
class Format:
    """What files of one suffix can hold; None stands for what they cannot.

    Attributes
    ----------
    parse
        Reads all instances from a file's bytes, its path, and the capacity that the caller gave.
    format_one
        Writes an instance that was given by itself.
    format_set
        Writes a list of instances, of one too; and the lone one, where `format_one` is None.
    parse_solution, format_solution
        The same for routes.
    takes_capacity
        Whether the file may leave the capacity to the caller.
    holds_fleets
        Whether it can hold vehicles and times at all; what it cannot hold of them, `format_one` refuses.
    """

    parse: Callable[[bytes, str, Capacity], list[Instance]] | None = None
    format_one: Callable[[Instance], str] | None = None
    format_set: Callable[[Sequence[Instance]], str | bytes] | None = None
    parse_solution: Callable[[str, str], Solution] | None = None
    format_solution: Callable[[Solution], str] | None = None
    takes_capacity: bool = False
    holds_fleets: bool = False


FORMATS = {
    ".sol": Format(parse_solution=lambda text, source: parse_sol(text, source=source), format_solution=format_sol),
    ".vrp": Format(
        parse=lambda content, source, _: [parse_vrplib(decode_text(content), source=source)],
        format_one=format_vrplib,
        holds_fleets=True,
    ),
    ".csv": Format(
        parse=lambda content, source, capacity: [parse_csv(decode_text(content), capacity=capacity, source=source)],
        format_one=format_csv,
        takes_capacity=True,
    ),
    ".json": Format(
        parse=lambda content, source, _: parse_json(decode_text(content, ",[{"), source=source),
        format_one=format_json,
        format_set=format_json_set,
        parse_solution=lambda text, source: parse_json_solution(text, source=source),
        format_solution=format_json_solution,
        holds_fleets=True,
    ),
    ".txt": Format(
        parse=lambda content, source, _: [parse_solomon(decode_text(content), source=source)],
        format_one=format_solomon,
        holds_fleets=True,
    ),
    ".npz": Format(parse=lambda content, source, _: parse_npz(content, source=source), format_set=format_npz),
    ".pkl": Format(parse=lambda content, source, _: parse_kool_pickle(content, source=source)),
}

INSTANCE_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.parse)
SOLUTION_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.parse_solution)
WRITABLE_SET_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.format_set)
WRITABLE_INSTANCE_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.format_one or known.format_set)


def require_suffix(path: Path, known: tuple[str, ...], content: str) -> str:
    """The suffix in small letters, if it is one of those that will do for this content."""
    suffix = path.suffix.lower()
    if suffix in known:
        return suffix
    remedy = f"Use one of {', '.join(known)}."
    if suffix in FORMATS:
        raise UnsupportedError(f"a {suffix} file is not one for {content}.", remedy=remedy)
    shown = f"the suffix {suffix!r} is unknown" if suffix else "the file name has no suffix"
    raise FormatError(f"{shown}, so {content} cannot be expected there.", remedy=remedy)
