"""Numbers as people write them: with decimal commas, thousands separators and units, decided for a whole column.

1.234 can mean more than a thousand or a little more than one. The other numbers of the column decide, then those of the
table; if they do not settle it, the number is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.numbers import parse_decimal
from dynaroute.formats.tables.cells.cells import Kind
from dynaroute.formats.tables.cells.units import Unit, find_unit
from dynaroute.formats.text import shorten

Notation = Literal["point", "comma"]  # which of the two is the decimal separator

BARE_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_SPACES = " \u00a0\u2009\u202f"
_APOSTROPHES = "'\u2019"
_DASHES = ("-", "\u2013", "\u2014")
_GROUPS = rf"[0-9]{{1,3}}(?P<separator>[.,{_APOSTROPHES}{_SPACES}])[0-9]{{3}}(?:(?P=separator)[0-9]{{3}})*"
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?P<whole>[0-9]+|{_GROUPS})?"
    r"(?:(?P<mark>[.,])(?P<decimals>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]{1,5})?"
)
_LONGEST = 1000
_PLAIN = {  # numbers that can be read in one way only
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
    """A cell and where it is."""

    text: str
    kind: Kind
    where: Where

    def fault(self, message: str, remedy: str) -> FormatError:
        """Make an error about this cell."""
        return FormatError(message, where=self.where, remedy=remedy)


@dataclass(frozen=True)
class Amounts:
    """The numbers of a column.

    Attributes
    ----------
    values
        The exact numbers, all in one unit.
    unit
        That unit, if the table names one.
    notation
        The decimal separator, if one of the cells shows it.
    grouped
        An example of a separator that was read as thousands but could have been decimal; "" if there is none.
    converted
        An example of a number that was converted to the unit of the column; "" if there is none.
    bare
        An example of a number without a unit in a column with units; "" if there is none.
    """

    values: list[Decimal]
    unit: Unit | None
    notation: Notation | None
    grouped: str
    converted: str = ""
    bare: str = ""


class _Figure(NamedTuple):
    """A written number, split into its parts."""

    text: str
    whole: str
    mark: str
    decimals: str
    separator: str
    sign: str
    exponent: str

    @property
    def is_open(self) -> bool:
        """Whether the only separator could be decimal or mark thousands."""
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
        """The decimal separator, if this number alone shows it."""
        if self.mark and not self.is_open:
            return "point" if self.mark == "." else "comma"
        if self.separator in (".", ","):
            return "comma" if self.separator == "." else "point"
        return None

    def to_decimal(self, notation: Notation | None) -> Decimal:
        """The value, using this notation if the number is open."""
        digits = "".join(character for character in self.whole if character.isdigit())
        decimal_mark = {"point": ".", "comma": ",", None: self.mark}[notation]
        if self.is_open and self.mark != decimal_mark:
            return Decimal(f"{self.sign}{digits}{self.decimals}")
        return Decimal(f"{self.sign}{digits or 0}.{self.decimals or 0}{self.exponent}")


def _take_apart(text: str) -> _Figure | None:
    """Split a number into its parts; None if the text is not a number."""
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
    """Split a number from the word next to it: "3,5 kg" gives ("3,5", "kg"); without both, the word is ""."""
    if _take_apart(text) is not None:
        return text, ""
    for pattern in (_WITH_UNIT, _UNIT_FIRST):
        if found := pattern.fullmatch(text):
            return found["number"].strip(_SPACES), found["unit"].strip(_SPACES)
    return text, ""


def tidy(text: str) -> str:
    """Remove the marks that spreadsheets and web pages leave around a number."""
    return text.strip(f'{_SPACES}{_APOSTROPHES}\t"\u200b\ufeff').replace("\u2212", "-")


def find_evidence(texts: Iterable[str]) -> set[Notation]:
    """The decimal separators that the numbers show; two if they contradict each other."""
    found: set[Notation] = set()
    for text in texts:
        figure = None if text.isdigit() else _take_apart(split_unit(tidy(text))[0])
        if figure is not None and figure.notation is not None:
            found.add(figure.notation)
    return found


def read_plain(texts: Sequence[str], unit: Unit | None) -> Amounts | None:
    """Read a column of plain numbers quickly; None if a cell needs a closer look.

    Nearly all long columns are of this kind.

    Parameters
    ----------
    texts
        The cells of the column.
    unit
        The unit in its heading.
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
        The cells of the column, none of them blank.
    heading_unit
        The unit in its heading.
    elsewhere
        Returns the decimal separator of the rest of the table, if it is certain; called only if the column does not
        show it.
    open_points, open_commas
        How to read 1.234 and 1,234 if nothing shows what is meant. None: refuse them.

    Raises
    ------
    FormatError
        If a cell is not a number, two cells contradict each other, or a number can be read in two ways.
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
                raise entry.fault(
                    f"{shorten(entry.text)} has no unit, and the other cells of the column have different units.",
                    "Write the unit after the number, or in the heading, such as 'Demand (kg)'.",
                )
        values.append(value)
    shown = notation or ("comma" if any(f is not None and f.mark == "," and not grouped for f in figures) else None)
    return Amounts(values, unit, shown, grouped, converted, bare)


def _read_figure(entry: Entry) -> _Figure | None:
    """Split the number of a cell into its parts; None if it is plain."""
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
    """The decimal separator that the numbers of a column show."""
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
            remedy="Write all numbers of a column in the same way.",
        )
    return next(iter(shown), None)


def _settle_units(entries: Sequence[Entry], heading_unit: Unit | None) -> tuple[Unit | None, list[Unit | None]]:
    """The unit of a column, and the unit of each cell that names one."""
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
            raise entry.fault(
                f"{shorten(entry.text)} is not in {smallest.name} like the other cells.",
                f"Give all of them in {smallest.name}.",
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
        raise entry.fault(f"{shorten(entry.text)} is a percentage.", "Give the amount itself.")
    if _CURRENCY.search(word):
        raise entry.fault(f"{shorten(entry.text)} is an amount of money.", "Give a plain number.")
    raise entry.fault(
        f"the unit in {shorten(entry.text)} is unknown.",
        "Write only the number, and put the unit in the heading, such as 'Demand (kg)'.",
    )


def _ambiguous(entry: Entry, figure: _Figure) -> FormatError:
    digits, decimals = f"{figure.sign}{figure.whole}", figure.decimals.rstrip("0")
    thousands, fraction = f"{digits}{figure.decimals}", f"{digits}.{decimals}".rstrip(".")
    return entry.fault(
        f"{shorten(figure.text)} could mean {thousands} or {fraction}, and no other number shows which.",
        # 1.2340 has four decimals, so it can be read in one way only
        f"Write {thousands} or {f'{fraction}0' if len(decimals) == 3 else fraction}.",
    )


def _no_number(entry: Entry, text: str) -> FormatError:
    if not text:
        return entry.fault("a number is missing.", "Fill in the cell; 0 is allowed.")
    if text.casefold() in _NO_VALUES:
        return entry.fault(
            f"found {shorten(text)} instead of a number.",
            "Fill in the number (0 if there is nothing), or delete the row.",
        )
    if _DATE.fullmatch(text):
        return _date_fault(entry)
    if text.startswith("="):
        return entry.fault(f"found the formula {shorten(text)} instead of its value.", "Type the number.")
    if text.startswith("#") and text.rstrip("!?/0").isupper():
        return _error_fault(entry)
    if _CURRENCY.search(text):
        return entry.fault(f"{shorten(text)} is an amount of money.", "Give a plain number.")
    return entry.fault(
        f"{shorten(entry.text)} is not a number.",
        "Write a single number without words, such as 12, 3.5, 1234.5 or 3,5 kg.",
    )


def _date_fault(entry: Entry) -> FormatError:
    return entry.fault(
        f"{shorten(entry.text)} is a date, not a number.",
        "If the spreadsheet turned a number into a date, format the column as numbers and type it again.",
    )


def _error_fault(entry: Entry) -> FormatError:
    return entry.fault(
        f"the cell contains the error {shorten(entry.text)}.", "Correct the formula, or type the number."
    )


def _wrong_kind(entry: Entry) -> FormatError:
    if entry.kind == "date":
        return _date_fault(entry)
    if entry.kind == "error":
        return _error_fault(entry)
    message, remedy = {
        "formula": (
            "the cell has a formula, but its result is not stored in the file.",
            "Open the file in a spreadsheet program and save it, which stores the results.",
        ),
        "percent": (f"{entry.text} is formatted as a percentage.", "Give the amount itself."),
        "truth": (f"the cell contains {entry.text}, not a number.", "Type the number."),
        "time": (f"{entry.text} is a time of day, not a number.", "Format the column as numbers and type it again."),
    }[entry.kind]
    return entry.fault(message, remedy)


def is_blank(text: str) -> bool:
    """Whether a cell is empty or contains only a dash."""
    return not tidy(text) or tidy(text) in _DASHES
