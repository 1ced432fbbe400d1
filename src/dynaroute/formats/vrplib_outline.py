"""The outline of a CVRPLIB file: its header fields and its sections, before any of them is understood."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dynaroute.errors import FormatError, Where
from dynaroute.formats.text import shorten, split_lines

__all__ = ["Field", "Outline", "Row", "Section", "outline_vrplib"]

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
