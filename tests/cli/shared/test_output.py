from __future__ import annotations

import pytest

from dynaroute.cli.shared.output import count_of, print_facts, print_json, print_table, show_counts, show_length


@pytest.mark.parametrize(
    ("length", "written"), [(28121.0, "28121"), (0.0, "0"), (15.83616, "15.8362"), (0.000123456, "0.0001235")]
)
def test_lengths_are_short_but_not_too_short(length: float, written: str) -> None:
    assert show_length(length) == written


def test_one_thing_is_singular() -> None:
    assert (count_of(1, "route"), count_of(2, "route"), count_of(0, "route")) == ("1 route", "2 routes", "0 routes")


def test_counts_are_shown_where_there_is_more_than_one_kind() -> None:
    assert show_counts({"savings": 3}) == "savings"
    assert show_counts({"savings": 1, "amd-20 (greedy)": 2}) == "2 amd-20 (greedy), 1 savings"


def test_json_is_one_line_and_refuses_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1, 2.5, None]})

    assert capsys.readouterr().out == '{"a": [1, 2.5, null]}\n'
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_facts_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts("title", [("a", "1"), ("long", "2")])

    assert capsys.readouterr().out == "title\n  a     1\n  long  2\n"


def test_table_takes_brackets_as_they_are_and_sets_numbers_flush_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Number", "Text"), [("1", "[bold]x[/bold] :smile:"), ("23", "")])

    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["Number  Text", "     1  [bold]x[/bold] :smile:", "    23"]
