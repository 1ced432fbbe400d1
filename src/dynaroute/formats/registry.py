"""The table of formats: what files of each suffix can hold, and how they are read and written.

To add a format, write a module and add an entry here. All lists of suffixes follow from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dynaroute.base.errors import FormatError, OptionError, UnsupportedError
from dynaroute.formats.json.instance import format_json, format_json_set, parse_json
from dynaroute.formats.json.solution import format_json_solution, parse_json_solution
from dynaroute.formats.sets.kool_pickle import parse_kool_pickle
from dynaroute.formats.sets.npz import format_npz, parse_npz
from dynaroute.formats.sets.parquet import format_parquet, parse_parquet
from dynaroute.formats.sets.torch_set import parse_torch_set
from dynaroute.formats.tables.csv import format_csv, parse_text_table
from dynaroute.formats.tables.stops import ReadingOptions
from dynaroute.formats.tables.xlsx import parse_xlsx
from dynaroute.formats.text import decode_text
from dynaroute.formats.vrplib.instance import parse_vrplib
from dynaroute.formats.vrplib.number_files import find_number_file
from dynaroute.formats.vrplib.sol import format_sol, number_without_instance, parse_sol
from dynaroute.formats.vrplib.solomon import format_solomon, looks_like_solomon, parse_solomon
from dynaroute.formats.vrplib.writing import format_vrplib
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

Capacity = float | Decimal | str | None

_SAVE_AS = "Open it in a spreadsheet program and save it as an Excel workbook (.xlsx), or as CSV."
_SPREADSHEETS = {  # recognised by suffix, but not read
    ".xls": "old Excel workbooks",
    ".xlsb": "binary workbooks",
    ".ods": "OpenDocument spreadsheets",
    ".fods": "OpenDocument spreadsheets",
    ".numbers": "Numbers spreadsheets",
    ".gsheet": "links to Google's spreadsheets",
    ".html": "web pages",
    ".htm": "web pages",
}


@dataclass(frozen=True)
class Format:
    """What files of one suffix can hold; None means that they cannot.

    Attributes
    ----------
    parse
        Reads all instances from a file's bytes, its path, and the options for tables.
    format_one
        Writes a single instance.
    format_set
        Writes a list of instances; also a single instance, if `format_one` is None.
    parse_solution, format_solution
        The same for routes.
    is_table
        Whether its rows are stops, so that the options for tables apply.
    has_sheets
        Whether it can hold several tables.
    holds_fleets
        Whether it can hold vehicles and times; `format_one` refuses the kinds it cannot hold.
    holds_rules
        Whether it can hold the rules of `dynaroute.problem.rules`.
    holds_details
        Whether it can hold extra columns of a table; other formats drop them with a note.
    """

    parse: Callable[[bytes, str, ReadingOptions], list[Instance]] | None = None
    format_one: Callable[[Instance], str] | None = None
    format_set: Callable[[Sequence[Instance]], str | bytes] | None = None
    parse_solution: Callable[[str, str], Solution] | None = None
    format_solution: Callable[[Solution], str] | None = None
    is_table: bool = False
    has_sheets: bool = False
    holds_fleets: bool = False
    holds_rules: bool = False
    holds_details: bool = False


def _parse_text(content: bytes, source: str, reading: ReadingOptions) -> list[Instance]:
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FormatError(
            "this is a workbook or an archive, not text.", remedy="If it is an Excel workbook, rename it to .xlsx."
        )
    return [parse_text_table(decode_text(content), reading, source)]


def _parse_workbook(content: bytes, source: str, reading: ReadingOptions) -> list[Instance]:
    return [parse_xlsx(content, reading, source)]


def _parse_txt(content: bytes, source: str, reading: ReadingOptions) -> list[Instance]:
    text = decode_text(content)
    numbers = find_number_file(text)
    if numbers is not None and reading == ReadingOptions():
        return [numbers(source)]
    if not looks_like_solomon(text):
        return _parse_text(content, source, reading)
    if reading != ReadingOptions():
        raise OptionError(
            "a file in Solomon's format is not a table, and states its own capacity.",
            remedy="Leave out the options for tables.",
        )
    return [parse_solomon(text, source=source)]


FORMATS = {
    ".sol": Format(
        parse_solution=lambda text, source: number_without_instance(parse_sol(text, source=source)),
        format_solution=format_sol,
    ),
    ".vrp": Format(
        parse=lambda content, source, _: [parse_vrplib(decode_text(content), source=source)],
        format_one=format_vrplib,
        holds_fleets=True,
        holds_rules=True,  # those of PyVRP's sections; `format_vrplib` refuses the others
    ),
    ".csv": Format(
        parse=_parse_text,
        format_one=format_csv,
        is_table=True,
        holds_fleets=True,
        holds_rules=True,  # those of customers; `format_csv` refuses the others
        holds_details=True,
    ),
    ".tsv": Format(parse=_parse_text, is_table=True),
    ".txt": Format(parse=_parse_txt, format_one=format_solomon, is_table=True, holds_fleets=True),
    ".xlsx": Format(parse=_parse_workbook, is_table=True, has_sheets=True),
    ".xlsm": Format(parse=_parse_workbook, is_table=True, has_sheets=True),
    ".json": Format(
        parse=lambda content, source, reading: parse_json(
            decode_text(content, ",[{"), source=source, ignored=reading.ignored
        ),
        format_one=format_json,
        format_set=format_json_set,
        parse_solution=lambda text, source: parse_json_solution(text, source=source),
        format_solution=format_json_solution,
        holds_fleets=True,
        holds_rules=True,
        holds_details=True,
    ),
    ".npz": Format(
        parse=lambda content, source, _: parse_npz(content, source=source),
        format_set=format_npz,
        holds_fleets=True,
        holds_rules=True,  # those of RouteFinder's sets; `format_npz` refuses the others
    ),
    ".parquet": Format(
        parse=lambda content, source, _: parse_parquet(content, source=source),
        format_set=format_parquet,
        holds_fleets=True,
    ),
    ".pt": Format(parse=lambda content, source, _: parse_torch_set(content, source=source)),
    ".pth": Format(parse=lambda content, source, _: parse_torch_set(content, source=source)),
    ".pkl": Format(parse=lambda content, source, _: parse_kool_pickle(content, source=source)),
}

INSTANCE_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.parse)
SOLUTION_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.parse_solution)
TABLE_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.is_table)
WRITABLE_SET_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.format_set)
WRITABLE_INSTANCE_SUFFIXES = tuple(suffix for suffix, known in FORMATS.items() if known.format_one or known.format_set)


def require_suffix(path: Path, known: tuple[str, ...], content: str) -> str:
    """Return the suffix in lower case, or raise if it is not one of the known."""
    suffix = path.suffix.lower()
    if suffix in known:
        return suffix
    if suffix in _SPREADSHEETS:
        raise UnsupportedError(f"{_SPREADSHEETS[suffix]} ({suffix}) cannot be read.", remedy=_SAVE_AS)
    remedy = f"Use one of {', '.join(known)}."
    if suffix in FORMATS:
        raise UnsupportedError(f"a {suffix} file does not work for {content}.", remedy=remedy)
    shown = f"the suffix {suffix!r} is unknown" if suffix else "the file name has no suffix"
    raise FormatError(f"{shown}, so it does not work for {content}.", remedy=remedy)
