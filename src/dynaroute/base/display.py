"""Untrusted text made safe for a terminal or a log: one line, no hidden characters, not too long.

Also lengths and counts as people read them.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice

LONGEST_TEXT = 2000  # characters of a whole message
LONGEST_NAME = 200
LONGEST_ITEM = 40  # characters of one item in a list
_SLACK = 40  # a text this little too long is not cut: the note that it was cut would be longer

_UNSHOWN = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators
# These characters reverse the text after them, which can disguise it. Joiners, which many scripts need, are allowed.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def show_text(text: str, longest: int | None = LONGEST_TEXT) -> str:
    r"""Write control characters as escapes, such as \x1b, and cut what is too long.

    Parameters
    ----------
    text
        Any text: a name, a column, an excerpt, or a message that quotes one.
    longest
        How many characters to keep; None keeps all. Text that was escaped before stays as it is.
    """
    kept = text if longest is None else text[: longest + _SLACK]
    shown = kept if kept.isascii() and kept.isprintable() else "".join(map(_show_character, kept))
    if longest is None or max(len(text), len(shown)) <= longest + _SLACK:
        return shown
    return f"{shown[:longest]}... ({len(text):,} characters)"


def show_list(items: Sequence[object], most: int = 10) -> str:
    """Write the first few items, and how many more there are."""
    shown: Iterable[str] = (show_text(str(item), LONGEST_ITEM) for item in islice(items, most))
    rest = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(shown) + rest


def count_of(number: int, noun: str) -> str:
    """Write a number with its noun: 1 route, 2 routes."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_length(length: float, unit: str | None = None) -> str:
    """Write a length or cost: 1,000 metres or more as kilometres; otherwise up to six digits.

    Parameters
    ----------
    length
        In the instance's own unit.
    unit
        Its unit if known: "m" for metres.
    """
    if unit == "m":
        if abs(length) < 1000:
            return f"{length:.0f} m"
        return f"{length / 1000:.1f} km" if abs(length) >= 100_000 else f"{length / 1000:.2f} km"
    if length == round(length):
        return f"{length:.0f}"
    if abs(length) < 1:
        return f"{length:.4g}"
    return f"{length:.{min(4, max(0, 5 - math.floor(math.log10(abs(length)))))}f}"


def _show_character(character: str) -> str:
    if character in _TURNING or unicodedata.category(character) in _UNSHOWN:
        return character.encode("unicode_escape", errors="surrogatepass").decode("ascii")
    return character
