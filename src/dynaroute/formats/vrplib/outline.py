"""The outline of a CVRPLIB file: header fields and sections, not yet interpreted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.numbers import parse_whole
from dynaroute.formats.text import shorten, split_lines

_SECTION = re.compile(r"([A-Za-z]\w*_SECTION)\s*(?:[:\s]\s*(.*))?", re.IGNORECASE | re.ASCII)
_FIELD = re.compile(r"([A-Za-z][\w\- ]*+)\s*+:\s*(.*)", re.ASCII)  # possessive "*+" never backtracks
_END = re.compile(r"EOF\s*:?", re.IGNORECASE)
_COMMENT = re.compile(r"#|COMMENTS?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    """The value of a header field, and its line."""

    value: str
    line: int


@dataclass(frozen=True)
class SectionLine:
    """One line of a section, split at white space."""

    tokens: list[str]
    line: int


@dataclass(frozen=True)
class Section:
    """The rows below a section's title."""

    line: int
    rows: list[SectionLine]


@dataclass(frozen=True)
class Outline:
    """A file's header fields and sections by upper-case name, and whether it ends with EOF."""

    fields: dict[str, Field]
    sections: dict[str, Section]
    has_end: bool


def outline_vrplib(text: str) -> Outline:
    """Sort the lines of a CVRPLIB file into header fields and sections; everything after EOF is ignored."""
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
                section.rows.append(SectionLine(title[2].split(), number))
        elif field := _FIELD.fullmatch(line):
            section = None
            _add_field(fields, _field_name(field[1].rstrip()), Field(field[2], number))
        elif section is not None:
            section.rows.append(SectionLine(line.split(), number))
        else:
            raise FormatError(
                f"{shorten(line)} is neither a field 'KEY : VALUE' nor part of a section.",
                where=Where(line=number),
                remedy="Remove the line, or add the missing colon or section title.",
            )
    if not fields and not sections:
        raise FormatError("the file has no content.", remedy="Was it saved or copied completely?")
    return Outline(fields, sections, has_end=False)


def require_field(outline: Outline, name: str, remedy: str) -> Field:
    """Return a required field."""
    field = outline.fields.get(name)
    if field is None:
        raise FormatError.about(name, f"{name} is missing.", remedy)
    return field


def require_section(outline: Outline, name: str, remedy: str) -> Section:
    """Return a required section."""
    section = outline.sections.get(name)
    if section is None:
        raise FormatError.about(name, f"{name} is missing.", remedy)
    return section


def read_rows(outline: Outline, name: str, words: Sequence[str], count: int) -> list[SectionLine]:
    """Read a section's rows in order of their numbers, checking the number of values in each.

    Parameters
    ----------
    outline
        The file.
    name
        The section.
    words
        Names of a row's values; the first is numbered from 1, such as a node.
    count
        Required number of rows.
    """
    section = require_section(outline, name, "Was the file cut off?")
    rows: dict[int, SectionLine] = {}
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
                f"{words[0]} {number} appears twice, first on line {rows[number].line}.",
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
            f"the section appears twice, first on line {sections[name].line}.",
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
            f"the field appears twice: {shorten(first.value)} on line {first.line}, then {shorten(field.value)}.",
            where=Where(line=field.line, field=name),
            remedy="Keep one of the two.",
        )
