from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import DynarouteError, FormatError, InstanceError, Where
from dynaroute.formats.numbers import format_number, parse_decimal, parse_float, parse_whole, scale_quantities


@pytest.mark.parametrize("text", ["12", "-3.5", "+.5", "5.", "1.5e+02", "1E3", "007"])
def test_plain_numbers_are_numbers(text: str) -> None:
    assert parse_decimal(text, Where()) == Decimal(text)


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "-Infinity", "1_000", "0x10", "٣", "1,5", "1e", "e5", ".", "--1", "1 2", "1e999999", "½"]
)
def test_nothing_else_is_a_number(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_decimal(text, Where(line=3, field="x"))

    assert caught.value.where == Where(line=3, field="x")


@given(st.floats(-1e150, 1e150))
def test_a_written_number_reads_back_the_same(value: float) -> None:
    assert parse_float(format_number(value), Where()) == value


@pytest.mark.parametrize("value", [3.0, -17.0, 1e6])
def test_whole_numbers_are_written_without_a_point(value: float) -> None:
    assert format_number(value) == str(int(value))


@pytest.mark.parametrize("text", ["1.5", "1e30", "1e-5"])
def test_a_whole_number_has_no_decimals_and_a_sane_size(text: str) -> None:
    with pytest.raises(FormatError):
        parse_whole(text, Where())


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8), st.integers(0, 3), st.integers(0, 3))
def test_scaling_is_exact(amounts: list[int], decimals: int, more_zeros: int) -> None:
    demands = [Decimal(0), *(Decimal(amount).scaleb(-decimals) for amount in amounts)]
    capacity = Decimal(f"{10**6}.{'0' * more_zeros}")

    quantities = scale_quantities(demands, capacity)

    assert [Decimal(demand) / quantities.scale for demand in quantities.demands] == demands
    assert Decimal(quantities.capacity) / quantities.scale == capacity


def test_a_difference_in_the_35th_decimal_is_not_rounded_away() -> None:
    with pytest.raises(InstanceError, match="decimals"):
        scale_quantities([Decimal(0), Decimal("1." + "0" * 34 + "1")], Decimal(2))


@pytest.mark.parametrize("demand", ["1e99999", "1e-99999", "-1e99999", "0.1e-40"])
def test_astronomical_demands_are_refused_at_once(demand: str) -> None:
    with pytest.raises(DynarouteError):
        scale_quantities([Decimal(0), Decimal(demand)], Decimal(10))


def test_an_astronomical_zero_is_zero() -> None:
    assert scale_quantities([Decimal("0e99999"), Decimal("0e-99999")], Decimal(10)).demands == [0, 0]


def test_a_customer_is_called_as_in_the_file() -> None:
    with pytest.raises(InstanceError, match=r"customer 2 \(Smith\) is 11"):
        scale_quantities([Decimal(0), Decimal(1), Decimal(11)], Decimal(10), ["Miller", "Smith"])
