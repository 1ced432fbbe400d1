"""Decimal amounts as exact integers, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real

from dynaroute.base.errors import InstanceError

LARGEST_INTEGER = 2**31 - 1  # the GPU adds loads in 32-bit registers

_LARGEST_EXACT = 2**53  # every whole number below this is exact as a float
_MOST_DIGITS = 40  # before or after the decimal point; far more than a scaled capacity can have


def scale_to_integers(values: Sequence[Decimal]) -> tuple[list[int], int]:
    """Scale decimals to integers by the smallest power of ten that makes them all whole.

    Returns
    -------
    tuple[list[int], int]
        The integers and the power of ten.

    Raises
    ------
    InstanceError
        If a value is too large, or has too many decimals, for any capacity.
    """
    decimals = max(map(count_decimals, values), default=0)
    for value in values:  # 1e999999999 would fill the memory
        if value and (decimals > _MOST_DIGITS or value.adjusted() > _MOST_DIGITS):
            raise InstanceError(f"the number {value} is out of range.", remedy="Use another unit, or fewer decimals.")
    return [_scale(value, decimals) for value in values], 10**decimals


def count_decimals(value: Decimal) -> int:
    """Count the decimals that a finite number needs: 1 for 1.50, 0 for 20."""
    # digit by digit, because Decimal.normalize() rounds to the context's 28 digits
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # finite, as the caller promised
    if exponent >= 0 or not any(digits):
        return 0
    trailing_zeros = next(count for count, digit in enumerate(reversed(digits)) if digit)
    return max(0, -exponent - trailing_zeros)


def unscale(amount: int, scale: int) -> int | Decimal:
    """Turn a scaled integer back into the decimal it stands for; unscaled integers stay integers."""
    return int(amount) if scale == 1 else Decimal(int(amount)) / Decimal(scale)


def _scale(value: Decimal, decimals: int) -> int:
    # digit by digit, because Decimal multiplication rounds to the context's 28 digits
    if not value:  # 0e999999999 is a zero too
        return 0
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole: int = int("".join(map(str, digits)))
    shift = exponent + decimals
    whole = whole * int(10**shift) if shift >= 0 else whole // int(10**-shift)
    return -whole if sign else whole


def plain_number(value: float | Decimal) -> int | float:
    """Return the number as JSON should show it: exact, and as an integer where it is whole."""
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < _LARGEST_EXACT else number


def is_finite_number(value: object) -> bool:
    """Whether a value is a number that a float can hold; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of more than 308 digits
        return False


def show_number(value: object) -> str:
    """Write a value that should have been a number, for a message."""
    try:
        return repr(value)
    except ValueError:  # Python does not write integers of more than 4,300 digits
        return "a number of thousands of digits"
