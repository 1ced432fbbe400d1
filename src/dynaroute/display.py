"""Text of others, made fit for a terminal or a log: one line, nothing hidden in it, no longer than it deserves.

And lengths, with the digits and the unit that people read.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice

__all__ = ["count_of", "show_length", "show_list", "show_text"]

LONGEST_TEXT = 2000  # of a whole message
LONGEST_NAME = 200
LONGEST_ITEM = 40  # of one of many
_SLACK = 40  # a text is not cut to say that it was

_UNSHOWN = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, separators of lines and paragraphs
# They turn what follows around, so that a text reads as another one. Joiners, which names in many scripts need, do not.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def show_text(text: str, longest: int | None = LONGEST_TEXT) -> str:
    r"""Write control characters as escapes, such as \x1b, and cut what is too long.

    Parameters
    ----------
    text
        Anything: a name, a column, an excerpt, a message that holds some of them.
    longest
        Characters that are kept; None keeps all. What is shown already stays as it is.
    """
    kept = text if longest is None else text[: longest + _SLACK]
    shown = kept if kept.isascii() and kept.isprintable() else "".join(map(_show_character, kept))
    if longest is None or max(len(text), len(shown)) <= longest + _SLACK:
        return shown
    return f"{shown[:longest]}... ({len(text):,} characters)"


def show_list(items: Sequence[object], most: int = 10) -> str:
    """Write the first of many things, and how many more there are.

    Parameters
    ----------
    items
        Names or numbers.
    most
        How many are written.
    """
    shown: Iterable[str] = (show_text(str(item), LONGEST_ITEM) for item in islice(items, most))
    rest = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(shown) + rest


def count_of(number: int, noun: str) -> str:
    """Write a number of things: 1 route, 2 routes."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_length(length: float, unit: str | None = None) -> str:
    """Write a length or a cost: metres as kilometres from 1,000 on; else whole numbers as such, others to six digits.

    Parameters
    ----------
    length
        In the instance's own unit.
    unit
        That unit, if it is known: "m" for metres.
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
