"""Decoding text, splitting lines, reading words, and quoting text in messages."""

from __future__ import annotations

import re
import unicodedata
from typing import get_args

from dynaroute.base.errors import FormatError, Where
from dynaroute.base.limits import refuse_large_content
from dynaroute.base.vocabulary import Rounding, join_with_or

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_ENDS = f"{_SPACES},;[{{"  # characters that end a piece of text, such as a number or a cell, or begin a new one
_BYTES_OF_CHARACTER = 4  # in memory, if any character of the text is outside the basic plane
_BYTES_OF_PIECE = 200  # at most, while reading; measured with all formats

_BINARY = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # control characters that never occur in text


def decode_text(content: bytes, ends: str = _ENDS) -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, or else Windows-1252.

    Windows-1252 stands for all old one-byte encodings. Only names and comments can contain such bytes, because all
    keywords and numbers are ASCII.

    Parameters
    ----------
    content
        A file's bytes.
    ends
        Characters at which the text will be cut.

    Raises
    ------
    FormatError
        If it is not text, or too large for memory when cut.
    """
    refuse_large_content(_BYTES_OF_CHARACTER * len(content))
    text = _decode(content)
    refuse_many_pieces(text, ends)
    if _BINARY.search(text):
        raise FormatError("this is not a text file.", remedy="Is its suffix right? Is it compressed?")
    return text.rstrip("\x1a")  # Ctrl-Z: the end-of-file mark of old systems


def refuse_many_pieces(text: str, ends: str) -> None:
    """Raise if the text would take too much memory when cut at these characters."""
    refuse_large_content(_BYTES_OF_CHARACTER * len(text) + _BYTES_OF_PIECE * sum(text.count(end) for end in ends))


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            return "\0"  # not text
    if len(content) > 8 and not any(content[1:200:2]) and all(content[0:200:2]):  # UTF-16 without a byte order mark
        return content.decode("utf-16-le", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def split_lines(text: str) -> list[str]:
    """Split text at the line ends of any system, and only there."""
    # not str.splitlines(), which also splits at form feeds and others that editors do not count as line ends
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shorten(text: str) -> str:
    """Quote text for a message, shortened if it is long."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def one_line(text: str) -> str:
    """Replace tabs and control characters by spaces, and trim."""
    spaced = (" " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text)
    return "".join(spaced).strip()


def read_rounding(word: object, where: Where) -> Rounding:
    """Read the name of a rounding rule."""
    known: tuple[Rounding, ...] = get_args(Rounding)
    for rounding in known:
        if word == rounding:
            return rounding
    name = f" {shorten(word)}" if isinstance(word, str) else ""
    raise FormatError(f"the rounding rule{name} is unknown.", where=where, remedy=f"Use {join_with_or(known)}.")
