from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.display import show_list, show_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r\tand\0", "two\\nlines\\r\\tand\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ud800", "\\ud800"),
        ("Zürich, \u0645\u06cc\u200c\u062e, 東京", "Zürich, \u0645\u06cc\u200c\u062e, 東京"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert show_text(text) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert show_text("x" * 1000, 10) == "xxxxxxxxxx... (1,000 characters)"
    assert show_text("x" * 12, 10) == "x" * 12  # the words about it would be longer
    assert show_text("\x1b" * 1000, 10) == "\\x1b\\x1b\\x... (1,000 characters)"


@given(st.text())
def test_what_is_shown_already_stays_as_it_is(text: str) -> None:
    assert show_text(show_text(text)) == show_text(text)


def test_a_long_list_tells_how_many_more_there_are() -> None:
    assert show_list(range(3)) == "0, 1, 2"
    assert show_list(range(200_000), most=2) == "0, 1 and 199,998 more"
    assert show_list(["a\x1b"]) == "a\\x1b"
