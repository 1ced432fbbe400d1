"""The outline of a CVRPLIB file: its header fields and its sections, before any of them is understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dynaroute.errors import FormatError, Where
from dynaroute.formats.numbers import parse_whole
from dynaroute.formats.text import shorten, split_lines

__all__ = [
    "Field",
    "Outline",
    "Row",
    "Section",
    "outline_vrplib",
    "read_rows",
    "require_field",
    "require_section",
]

_SECTION = re.compile(r"([A-Za-z]\w*_SECTION)\s*(?:[:\s]\s*(.*))?", re.IGNORECASE | re.ASCII)
_FIELD = re.compile(r"([A-Za-z][\w\- ]*+)\s*+:\s*(.*)", re.ASCII)  # "*+": blanks are not tried a second time
_END = re.compile(r"EOF\s*:?", re.IGNORECASE)
_COMMENT = re.compile(r"#|COMMENTS?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    """The value of a header field and the line it stands on."""

    value: str
    line: int


@dataclass(frozen=True)
class Row:
    """One line of a section, cut at white space."""

    tokens: list[str]
    line: int


@dataclass(frozen=True)
class Section:
    """The rows below a section's title."""

    line: int
    rows: list[Row]


@dataclass(frozen=True)
class Outline:
    """A file's header fields and sections by their names in capitals, and whether its end is marked."""

    fields: dict[str, Field]
    sections: dict[str, Section]
    has_end: bool


def outline_vrplib(text: str) -> Outline:
    """Sort the lines of a CVRPLIB file into header fields and sections; what follows a line EOF is ignored."""
    fields: dict[str, Field] = {}
    sections: dict[str, Section] = {}
    section: Section | None = None
    for number, line in enumerate(map(str.strip, split_lines(text)), start=1):
        if not line or _COMMENT.match(line):
            continue
        if _END.fullmatch(line):
            return Outline(fields, sections, has_end=True)
        if title := _SECTION.fullmatch(line):
            section = _open_section(sections, title[1].upper(), number)
            if title[2]:
                section.rows.append(Row(title[2].split(), number))
        elif field := _FIELD.fullmatch(line):
            section = None
            _add_field(fields, _field_name(field[1].rstrip()), Field(field[2], number))
        elif section is not None:
            section.rows.append(Row(line.split(), number))
        else:
            raise FormatError(
                f"{shorten(line)} is neither a field 'KEY : VALUE' nor part of a section.",
                where=Where(line=number),
                remedy="Remove the line, or write the colon or the section's title that is missing.",
            )
    if not fields and not sections:
        raise FormatError("the file holds nothing.", remedy="Was it saved or copied completely?")
    return Outline(fields, sections, has_end=False)


def require_field(outline: Outline, name: str, remedy: str) -> Field:
    """A field that must be there."""
    field = outline.fields.get(name)
    if field is None:
        raise FormatError(f"{name} is missing.", where=Where(field=name), remedy=remedy)
    return field


def require_section(outline: Outline, name: str, remedy: str) -> Section:
    """A section that must be there."""
    section = outline.sections.get(name)
    if section is None:
        raise FormatError(f"{name} is missing.", where=Where(field=name), remedy=remedy)
    return section


def read_rows(outline: Outline, name: str, words: Sequence[str], count: int) -> list[Row]:
    """Rows of a section in the order of their numbers, each checked for its number of values.

    Parameters
    ----------
    outline
        The file.
    name
        Of the section.
    words
        What a row holds; first that which is numbered from 1, such as a node.
    count
        How many rows there must be.
    """
    section = require_section(outline, name, "Was the file cut off?")
    rows: dict[int, Row] = {}
    for row in section.rows:
        where = Where(line=row.line, field=name)
        if len(row.tokens) != len(words):
            raise FormatError(
                f"the row has {len(row.tokens)} values instead of {len(words)}.",
                where=where,
                remedy=f"A row is a {' and its '.join(words)}.",
            )
        number = parse_whole(row.tokens[0], where)
        if not 1 <= number <= count:
            first, counted = ("1 (the depot)", "DIMENSION") if words[0] == "node" else ("1", "VEHICLES")
            raise FormatError(
                f"there is no {words[0]} {number}.",
                where=where,
                remedy=f"{words[0].capitalize()}s are {first} to {count} ({counted}).",
            )
        if number in rows:
            raise FormatError(
                f"{words[0]} {number} comes twice, first on line {rows[number].line}.",
                where=where,
                remedy="Keep one of the two.",
            )
        rows[number] = row
    if len(rows) < count:
        missing = next(number for number in range(1, count + 1) if number not in rows)
        raise FormatError(
            f"{words[0]} {missing} is missing; there are {len(rows)} of {count} rows.",
            where=Where(line=section.line, field=name),
            remedy="Was the file cut off?",
        )
    return [rows[number] for number in range(1, count + 1)]


def _field_name(text: str) -> str:
    return re.sub(r"[\s\-]+", "_", text).upper()


def _open_section(sections: dict[str, Section], name: str, line: int) -> Section:
    if name in sections:
        raise FormatError(
            f"the section comes twice, first on line {sections[name].line}.",
            where=Where(line=line, field=name),
            remedy="Keep one of the two.",
        )
    section = Section(line, [])
    sections[name] = section
    return section


def _add_field(fields: dict[str, Field], name: str, field: Field) -> None:
    first = fields.setdefault(name, field)
    if first.value.upper() != field.value.upper():
        raise FormatError(
            f"the field comes twice: {shorten(first.value)} on line {first.line}, then {shorten(field.value)}.",
            where=Where(line=field.line, field=name),
            remedy="Keep one of the two.",
        )
