from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dynaroute.decimals import plain_number


@pytest.mark.parametrize(
    ("value", "written"),
    [(3, "3"), (3.0, "3"), (Decimal("3.0"), "3"), (2.5, "2.5"), (Decimal("2.5"), "2.5"), (-0.5, "-0.5")],
)
def test_numbers_have_no_needless_fraction(value: int | float | Decimal, written: str) -> None:
    assert json.dumps(plain_number(value)) == written
