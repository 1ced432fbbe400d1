from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dynaroute.base.decimals import is_finite_number, plain_number, show_number


@pytest.mark.parametrize(
    ("value", "written"),
    [(3, "3"), (3.0, "3"), (Decimal("3.0"), "3"), (2.5, "2.5"), (Decimal("2.5"), "2.5"), (-0.5, "-0.5")],
)
def test_numbers_have_no_needless_fraction(value: int | float | Decimal, written: str) -> None:
    assert json.dumps(plain_number(value)) == written


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), Decimal(1), True, "1", None])
def test_what_a_float_cannot_hold_is_no_finite_number(value: object) -> None:
    assert not is_finite_number(value)


def test_a_number_that_python_refuses_to_write_is_described() -> None:
    assert show_number(10**5000) == "a number of thousands of digits"
    assert show_number("far") == "'far'"
