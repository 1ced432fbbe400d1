"""Time windows as people write them in tables: 8-12, 0800-1200, vormittags, until noon, 22:00-02:00, with dates.

docs/formats.md has the rules. A window that can be read in two ways is refused; what is not plainly 08:00-12:00 is read
with a note.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, Where, warn_of_input
from dynaroute.formats.tables.cells.amounts import Entry, is_blank
from dynaroute.formats.tables.words import simplify
from dynaroute.formats.text import shorten
from dynaroute.problem.times import format_clock, parse_time, parse_window, split_window

Window = tuple[float, float]

DAY, NOON = 86400.0, 43200.0
_FROM_EVENING, _UNTIL_MORNING = 18 * 3600.0, 9 * 3600.0  # only such windows may pass midnight
_ALL_DAY = (
    "all day, any, any time, anytime, open, always, ganztägig, ganztags, ganzer Tag, egal, immer, jederzeit,"
    " toute la journée, toujours, todo el día, siempre"
)
_PARTS_OF_DAY = {
    (0.0, NOON): "morning, mornings, in the morning, forenoon, am, a m, vormittag, vormittags, am vormittag, morgens,"
    " vorm, vm, matin, le matin, matinée, dans la matinée, por la mañana, de mañana",
    (NOON, 18 * 3600.0): "afternoon, afternoons, in the afternoon, nachmittag, nachmittags, am nachmittag, nachm, nm,"
    " après-midi, l'après-midi, apm",
    (NOON, 20 * 3600.0): "tarde, por la tarde, de tarde",
    (NOON, DAY): "pm, p m",
    (18 * 3600.0, DAY): "evening, evenings, in the evening, abend, abends, am abend, soir, le soir, soirée",
    (20 * 3600.0, DAY): "por la noche",
}
_TWO_MEANINGS = {"manana": "por la mañana", "morgen": "vormittags"}  # which are also tomorrow
_NOON = re.compile(r"\b(?:12\s*)?(?:noon|midday|mittags?|midi|mediod[ií]a)\b")
_MIDNIGHT = re.compile(r"\b(?:midnight|mitternachts?|minuit|medianoche)\b")
_DASHES = re.compile("[\u2010-\u2015\u2212~\u2192]")
_LISTED = re.compile(r"\s*(?:[;|/&+,\n]|\b(?:und|and|et|y|sowie|oder|or|ou|o)\b)\s*")
_DATE = re.compile(
    r"(?<![0-9.:])(?:(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})|(?P<day>[0-9]{1,2})(?P<mark>[./])(?P<month>[0-9]{1,2})(?P=mark)"
    r"(?P<year>[0-9]{4}|[0-9]{2}(?=[\s,]|$))?)[t,\s]*(?=[0-9]|$)"
)
_BARE = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_HOURS = re.compile(r"(?P<hour>[0-9]{1,2})(?:(?P<mark>[.,])(?P<minute>[0-9]{1,2}))?")
_SUFFIX = re.compile(
    r"(?P<number>[0-9]+(?:[.,:][0-9]+)?)\s*(?P<unit>uhr|h|hrs?|hours?|std|stunden|heures|horas|o'clock)\.?"
)
_HALF = re.compile(r"[0-9:.]+\s*(?P<half>[ap]\.?m\.?)")
_CLOCK = re.compile(r"[0-9]{1,2}(?::[0-9]{2}|\s*h\b|\s*uhr)|\b0[0-9]{3}\b")
_EXAMPLE = "Write 08:00-12:00"


@dataclass
class WindowReader:
    """Reads the windows of a column, whose cells decide together what bare numbers mean.

    Attributes
    ----------
    texts
        All cells that hold windows or bounds of windows.
    unit
        The unit in the heading; "" if there is none.
    """

    texts: Sequence[str]
    unit: str = ""
    _read: dict[str, str] = field(default_factory=dict)
    _days: dict[str, Where] = field(default_factory=dict)

    def read_cell(self, entry: Entry) -> list[Window]:
        """Read one or more windows: 08:00-10:00; 14:00-16:00; a blank cell means any time."""
        if entry.kind == "text" and (is_blank(entry.text) or simplify(entry.text) in _any_time()):
            return [(0.0, math.inf)]
        if entry.kind == "date":
            message = f"{entry.text} is a date; spreadsheets make one of a window such as 8-12."
            raise entry.fault(message, f"{_EXAMPLE}, in a cell formatted as text.")
        plain = _tidy(entry.text)
        parts = [part for part in _LISTED.split(plain) if part]
        if len(parts) < 2 or not all(map(self._is_window, parts)):
            return [self._read_window(plain, entry)]
        return [self._read_window(part, entry) for part in parts]

    def read_bounds(self, earliest: Entry | None, latest: Entry | None) -> Window:
        """Read a window whose bounds are in two cells, either of which may be blank."""
        given = [entry for entry in (earliest, latest) if entry is not None]
        bounds = [self._take_day(_tidy(entry.text), entry) for entry in given]
        for entry, (text, _) in zip(given, bounds, strict=True):
            if not text:
                raise entry.fault(f"{entry.text} is a date.", "Write a time such as 08:00.")
        texts = [text for text, _ in bounds]
        shared = Entry("-".join(texts), "text", given[0].where)
        days = [day for _, day in bounds]
        if earliest is None or latest is None:
            pair, days = (("", texts[0]) if earliest is None else (texts[0], "")), days * 2
        else:
            pair = texts[0], texts[1]
        return self._measure(pair, (days[0], days[-1]), shared)

    def note(self, source: str) -> None:
        """Tell the user how windows were read; `source` is the file's path."""
        if self._read:
            told = [f"{shorten(text)} as {meaning}" for text, meaning in self._read.items()]
            warn_of_input(source, f"read the time windows {show_list(told, 6)}.")
        if self._days:
            warn_of_input(source, f"ignored the date {next(iter(self._days))} of the time windows.")

    def _is_window(self, part: str) -> bool:
        bounds = split_window(_name_hours(part))
        if simplify(part) in _parts():
            return True
        return bounds is not None and any(bounds) and all(bound[:1].isdigit() for bound in bounds if bound)

    def _read_window(self, plain: str, entry: Entry) -> Window:
        if (word := simplify(plain)) in _TWO_MEANINGS:
            message = f"{shorten(entry.text)} could mean the morning or tomorrow."
            raise entry.fault(message, f"{_EXAMPLE}, or {_TWO_MEANINGS[word]}.")
        if word in _parts():
            self._read.setdefault(plain, _show(_parts()[word]))
            return _parts()[word]
        dates = list(_DATE.finditer(plain))
        days = [self._count_days(found, entry) for found in dates] or [0]
        rest = _DATE.sub("", plain)
        bounds = split_window(_name_hours(rest))
        if bounds is None or not any(bounds) or len(dates) > 2:
            return parse_window(entry.text, entry.where)  # which says what is wrong
        return self._measure(bounds, (days[0], days[-1]), entry)

    def _measure(self, bounds: tuple[str, str], days: tuple[int, int], entry: Entry) -> Window:
        """Turn the texts of both bounds, either of which may be blank, into seconds."""
        first, last = _share_suffix(bounds, entry)
        clocks = [self._write_clock(bound, entry) if bound else "" for bound in (first, last)]
        earliest = parse_time("00:00" if clocks[0] == "24:00" else clocks[0], entry.where) if first else 0.0
        latest = parse_time(clocks[1], entry.where) if last else math.inf
        is_guess = clocks != [first, last] and not self.unit
        if is_guess and not any(bound.startswith("0") for bound in (first, last)):
            _refuse_afternoon(earliest if first else None, latest if last else None, entry)
        if earliest == latest == 0:
            message = f"{shorten(entry.text)} could mean all day or midnight."
            raise entry.fault(message, "Leave the cell blank if any time will do.")
        is_over_night = latest < earliest and days[0] == days[1] and _passes_midnight(earliest, latest)
        window = earliest + DAY * days[0], latest + DAY * (days[1] + is_over_night)
        if is_guess or is_over_night or (first != bounds[0] and _HALF.fullmatch(first)):
            self._read.setdefault(entry.text, _show(window))
        return window

    @cached_property
    def _is_bare_seconds(self) -> bool:
        """Whether a number of the column is no clock time, so that all are seconds; or the heading says so."""
        numbers = [bound for text in self.texts for bound in split_window(_tidy(text)) or (_tidy(text),)]
        return any(number.isdecimal() and len(number) > 2 and not _is_clock(number) for number in numbers)

    def _write_clock(self, bound: str, entry: Entry) -> str:
        """Write a bare number as a clock time, if it can only mean one."""
        if _BARE.fullmatch(bound) is None or not bound.strip("0"):
            return bound
        if self.unit:
            return _write_suffixed(f"{bound} {self.unit}", entry)
        if self._is_bare_seconds:
            if not _is_hour(bound) and not bound.startswith("0"):
                return bound
            raise _two_readings(entry, "hours or seconds")
        if bound.isdecimal() and len(bound) > 2:
            if bound.startswith("0") or any(map(_CLOCK.search, self.texts)):
                return f"{bound[:-2]}:{bound[-2:]}"
            raise _two_readings(entry, "clock times or seconds")
        return _write_hour(bound, entry)

    def _take_day(self, text: str, entry: Entry) -> tuple[str, int]:
        """Take the date off a time; also its number of days after the first date of the column."""
        found = _DATE.match(text)
        return (text, 0) if found is None else (text[found.end() :], self._count_days(found, entry))

    def _count_days(self, found: re.Match[str], entry: Entry) -> int:
        date = found[0].strip(" t,")
        if not self._days:
            self._days[date] = entry.where
        first = next(iter(self._days))
        pairs = zip(_dates(first), _dates(date), strict=True)
        apart = {later - earlier if later and earlier else None for earlier, later in pairs}
        if date == first:
            return 0
        if apart == {datetime.timedelta(days=1)}:
            return 1
        message = f"{shorten(entry.text)} is not on {first} like the times before it, nor on the day after."
        remedy = "Plan one day at a time: keep only the rows of that day."
        raise entry.fault(message, remedy)


def _tidy(text: str) -> str:
    plain = _DASHES.sub("-", text.replace("\u2019", "'")).strip().strip("[]()").lower()
    return " ".join(plain.replace("\n", ";").split())


@cache
def _any_time() -> frozenset[str]:
    return frozenset(map(simplify, _ALL_DAY.split(",")))


@cache
def _parts() -> dict[str, Window]:
    """The window of each word for a part of the day."""
    return {simplify(word): window for window, words in _PARTS_OF_DAY.items() for word in words.split(",")}


def _is_hour(bound: str) -> bool:
    return bool(_HOURS.fullmatch(bound))


def _is_clock(number: str) -> bool:
    """Whether a whole number of three or four digits can be a clock time: 0800, 1730."""
    return len(number) <= 4 and int(number) <= 2400 and int(number[-2:]) < 60


def _write_hour(bound: str, entry: Entry) -> str:
    """Write 8, 8.30 or 8,5 as a clock time; 8.50 could be ten to nine or half past eight."""
    parts = _HOURS.fullmatch(bound)
    if parts is None or int(parts["hour"]) > 24:
        raise _two_readings(entry, "seconds or minutes")
    minute = parts["minute"] or "00"
    if len(minute) == 2 and (minute in ("00",) or (parts["mark"] == "." and minute not in ("25", "50", "75"))):
        return f"{parts['hour']}:{minute}"
    if minute == "5":
        return f"{parts['hour']}:30"
    raise _two_readings(entry, f"{parts['hour']}:{minute.ljust(2, '0')} or a decimal number of hours")


def _share_suffix(bounds: tuple[str, str], entry: Entry) -> tuple[str, str]:
    """Give the first bound the unit of the second, as in 8-12 Uhr and 2-4 pm, and write hours as clock times."""
    first, last = bounds
    half = _HALF.fullmatch(last)
    if half and _BARE.fullmatch(first.replace(":", ".")):
        shared = f"{first} {half['half']}"
        if parse_time(shared, entry.where) > parse_time(last, entry.where):
            raise _two_readings(entry, f"{first} am or {first} pm at its start")
        return shared, last
    suffix = _SUFFIX.fullmatch(last)
    if suffix and _BARE.fullmatch(first):
        first = f"{first} {suffix['unit']}"
    both = [_write_suffixed(bound, entry) for bound in (first, last)]
    return both[0], both[1]


def _write_suffixed(bound: str, entry: Entry) -> str:
    """Write 8h, 8.30 h and 14 Uhr as clock times."""
    found = _SUFFIX.fullmatch(bound)
    number = "" if found is None else found["number"]
    if number.isdecimal() and len(number) > 2 and _is_clock(number):
        return f"{number[:-2]}:{number[-2:]}"
    return _write_hour(number, entry) if _is_hour(number) and int(re.split("[.,]", number)[0]) <= 24 else bound


def _refuse_afternoon(earliest: float | None, latest: float | None, entry: Entry) -> None:
    """Refuse bare hours that may be of the afternoon: 2-4, 8-5, until 6."""
    given = [bound for bound in (earliest, latest) if bound is not None]
    is_single, is_backwards = len(given) == 1, given[0] > given[-1]
    if max(given) <= NOON and (is_backwards or given[0] < (8 if is_single else 6) * 3600):
        raise _two_readings(entry, "the morning or the afternoon")


def _name_hours(text: str) -> str:
    """Write noon and midnight as clock times."""
    return _MIDNIGHT.sub("24:00", _NOON.sub("12:00", text))


def _passes_midnight(earliest: float, latest: float) -> bool:
    return earliest >= _FROM_EVENING and latest <= _UNTIL_MORNING


def _dates(text: str) -> list[datetime.date | None]:
    """The dates that a text can mean: 3/4/2026 is in March or in April."""
    if text[4:5] == "-":
        return [datetime.date.fromisoformat(text)] * 2
    numbers = [int(part) for part in re.split("[./]", text) if part]
    year = numbers[2] if len(numbers) > 2 else 2000
    orders = [(numbers[1], numbers[0]), (numbers[0], numbers[1])] if "/" in text else [(numbers[1], numbers[0])] * 2
    found: list[datetime.date | None] = []
    for month, day in orders:
        try:
            found.append(datetime.date(year + 2000 * (year < 100), month, day))
        except ValueError:
            found.append(None)
    return found


def _show(window: Window) -> str:
    earliest, latest = (format_clock(bound) if 0 < bound < math.inf else "" for bound in window)
    return f"{earliest}-{latest}"


def _two_readings(entry: Entry, readings: str) -> FormatError:
    message = f"{shorten(entry.text)} could mean {readings}."
    return entry.fault(message, f"{_EXAMPLE}, with both hours and minutes.")
