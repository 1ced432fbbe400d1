"""Reading and writing times: seconds, numbers with a unit, and clock times."""

from __future__ import annotations

import math
import re

from dynaroute.base.display import show_text
from dynaroute.base.errors import FormatError, UnsupportedError, Where

# English, German, French and Spanish
_UNITS = {
    1: "s sec secs second seconds sek sekunde sekunden seconde secondes seg segundo segundos",
    60: "min mins minute minutes minuten minuto minutos m",
    3600: "h hr hrs hour hours std stunde stunden heure heures hora horas",
    86400: "d day days tag tage jour jours dia dias día días",
}
_SECONDS = {word: seconds for seconds, words in _UNITS.items() for word in words.split()}
_NUMBER = r"[0-9]+(?:[.,][0-9]+)?(?:e[+]?[0-9]{1,2})?"
_PLAIN = re.compile(_NUMBER)
_PART = re.compile(rf"({_NUMBER})\s*([^\W\d]+)\.?\s*")
_CLOCK = re.compile(r"([0-9]{1,3}):([0-9]{1,3})(?::([0-9]{1,3}(?:\.[0-9]+)?))?\s*([ap]\.?m\.?|uhr|h)?")
_HALF_DAY = re.compile(r"([0-9]{1,2})\s*([ap])\.?m\.?")
_HOUR = re.compile(r"([0-9]{1,2})(?:\.([0-9]{2}))?\s*(?:uhr|o'clock)")  # 8 Uhr, 8.30 Uhr
_HOUR_AND_MINUTES = re.compile(r"([0-9]{1,2})\s*h\s*([0-9]{1,2})")  # 8h30, as in France
_MINUS = "\u2212"
_DASHES = "\u2013\u2014" + _MINUS
_UNTIL = "to|till|until|bis|à|jusqu'à|hasta|a|and|und|et|y"
_ARTICLE = r"(?:\s+(?:las?|los|les?))?"  # de las 8 a las 12
_BETWEEN = re.compile(rf"\s+(?:{_UNTIL}){_ARTICLE}\s+|\s*(?:[-{_DASHES}]|\.\.+)\s*")
_RANGE = re.compile(rf"(?:from|between|von|zwischen|de|entre|desde|du){_ARTICLE}\s+(?=[0-9])")
_FROM = re.compile(
    r"(?:from|after|not before|ab|von|nach|nicht vor|frühestens|fruehestens|de|dès|après|à partir de|pas avant|desde|"
    rf"a partir de|después de|no antes de){_ARTICLE}\s+(?=[0-9])"
)
_UP_TO = re.compile(
    r"(?:to|until|till|before|by|up to|not after|bis|vor|nicht nach|spätestens|spaetestens|jusqu'à|avant|pas après|"
    rf"hasta|antes de|no después de){_ARTICLE}\s+(?=[0-9])"
)
_UNIT = re.compile(rf"{_NUMBER}(\s*[^\W\d:]+\.?)")
_LISTED = re.compile(r"[;|/&\n]|,\s*(?=[0-9]{1,2}:)")
_DASHED = re.compile(rf"[0-9][^\s,]*\s*(?:uhr\s*)?(?:[-{_DASHES}]|\b(?:{_UNTIL})\b)\s*[0-9]")
_DATE = re.compile(r"(?<![0-9.])(?:[0-9]{4}-[0-9]{1,2}-|[0-9]{1,2}([./])[0-9]{1,2}\1(?=[0-9]{2}))[0-9]{1,4}(?![0-9:])")
_MAY_BE_HOURS = re.compile(r"[0-9]{1,2}(?:[.,][0-9]{2})?|0[0-9]{3}")  # 8, 8.30, 0830
_REMEDY = "Write seconds (28800), a number with a unit (8h, 90 min) or a clock time (08:00)."
_DATE_REMEDY = "Plan one day at a time, and write only the times: 08:00-12:00."
_NO_WINDOW_REMEDY = "Write one such as 08:00-12:00, or leave it out if any time will do."
_WINDOW_REMEDY = "Write one window such as 08:00-12:00; 08:00- has no end, and -12:00 no beginning."
_MOST_CHARACTERS = 60


def parse_time(text: str, where: Where, *, remedy: str = _REMEDY) -> float:
    """Read a time or duration: seconds, a number with a unit, or a clock time.

    Parameters
    ----------
    text
        "28800", "8h", "1.5 h", "90 min", "1h 30min", "8h30", "08:00", "08:00:30", "2:30 pm", "8 Uhr", "8.30 Uhr".
    where
        Place to name in errors.
    remedy
        Advice to give in errors.

    Returns
    -------
    float
        Seconds; for clock times, since midnight.

    Raises
    ------
    FormatError
        If the text is not a time, such as an unknown unit or 25:00.
    """
    plain = text.strip().lower()
    if plain.startswith(("-", _MINUS)):
        raise FormatError(f"the time {_quote(text)} is negative.", where=where, remedy="Times are 0 or more.")
    if not plain or len(plain) > _MOST_CHARACTERS:
        what = "a time is missing" if not plain else f"{_quote(text)} is not a time"
        raise FormatError(f"{what}.", where=where, remedy=remedy)
    if _PLAIN.fullmatch(plain):
        return _require_finite(_parse_number(plain), text, where)
    if half := _HALF_DAY.fullmatch(plain):
        return _read_clock(half[1], "0", None, half[2], text, where)
    if hour := _HOUR.fullmatch(plain):
        return _read_clock(hour[1], hour[2] or "0", None, None, text, where)
    if short := _HOUR_AND_MINUTES.fullmatch(plain):
        return _read_clock(short[1], short[2], None, None, text, where)
    if clock := _CLOCK.fullmatch(plain):
        return _read_clock(clock[1], clock[2], clock[3], clock[4], text, where)
    return _require_finite(_read_parts(plain, text, where, remedy), text, where)


def parse_window(text: str, where: Where) -> tuple[float, float]:
    """Read a time window: two times with a dash between them, or one with a word. No start is 0, no end infinite.

    Parameters
    ----------
    text
        "08:00-12:00", "8h - 12h", "08:00 bis 12:00", "28800-43200", "08:00-", "-12:00", "ab 8 Uhr", "until 12:00".
    where
        Place to name in errors.

    Raises
    ------
    UnsupportedError
        If there are several windows.
    FormatError
        If the text is not a time window.
    """
    if len(text) > 2 * _MOST_CHARACTERS:
        raise FormatError(f"{_quote(text)} is not a time window.", where=where, remedy=_WINDOW_REMEDY)
    plain = " ".join(text.strip().strip("[]()").lower().replace("\u2019", "'").split())
    if not any(map(str.isdigit, plain)):  # n/a
        raise FormatError(f"{_quote(text)} is not a time window.", where=where, remedy=_NO_WINDOW_REMEDY)
    if _DATE.search(plain):
        raise FormatError(f"{_quote(text)} contains a date.", where=where, remedy=_DATE_REMEDY)
    if sum(any(map(str.isdigit, part)) for part in _LISTED.split(plain)) > 1 or len(_DASHED.findall(plain)) > 1:
        raise UnsupportedError(
            f"{_quote(text)} has several time windows.",
            where=where,
            remedy="Separate them with semicolons in a table, and list them under windows in JSON.",
        )
    bounds = split_window(plain)
    if bounds is None or not any(bounds):
        raise FormatError(f"{_quote(text)} is not a time window.", where=where, remedy=_WINDOW_REMEDY)
    unit = _UNIT.fullmatch(bounds[1])
    if unit and _PLAIN.fullmatch(bounds[0]):
        bounds = (bounds[0] + unit[1], bounds[1])  # 8-12h
    is_written_out = plain[0].isalpha() or not all(_PLAIN.fullmatch(bound) for bound in bounds if bound)
    if is_written_out and any(map(_MAY_BE_HOURS.fullmatch, bounds)):  # 8-12:00 does not begin 8 seconds after midnight
        raise FormatError(f"{_quote(text)} could mean hours or seconds.", where=where, remedy=_WINDOW_REMEDY)
    earliest, latest = (parse_time(bound, where, remedy=_WINDOW_REMEDY) if bound else None for bound in bounds)
    return 0.0 if earliest is None else earliest, math.inf if latest is None else latest


def split_window(plain: str) -> tuple[str, str] | None:
    """The two times of a window, one of which may be blank; None if it is not one."""
    bounds = _BETWEEN.split(_RANGE.sub("", plain, count=1) if _RANGE.match(plain) else plain)
    if len(bounds) == 2:
        return bounds[0], bounds[1]
    if before := _FROM.match(plain):
        return plain[before.end() :], ""
    if before := _UP_TO.match(plain):
        return "", plain[before.end() :]
    return None


def format_clock(seconds: float) -> str:
    """Write a time as on a clock, to the second; hours continue past 24, infinity is a dash."""
    if not math.isfinite(seconds):
        return "-"
    whole = round(seconds)
    sign, whole = ("-", -whole) if whole < 0 else ("", whole)
    minutes, second = divmod(whole, 60)
    hour, minute = divmod(minutes, 60)
    return f"{sign}{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def format_duration(seconds: float) -> str:
    """Write a duration, such as 1 h 20 min; with seconds if they matter."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    parts = [(hours, "h"), (minute, "min"), (second if hours == 0 else 0, "s")]
    return " ".join(f"{count:,} {unit}" for count, unit in parts if count)


def _read_clock(hours: str, minutes: str, seconds: str | None, half: str | None, text: str, where: Where) -> float:
    hour, minute, second = int(hours), int(minutes), float(seconds or 0)
    is_half = half is not None and half[0] in "ap"
    possible = minute < 60 and second < 60 and (1 <= hour <= 12 if is_half else hour * 60 + minute <= 24 * 60)
    if not possible or (hour == 24 and second):
        after = f"On the day after, write {hour}h{f' {minute}min' if minute else ''}." if hour >= 24 else ""
        raise FormatError(
            f"{_quote(text)} is not a clock time.",
            where=where,
            remedy=f"Clock times are 00:00 to 24:00. {after}".strip(),
        )
    if is_half and half is not None:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    return 3600.0 * hour + 60 * minute + second


def _read_parts(plain: str, text: str, where: Where, remedy: str) -> float:
    """Add up numbers with units, such as 1h 30min."""
    total, position = 0.0, 0
    while position < len(plain):
        part = _PART.match(plain, position)
        if part is None:
            raise FormatError(f"{_quote(text)} is not a time.", where=where, remedy=remedy)
        if part[2] not in _SECONDS:
            raise FormatError(
                f"the unit {_quote(part[2])} of {_quote(text)} is unknown.",
                where=where,
                remedy="Units of time are s, min, h and d.",
            )
        total += _parse_number(part[1]) * _SECONDS[part[2]]
        position = part.end()
    return total


def _parse_number(text: str) -> float:
    return float(text.replace(",", "."))


def _require_finite(seconds: float, text: str, where: Where) -> float:
    if not seconds < 1e15:
        raise FormatError(f"the time {_quote(text)} is too long.", where=where, remedy="Check its unit.")
    return seconds


def _quote(text: str) -> str:
    shown = show_text(text.strip())
    return repr(shown if len(shown) <= _MOST_CHARACTERS else f"{shown[:_MOST_CHARACTERS]}...")
