"""Text from bytes, lines from text, and names that fit on a line."""

from __future__ import annotations

import re
import unicodedata

from dynaroute.errors import FormatError
from dynaroute.limits import refuse_large_content

__all__ = ["decode_text", "one_line", "refuse_many_pieces", "shorten", "split_lines"]

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_ENDS = f"{_SPACES},;[{{"  # of one piece of text, such as a number or a cell; and what opens a new one
_BYTES_OF_CHARACTER = 4  # of memory, if only one of all is rare
_BYTES_OF_PIECE = 200  # at most, while it is read; measured with all formats

_BINARY = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # control characters that no text holds


def decode_text(content: bytes, ends: str = _ENDS) -> str:
    """Decode UTF-8, with or without byte order mark, UTF-16 with one, or else Windows-1252.

    Windows-1252 stands for all the old one-byte encodings: only names and comments can be meant by such bytes, since
    everything that is understood here is ASCII.

    Parameters
    ----------
    content
        A file's bytes.
    ends
        What ends the pieces that the text will be cut into.

    Raises
    ------
    FormatError
        If this is no text, or its pieces would fill the memory.
    """
    refuse_large_content(_BYTES_OF_CHARACTER * len(content))
    text = _decode(content)
    refuse_many_pieces(text, ends)
    if _BINARY.search(text):
        raise FormatError("this is not a text file.", remedy="Is its suffix right? Is it compressed?")
    return text.rstrip("\x1a")  # Ctrl-Z: the end of a file, long ago


def refuse_many_pieces(text: str, ends: str) -> None:
    """Refuse text that would fill the memory when it is cut at these characters."""
    refuse_large_content(_BYTES_OF_CHARACTER * len(text) + _BYTES_OF_PIECE * sum(text.count(end) for end in ends))


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            return "\0"  # no text
    if len(content) > 8 and not any(content[1:200:2]) and all(content[0:200:2]):  # UTF-16 that forgot to say so
        return content.decode("utf-16-le", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def split_lines(text: str) -> list[str]:
    """Split text at line ends of any system, and nowhere else."""
    # not str.splitlines(), which also splits at form feeds and other characters that editors do not count
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shorten(text: str) -> str:
    """Quote text for a message, without flooding it."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def one_line(text: str) -> str:
    """Replace tabs and control characters, which a name cannot hold, by spaces, and trim."""
    spaced = (" " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text)
    return "".join(spaced).strip()
