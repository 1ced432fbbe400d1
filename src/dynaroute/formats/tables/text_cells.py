"""Cells from text: lines, what separates cells, quotes, comments."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain

from dynaroute.errors import FormatError, Where
from dynaroute.formats.tables.cells import Grid, Row
from dynaroute.formats.text import refuse_many_pieces, shorten, split_lines

__all__ = ["DELIMITERS", "choose_matrix_delimiter", "cut_text", "read_directive"]

DELIMITERS = ",;\t"
_RARE_DELIMITER = "|"
_DIRECTIVE = re.compile(r"#\s*(capacity|name|rounding)\s*[:=](.*)", re.IGNORECASE)
_DELIMITER_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # spreadsheets write and obey it
_LINES_LOOKED_AT = 100  # for a header

ScoreLine = Callable[[list[str]], int]


def cut_text(text: str, score: ScoreLine, delimiter: str | None = None) -> Grid:
    """Cut a text into rows of cells.

    Parameters
    ----------
    text
        All of a file. Lines that start with '#' are comments; some say the capacity, the name or the rounding.
    score
        How much a row of cells looks like the header: what separates the best one's cells separates all.
    delimiter
        What separates cells, if that is known.

    Raises
    ------
    FormatError
        If a line cannot be cut, or says twice what can be said once.
    """
    lines = split_lines(text)
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
        line = text_line.strip(" ")  # spaces alone: a tab at the end is an empty cell
        if not rows and line.startswith('"#'):  # as spreadsheets write a comment with a comma
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
    """What separates the cells of a table of numbers: a comma only where no line shows anything else."""
    lines = [line for line in split_lines(text) if line.strip() and not line.startswith("#")]
    return next((delimiter for delimiter in "\t;" if any(delimiter in line for line in lines)), ",")


def _find_declared(lines: list[str], text: str) -> str:
    first = next((line.strip(" ") for line in lines if line.strip()), "")
    declared = _DELIMITER_LINE.fullmatch(first)
    if declared is None:
        return ""
    refuse_many_pieces(text, declared[1])
    return declared[1]


def _find_header(lines: list[str], delimiters: list[str], score: ScoreLine) -> tuple[str, int]:
    """What cuts out the best header, and its line if it looks like a comment: "#" may be the heading of numbers."""
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
    """Take down what a comment says on the capacity, the name or the rounding; False if it says nothing of them."""
    directive = _DIRECTIVE.fullmatch(line)
    if directive is None:
        return False
    key, value = directive[1].lower(), directive[2].strip()
    if key != "name":
        value = value.rstrip(DELIMITERS + " ")  # spreadsheets fill the line up with empty cells
    earlier, _ = directives.setdefault(key, (value, number))
    if earlier != value:
        raise FormatError(
            f"{key} is given twice, {shorten(earlier)} and {shorten(value)}.",
            where=Where(line=number, field=key),
            remedy="Keep one of the two.",
        )
    return True


def _split_cells(line: str, following: Iterator[tuple[int, str]], delimiter: str, number: int) -> list[str]:
    """Cut a line into cells, and with it those of the following lines that a cell in quotes goes on over."""
    lines = chain([line], (text for _, text in following))
    try:
        cells = next(
            csv.reader((f"{text}\n" for text in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
        )
    except (csv.Error, TypeError, ValueError) as error:
        raise FormatError(
            f"the line cannot be cut into cells ({error}).", where=Where(line=number), remedy="Check the quotes."
        ) from error
    return [cell.strip() for cell in cells]
