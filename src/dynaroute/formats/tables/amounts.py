"""Numbers as people write them: decimal commas, thousands separators and units, settled for a whole column.

1.234 may be a thousand or a little more than one. What the other cells of the column, or of the table, show decides;
where nothing does, the number is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from dynaroute.errors import FormatError, Where
from dynaroute.formats.numbers import parse_decimal
from dynaroute.formats.tables.cells import Kind
from dynaroute.formats.tables.units import Unit, find_unit
from dynaroute.formats.text import shorten

__all__ = [
    "Amounts",
    "Entry",
    "Notation",
    "find_evidence",
    "is_blank",
    "read_amounts",
    "read_plain",
    "split_unit",
    "tidy",
]

Notation = Literal["point", "comma"]  # which of the two is the decimal one

_SPACES = " \u00a0\u2009\u202f"
_APOSTROPHES = "'\u2019"
_DASHES = ("-", "\u2013", "\u2014")
_GROUPS = rf"[0-9]{{1,3}}(?P<separator>[.,{_APOSTROPHES}{_SPACES}])[0-9]{{3}}(?:(?P=separator)[0-9]{{3}})*"
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?P<whole>[0-9]+|{_GROUPS})?"
    r"(?:(?P<mark>[.,])(?P<decimals>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]{1,5})?"
)
_LONGEST = 1000
_PLAIN = {  # numbers that cannot be read in two ways
    notation: re.compile(
        rf"[+-]?(?:[0-9]{{1,300}}|[0-9]{{1,300}}{mark}(?:[0-9]{{1,2}}|[0-9]{{4,300}})|[0-9]{{4,300}}{mark}[0-9]{{1,300}}"
        rf"|0{mark}[0-9]{{1,300}})"
    )
    for notation, mark in (("point", r"\."), ("comma", ","))
}
_WITH_UNIT = re.compile(
    rf"(?P<number>[+-]?[0-9.,{_APOSTROPHES}{_SPACES}]*[0-9][.,]?)[{_SPACES}]*(?P<unit>[^0-9+\-.,\s][^0-9]*[³23]?)"
)
_UNIT_FIRST = re.compile(rf"(?P<unit>[^0-9+\-.,\s]+)[.{_SPACES}]*(?P<number>[+-]?[0-9][0-9.,{_APOSTROPHES}{_SPACES}]*)")
_MONTHS = (
    "jan|feb|m[äa]r|mrz|apr|avr|abr|mai|may|jun|juin|jul|juil|aug|ao[uû]|ago|sep|okt|oct|nov|de[zc]|ene|f[ée]v|dic"
)
_DATE = re.compile(
    rf"[0-9]{{1,2}}\.?[ -]*(?:{_MONTHS})[a-zéû]*\.?[ -]*(?:[0-9]{{2,4}})?|(?:{_MONTHS})[a-zéû]*\.?[ -]*[0-9]{{1,4}}"
    r"|[0-9]{1,4}([./-])[0-9]{1,2}\1(?:[0-9]{2,4})?",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"[€$£¥₣]|\b(?:EUR|USD|GBP|CHF|Euro|Dollar)\b", re.IGNORECASE)
_NO_VALUES = frozenset((*_DASHES, "n/a", "na", "n.a.", "none", "null", "?", "k.a.", "tbd"))


class Entry(NamedTuple):
    """A cell that should hold a number, and its place."""

    text: str
    kind: Kind
    where: Where


@dataclass(frozen=True)
class Amounts:
    """The numbers of a column.

    Attributes
    ----------
    values
        Exact, in one unit.
    unit
        That unit, where one was named.
    notation
        What was decimal, where one of the cells shows it.
    grouped
        A number that had thousands separators which could have been taken for something else; "" if none had.
    converted
        A number in another unit, which was turned into that of the column; "" if there is none.
    bare
        A number without a unit, though others of the column have one; "" if there is none.
    """

    values: list[Decimal]
    unit: Unit | None
    notation: Notation | None
    grouped: str
    converted: str = ""
    bare: str = ""


class _Figure(NamedTuple):
    """A number as it is written, taken apart."""

    text: str
    whole: str
    mark: str
    decimals: str
    separator: str
    sign: str
    exponent: str

    @property
    def is_open(self) -> bool:
        """Whether the one separator may be decimal or of thousands."""
        return (
            bool(self.mark)
            and not self.separator
            and len(self.decimals) == 3
            and len(self.whole) <= 3
            and not self.whole.startswith("0")
            and bool(self.whole)
            and not self.exponent
        )

    @property
    def notation(self) -> Notation | None:
        """What this number alone shows to be decimal."""
        if self.mark and not self.is_open:
            return "point" if self.mark == "." else "comma"
        if self.separator in (".", ","):
            return "comma" if self.separator == "." else "point"
        return None

    def to_decimal(self, notation: Notation | None) -> Decimal:
        """The number, if an open one is read by this notation."""
        digits = "".join(character for character in self.whole if character.isdigit())
        decimal_mark = {"point": ".", "comma": ",", None: self.mark}[notation]
        if self.is_open and self.mark != decimal_mark:
            return Decimal(f"{self.sign}{digits}{self.decimals}")
        return Decimal(f"{self.sign}{digits or 0}.{self.decimals or 0}{self.exponent}")


def _take_apart(text: str) -> _Figure | None:
    """A number in its parts; None if this is none."""
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or not (found["whole"] or found["decimals"]):
        return None
    separator, mark = found["separator"] or "", found["mark"] or ""
    if separator and separator == mark:
        return None
    return _Figure(
        text, found["whole"] or "", mark, found["decimals"] or "", separator, found["sign"], found["exponent"] or ""
    )


def split_unit(text: str) -> tuple[str, str]:
    """A number, and the word after or before it: ("3,5", "kg") of "3,5 kg"; no word, where all is a number or none."""
    if _take_apart(text) is not None:
        return text, ""
    for pattern in (_WITH_UNIT, _UNIT_FIRST):
        if found := pattern.fullmatch(text):
            return found["number"].strip(_SPACES), found["unit"].strip(_SPACES)
    return text, ""


def tidy(text: str) -> str:
    """A cell without what spreadsheets and web pages leave around a number."""
    return text.strip(f'{_SPACES}{_APOSTROPHES}\t"\u200b\ufeff').replace("\u2212", "-")


def find_evidence(texts: Iterable[str]) -> set[Notation]:
    """What numbers show to be decimal; more than one if they contradict each other."""
    found: set[Notation] = set()
    for text in texts:
        figure = None if text.isdigit() else _take_apart(split_unit(tidy(text))[0])
        if figure is not None and figure.notation is not None:
            found.add(figure.notation)
    return found


def read_plain(texts: Sequence[str], unit: Unit | None) -> Amounts | None:
    """Read a column whose numbers all mean one thing at first sight; None if one does not.

    Columns of a hundred thousand rows are hardly ever otherwise.

    Parameters
    ----------
    texts
        Its cells.
    unit
        What its heading says they are in.
    """
    if all(map(_PLAIN["point"].fullmatch, texts)):
        shown: Notation | None = "point" if any("." in text for text in texts) else None
        return Amounts([Decimal(text) for text in texts], unit, shown, "")
    if all(map(_PLAIN["comma"].fullmatch, texts)):
        return Amounts([Decimal(text.replace(",", ".")) for text in texts], unit, "comma", "")
    return None


def read_amounts(
    entries: Sequence[Entry],
    *,
    heading_unit: Unit | None = None,
    elsewhere: Callable[[], Notation | None] = lambda: None,
    open_points: Notation | None = None,
    open_commas: Notation | None = None,
) -> Amounts:
    """Read the numbers of a column.

    Parameters
    ----------
    entries
        Its cells; none is blank.
    heading_unit
        The unit that its heading names.
    elsewhere
        Finds what is decimal in the rest of the table, if that is sure; asked where the column does not tell.
    open_points, open_commas
        How 1.234 and 1,234 are read where nothing shows what is meant; None: not at all.

    Raises
    ------
    FormatError
        If a cell is no number, two contradict each other, or one may mean two things.
    """
    figures = [None if entry.kind == "number" else _read_figure(entry) for entry in entries]
    notation = _settle(entries, figures)
    if notation is None and any(figure is not None and figure.is_open for figure in figures):
        notation = elsewhere()
    unit, units = _settle_units(entries, heading_unit)
    have_several = len(set(units) - {None}) > 1
    values: list[Decimal] = []
    grouped = converted = bare = ""
    for entry, figure, own in zip(entries, figures, units, strict=True):
        if figure is None:
            value = parse_decimal(entry.text, entry.where)
        else:
            reading = notation or (open_points if figure.mark == "." else open_commas)
            if figure.is_open and reading is None:
                raise _ambiguous(entry, figure)
            value = figure.to_decimal(reading)
            if figure.is_open and reading != ("point" if figure.mark == "." else "comma"):
                grouped = grouped or figure.text
        if own is not None and unit is not None and own != unit:
            value = value * own.size / unit.size
            converted = converted or entry.text
        elif own is None and unit is not None and heading_unit is None and value:
            bare = bare or entry.text
            if have_several:
                raise FormatError(
                    f"{shorten(entry.text)} has no unit, and the others of the column differ in theirs.",
                    where=entry.where,
                    remedy="Write the unit after the number, or one into the heading, such as 'Demand (kg)'.",
                )
        values.append(value)
    shown = notation or ("comma" if any(f is not None and f.mark == "," and not grouped for f in figures) else None)
    return Amounts(values, unit, shown, grouped, converted, bare)


def _read_figure(entry: Entry) -> _Figure | None:
    """Take a cell's number apart; None for one that needs no taking apart."""
    if entry.kind != "text":
        raise _wrong_kind(entry)
    text = tidy(entry.text)
    if text.isascii() and text.isdigit():
        return None if text == entry.text else _take_apart(text)
    number, _ = split_unit(text)
    figure = _take_apart(number)
    if figure is None or text.startswith("="):
        raise _no_number(entry, text)
    return figure


def _settle(entries: Sequence[Entry], figures: Sequence[_Figure | None]) -> Notation | None:
    """What is decimal in a column, as its numbers show it."""
    shown: dict[Notation, tuple[Entry, _Figure]] = {}
    for entry, figure in zip(entries, figures, strict=True):
        if figure is not None and figure.notation is not None:
            shown.setdefault(figure.notation, (entry, figure))
    if len(shown) == 2:
        (first, one), (second, other) = shown["comma"], shown["point"]
        raise FormatError(
            f"{shorten(other.text)} has a decimal point, but {shorten(one.text)} on line {first.where.line} of the "
            "same column has a decimal comma.",
            where=second.where,
            remedy="Write all numbers of a column alike.",
        )
    return next(iter(shown), None)


def _settle_units(entries: Sequence[Entry], heading_unit: Unit | None) -> tuple[Unit | None, list[Unit | None]]:
    """The unit of a column, and that of each cell which names one."""
    units: list[Unit | None] = []
    smallest = heading_unit
    for entry in entries:
        if entry.kind != "text" or entry.text.isdigit():
            units.append(None)
            continue
        _, word = split_unit(tidy(entry.text))
        unit = _name_unit(word, entry) if word else None
        units.append(unit)
        if unit is None:
            continue
        if smallest is not None and unit.family != smallest.family:
            raise FormatError(
                f"{shorten(entry.text)} is not in {smallest.name}, as the others are.",
                where=entry.where,
                remedy=f"Give all of them in {smallest.name}.",
            )
        if smallest is None or (heading_unit is None and unit.size < smallest.size):
            smallest = unit
    return smallest, units


def _name_unit(word: str, entry: Entry) -> Unit:
    unit = find_unit(word)
    if unit is not None:
        return unit
    if _DATE.fullmatch(tidy(entry.text)):
        raise _date_fault(entry)
    if "%" in word:
        raise FormatError(
            f"{shorten(entry.text)} is a percentage.", where=entry.where, remedy="Give the amount itself."
        )
    if _CURRENCY.search(word):
        raise FormatError(
            f"{shorten(entry.text)} is an amount of money.", where=entry.where, remedy="Give a plain number."
        )
    raise FormatError(
        f"the unit in {shorten(entry.text)} is unknown.",
        where=entry.where,
        remedy="Write the number alone, and the unit into the heading, such as 'Demand (kg)'.",
    )


def _ambiguous(entry: Entry, figure: _Figure) -> FormatError:
    digits, decimals = f"{figure.sign}{figure.whole}", figure.decimals.rstrip("0")
    thousands, fraction = f"{digits}{figure.decimals}", f"{digits}.{decimals}".rstrip(".")
    return FormatError(
        f"{shorten(figure.text)} may be {thousands} or {fraction}; nothing around it tells which.",
        where=entry.where,
        # 1.2340 has four decimals, and cannot be read in two ways
        remedy=f"Write {thousands}, or {f'{fraction}0' if len(decimals) == 3 else fraction}.",
    )


def _no_number(entry: Entry, text: str) -> FormatError:
    if not text:
        return FormatError("a number is missing.", where=entry.where, remedy="Fill in the cell; 0 is a number, too.")
    if text.casefold() in _NO_VALUES:
        return FormatError(
            f"{shorten(text)} stands where a number is needed.",
            where=entry.where,
            remedy="Fill in the number; 0 if there is none, or delete the row.",
        )
    if _DATE.fullmatch(text):
        return _date_fault(entry)
    if text.startswith("="):
        return FormatError(
            f"{shorten(text)} is the text of a formula, not its value.", where=entry.where, remedy="Type the number."
        )
    if text.startswith("#") and text.rstrip("!?/0").isupper():
        return _error_fault(entry)
    if _CURRENCY.search(text):
        return FormatError(f"{shorten(text)} is an amount of money.", where=entry.where, remedy="Give a plain number.")
    return FormatError(
        f"{shorten(entry.text)} is not a number.",
        where=entry.where,
        remedy="Write one such as 12, 3.5, 1234.5 or 3,5 kg; one only, and without words.",
    )


def _date_fault(entry: Entry) -> FormatError:
    return FormatError(
        f"{shorten(entry.text)} is a date, not a number.",
        where=entry.where,
        remedy="Did the spreadsheet turn a number into a date? Format the column as numbers and type it again.",
    )


def _error_fault(entry: Entry) -> FormatError:
    return FormatError(
        f"the cell holds the error {shorten(entry.text)}.",
        where=entry.where,
        remedy="Mend the formula, or type the number.",
    )


def _wrong_kind(entry: Entry) -> FormatError:
    if entry.kind == "date":
        return _date_fault(entry)
    if entry.kind == "error":
        return _error_fault(entry)
    message, remedy = {
        "formula": (
            "the cell has a formula, but the file does not hold its value.",
            "Open the file in a spreadsheet program, let it calculate, and save it.",
        ),
        "percent": (f"{entry.text} is formatted as a percentage.", "Give the amount itself."),
        "truth": (f"the cell holds {entry.text}, not a number.", "Type the number."),
        "time": (f"{entry.text} is a time of day, not a number.", "Format the column as numbers and type it again."),
    }[entry.kind]
    return FormatError(message, where=entry.where, remedy=remedy)


def is_blank(text: str) -> bool:
    """Whether a cell holds nothing, or a dash that stands for it."""
    return not tidy(text) or tidy(text) in _DASHES
