"""Numbers as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.tables.cells.amounts import Entry, Notation, read_amounts, read_plain, split_unit
from dynaroute.formats.tables.cells.units import find_unit, unit_of_heading

VALUES = st.decimals(min_value=-(10**9), max_value=10**9, places=4, allow_nan=False, allow_infinity=False)
# decimal mark, separator of thousands
STYLES = {"en": (".", ","), "de": (",", "."), "fr": (",", "\u202f"), "ch": (".", "'"), "plain": (".", "")}


def entries(*texts: str) -> list[Entry]:
    return [Entry(text, "text", Where(line=line)) for line, text in enumerate(texts, start=1)]


def write(value: Decimal, style: str) -> str:
    mark, separator = STYLES[style]
    return f"{value:,.4f}".replace(",", "_").replace(".", mark).replace("_", separator)


@pytest.mark.parametrize("style", STYLES)
@given(values=st.lists(VALUES, min_size=1, max_size=5))
def test_a_column_in_one_style_is_read_as_it_is_meant(style: str, values: list[Decimal]) -> None:
    assert read_amounts(entries(*(write(value, style) for value in values))).values == values


@given(values=st.lists(VALUES, min_size=1, max_size=5))
def test_the_quick_way_reads_the_same(values: list[Decimal]) -> None:
    for style in ("plain", "de"):
        texts = [write(value, style).replace(".", "") if style == "de" else write(value, style) for value in values]
        plain = read_plain(texts, None)
        assert plain is not None
        assert plain.values == read_amounts(entries(*texts)).values == values


@pytest.mark.parametrize("text", ["1.234", "12,345", "-999.000", "1 234 5", "1,23,4", "1.2.3,4,5", "abc", "", "12 34"])
def test_the_quick_way_leaves_what_is_not_plain(text: str) -> None:
    assert read_plain([text, "5"], None) is None


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (("1.234", "2,5"), ("1234", "2.5")),
        (("1,234", "2.5"), ("1234", "2.5")),
        (("1.234.567", "1.234"), ("1234567", "1234")),
        (("1,234,567", "1,234"), ("1234567", "1234")),
        (("0.125", "1.234"), ("0.125", "1.234")),
        (("1234.567", "1.234"), ("1234.567", "1.234")),
    ],
)
def test_the_column_settles_what_is_open(texts: tuple[str, ...], values: tuple[str, ...]) -> None:
    assert read_amounts(entries(*texts)).values == list(map(Decimal, values))


def test_what_nothing_settles_is_refused_with_both_meanings() -> None:
    with pytest.raises(FormatError, match=r"could mean 1234 or 1\.234") as caught:
        read_amounts(entries("5", "1.234"))

    assert caught.value.where.line == 2


@pytest.mark.parametrize(("elsewhere", "value"), [("point", "1.234"), ("comma", "1234")])
def test_the_rest_of_the_table_is_asked_last(elsewhere: Notation, value: str) -> None:
    assert read_amounts(entries("1.234"), elsewhere=lambda: elsewhere).values == [Decimal(value)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("3,5 kg", ("3,5", "kg")),
        ("3,5kg", ("3,5", "kg")),
        ("kg 3", ("3", "kg")),
        ("1 234 Stk.", ("1 234", "Stk.")),
        ("12 m³", ("12", "m³")),
        ("12 m3", ("12", "m3")),
        ("12", ("12", "")),
        ("much", ("much", "")),
    ],
)
def test_a_unit_is_told_from_its_number(text: str, parts: tuple[str, str]) -> None:
    assert split_unit(text) == parts


@pytest.mark.parametrize(
    ("heading", "unit"),
    [("Menge (kg)", "kg"), ("Gewicht in kg", "kg"), ("weight [t]", "t"), ("Poids (en kg)", None), ("Menge", None)],
)
def test_a_heading_may_name_the_unit(heading: str, unit: str | None) -> None:
    found = unit_of_heading(heading)
    assert (found.name if found else None) == unit


def test_units_are_known_in_four_languages() -> None:
    for name in ("pallets", "Paletten", "palettes", "palés", "PAL."):
        unit = find_unit(name)
        assert unit is not None and unit.name == "pallets"
