from __future__ import annotations

import pytest

from dynaroute.base.errors import FormatError
from dynaroute.formats.text import decode_text, one_line, shorten, split_lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_names_survive_their_encoding(encoding: str) -> None:
    assert decode_text("NAME : Müller \u201cSöhne\u201d".encode(encoding)) == "NAME : Müller \u201cSöhne\u201d"


@pytest.mark.parametrize("content", [b"a\0b", b"\x89PNG\r\n\x1a\n\x00", b"\x1f\x8b\x08", b"\xff\xfea"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError, match="not a text file"):
        decode_text(content)


def test_lines_end_as_on_any_system_and_nowhere_else() -> None:
    assert split_lines("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]


def test_a_name_becomes_one_line() -> None:
    assert one_line(" a\tb\n") == "a b"


def test_a_long_text_is_shortened_in_messages() -> None:
    assert shorten("x" * 1000) == repr("x" * 37 + "...")


def test_15_9_text_is_judged_by_the_memory_of_its_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.base.limits.LARGEST_CONTENT", 1000)
    assert decode_text(b"x" * 250) == "x" * 250
    with pytest.raises(FormatError, match="limit"):
        decode_text(b"x" * 251)
