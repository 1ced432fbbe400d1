"""Split a text into cells: lines, separators, quotes, comments."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain

from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.tables.cells.cells import Grid, Row
from dynaroute.formats.text import refuse_many_pieces, shorten, split_lines

DELIMITERS = ",;\t"
_RARE_DELIMITER = "|"
_DIRECTIVE = re.compile(r"#\s*(capacity|name|rounding)\s*[:=](.*)", re.IGNORECASE)
_DELIMITER_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # spreadsheets write and read it
_LINES_LOOKED_AT = 100  # for a header

ScoreLine = Callable[[list[str]], int]


def cut_text(text: str, score: ScoreLine, delimiter: str | None = None) -> Grid:
    """Split a text into rows of cells.

    Parameters
    ----------
    text
        The whole file. Lines that start with '#' are comments; some give the capacity, the name or the rounding.
    score
        Rates how much a row looks like a header. The separator that yields the best header is used for all lines.
    delimiter
        The separator, if it is known.

    Raises
    ------
    FormatError
        If a line cannot be split, or a comment contradicts an earlier one.
    """
    lines = _unwrap(split_lines(text))
    declared = _find_declared(lines, text) or delimiter
    delimiter, header = _find_header(lines, [declared] if declared else [*DELIMITERS, _RARE_DELIMITER], score)
    if delimiter == _RARE_DELIMITER:
        refuse_many_pieces(text, delimiter)
    rows: list[Row] = []
    directives: dict[str, tuple[str, int]] = {}
    comments: list[tuple[int, int]] = []
    follows_blank = False
    numbered = enumerate(lines, start=1)
    for number, text_line in numbered:
        line = text_line.strip(" ")  # only spaces: a tab at the end is an empty cell
        if not rows and line.startswith('"#'):  # spreadsheets put a comment that contains a comma in quotes
            line = line.rstrip(DELIMITERS).strip('"')
        if line.startswith("#") and number != header:
            read_directive(directives, line, number)
            comments.append((number, line.count(delimiter)))
        elif not line.strip(DELIMITERS + " \u00a0"):
            follows_blank = True
        elif not rows and declared and _DELIMITER_LINE.fullmatch(line):
            continue
        else:
            cells = _split_cells(line, numbered, delimiter, number)
            rows.append(Row(tuple(cells), number, follows_blank=follows_blank))
            follows_blank = False
    return Grid(rows, delimiter, directives=directives, comments=tuple(comments))


def choose_matrix_delimiter(text: str) -> str:
    """The separator in a table of numbers: a comma only if no line contains a tab or a semicolon."""
    lines = [line for line in split_lines(text) if line.strip() and not line.startswith("#")]
    return next((delimiter for delimiter in "\t;" if any(delimiter in line for line in lines)), ",")


def _unwrap(lines: list[str]) -> list[str]:
    """Remove the quotes that some programs put around every whole line."""
    filled = [line for line in lines if line.strip()]
    if not all(line[0] == line[-1] == '"' and line.count('"') == 2 for line in map(str.strip, filled)):
        return lines
    return [line.strip()[1:-1] for line in lines]


def _find_declared(lines: list[str], text: str) -> str:
    first = next((line.strip(" ") for line in lines if line.strip()), "")
    declared = _DELIMITER_LINE.fullmatch(first)
    if declared is None:
        return ""
    refuse_many_pieces(text, declared[1])
    return declared[1]


def _find_header(lines: list[str], delimiters: list[str], score: ScoreLine) -> tuple[str, int]:
    """The separator that yields the best header, and the header's line, because a header can start with "#"."""
    numbered = [
        (number, line.strip(" ")) for number, line in enumerate(lines, start=1) if line.strip(DELIMITERS + ' "')
    ]
    plain = [(number, line) for number, line in numbered if not line.lstrip('"').startswith("#")][:_LINES_LOOKED_AT]
    commented = [(number, line) for number, line in numbered if line.startswith("#")][:_LINES_LOOKED_AT]
    for candidates in (plain, commented):
        best, where, best_score = "", 0, 1
        for number, line in candidates:
            for delimiter in sorted(delimiters, key=line.count, reverse=True):
                if (found := score(_split_roughly(line, delimiter))) > best_score:
                    best, where, best_score = delimiter, number, found
        if best:
            return best, where
    first = next((line for _, line in plain if not _DELIMITER_LINE.fullmatch(line)), "")
    return max(delimiters, key=first.count), 0


def _split_roughly(line: str, delimiter: str) -> list[str]:
    return [cell.strip(' "') for cell in line.split(delimiter)]


def read_directive(directives: dict[str, tuple[str, int]], line: str, number: int) -> bool:
    """Store the capacity, name or rounding that a comment gives; False if it gives none of them."""
    directive = _DIRECTIVE.fullmatch(line)
    if directive is None:
        return False
    key, value = directive[1].lower(), directive[2].strip()
    if key != "name":
        value = value.rstrip(DELIMITERS + " ")  # spreadsheets pad the line with empty cells
    earlier, _ = directives.setdefault(key, (value, number))
    if earlier != value:
        raise FormatError(
            f"{key} is given twice: {shorten(earlier)} and {shorten(value)}.",
            where=Where(line=number, field=key),
            remedy="Keep one of the two.",
        )
    return True


def _split_cells(line: str, following: Iterator[tuple[int, str]], delimiter: str, number: int) -> list[str]:
    """Split a line into cells; a quoted cell may continue over the following lines."""
    lines = chain([line], (text for _, text in following))
    try:
        cells = next(
            csv.reader((f"{text}\n" for text in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
        )
    except (csv.Error, TypeError, ValueError) as error:
        raise FormatError(
            f"the line cannot be split into cells ({error}).", where=Where(line=number), remedy="Check the quotes."
        ) from error
    return [cell.strip() for cell in cells]
