"""Latitudes and longitudes as people write them: degrees, minutes and seconds; N and S; both in one cell."""

from __future__ import annotations

import re

from dynaroute.base.vocabulary import Language
from dynaroute.formats.tables.cells.amounts import Entry, tidy
from dynaroute.formats.text import shorten

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_DEGREE = "[°º˚]"
_MINUTE = "['\u2019\u2032]"
_SECOND = f'(?:["\u201d\u2033]|{_MINUTE}{_MINUTE})'
_ANGLE = re.compile(
    rf"(?P<before>[NSEWO])?\s*(?P<sign>[+-]?)\s*(?P<degrees>{_NUMBER})\s*{_DEGREE}?\s*"
    rf"(?:(?P<minutes>{_NUMBER})\s*{_MINUTE}?\s*(?:(?P<seconds>{_NUMBER})\s*{_SECOND}?)?)?\s*(?P<after>[NSEWO])?",
    re.IGNORECASE,
)
_MARKED = re.compile(f"{_DEGREE}|{_MINUTE}|{_SECOND}|[NSEWO]", re.IGNORECASE)
_MARKED_OR_POINT = re.compile(r"[.°º˚]|[NSEWO]", re.IGNORECASE)
_LETTERS = {"lat": "NS", "lon": "EW"}
_WORD = re.compile(r"[^\W\d_]{3}")
_AROUND = re.compile(r"^\s*[(\[]?\s*|\s*[)\]]?\s*$")
_SEPARATORS = (";", "|", "/", ", ", "\n", "\t")


def read_degrees(entry: Entry, axis: str, language: Language) -> str | None:
    """Convert an angle such as 53° 33' N to decimal degrees; None for plain numbers and for anything else.

    Parameters
    ----------
    entry
        The cell.
    axis
        lat or lon.
    language
        The language of the heading: O is east in German, but west in French and Spanish.

    Raises
    ------
    FormatError
        If minutes or seconds are 60 or more, or the letter belongs to the other axis.
    """
    text = tidy_angle(entry.text)
    if entry.kind != "text" or not _MARKED.search(text):
        return None
    found = _ANGLE.fullmatch(text)
    if found is None:
        return None
    letter = (found["before"] or found["after"] or "").upper()
    if found["before"] and found["after"]:
        return None
    if letter == "O":
        if language not in ("de", "fr", "es"):
            raise entry.fault(f"the O in {shorten(text)} could mean east or west.", "Write E or W.")
        letter = "E" if language == "de" else "W"
    if letter and letter not in _LETTERS[axis]:
        raise entry.fault(
            f"{shorten(text)} is not a {'latitude' if axis == 'lat' else 'longitude'}.",
            "Check whether latitude and longitude are swapped.",
        )
    degrees, minutes, seconds = (
        float((found[part] or "0").replace(",", ".")) for part in ("degrees", "minutes", "seconds")
    )
    if minutes >= 60 or seconds >= 60:
        raise entry.fault(f"{shorten(text)} has 60 or more minutes or seconds.", "Write degrees: 53.55.")
    value = degrees + minutes / 60 + seconds / 3600
    return repr(-value if found["sign"] == "-" or letter in ("S", "W") else value)


def tidy_angle(text: str) -> str:
    """Tidy the spaces of an angle, but keep its quotes: they mark minutes and seconds."""
    return " ".join(text.replace("\u2212", "-").split())


def split_pair(entry: Entry) -> tuple[str, str]:
    """Split a cell with two coordinates: "53.55, 9.99", "53,55; 9,99", "53° 33' N 9° 59' E".

    Raises
    ------
    FormatError
        If the cell does not contain two.
    """
    text = _AROUND.sub("", tidy_angle(entry.text))
    is_of_words = _WORD.search(text) is not None  # a link to a map, or an address
    for separator in () if is_of_words else _SEPARATORS:
        if text.count(separator) == 1:
            first, second = text.split(separator)
            return first.strip(), second.strip()
    if text.count(",") == 1 and _MARKED_OR_POINT.search(text) and not is_of_words:  # 53,55 is one number
        first, second = text.split(",")
        return first.strip(), second.strip()
    if after := re.fullmatch(r"(.*[NS])\s+(.*)", text, re.IGNORECASE):
        return after[1], after[2]
    if text.count(" ") == 1 and not is_of_words:
        first, second = text.split(" ")
        return first, second
    raise entry.fault(
        f"{shorten(tidy(text))} is not a pair of coordinates." if text else "the coordinates are missing.",
        "Write latitude and longitude, such as 53.55, 9.99; or use a column for each.",
    )
