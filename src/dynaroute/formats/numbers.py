"""Reading numbers from files, and turning demands and capacities into exact integers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import count_decimals, plain_number, scale_to_integers
from dynaroute.base.errors import FormatError, InstanceError, Where, warn_of_input
from dynaroute.formats.text import shorten
from dynaroute.problem.instance import LARGEST_INTEGER, Instance
from dynaroute.problem.lengths import GLOBE_REMEDY, LARGEST_DEGREES, LONGEST_LENGTH

# float() and int() would also accept 1_000, nan, inf and digits of every script
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_MOST_DIGITS = 1000  # in one number; far beyond any precision, and fewer than Python refuses to convert
_MOST_DECIMALS = 30
_LARGEST_MAGNITUDE = 18  # decimal exponent of the largest whole number considered
ROUNDED_DECIMALS = 6  # with this many decimals or more, a share of the capacity is likely a rounded fraction
_LARGEST_DENOMINATOR, _LARGEST_OF_FEW = (
    10_000,
    1_000,
)  # with more distinct shares, a common denominator is less likely by chance
_FEW = 3
_ROUNDING_OF_FLOATS = 2.0**-23  # of 32-bit floats; twice the error of one rounding


@dataclass(frozen=True)
class Quantities:
    """Demands and capacity in one exact integer unit.

    Attributes
    ----------
    demands
        One per node, the depot first.
    capacity
        Capacity of a vehicle.
    scale
        How many of these units make one unit of the file.
    note
        What was corrected; "" if nothing was.
    """

    demands: list[int]
    capacity: int
    scale: int
    note: str = ""


def parse_decimal(text: str, where: Where) -> Decimal:
    """Read a plain finite decimal number, exactly."""
    if not is_number(text):
        raise FormatError(
            f"{shorten(text)} is not a number." if text else "a number is missing.",
            where=where,
            remedy="Write a plain number such as 12, -3.5 or 1.5e+02.",
        )
    return Decimal(text)


def is_number(text: str) -> bool:
    """Whether text is a plain decimal number in ASCII: sign, digits, point and exponent."""
    return len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(text) is not None


def parse_whole(text: str, where: Where) -> int:
    """Read a whole number of up to 18 digits; 5.0 counts as one."""
    value = parse_decimal(text, where)
    if value and value.adjusted() > _LARGEST_MAGNITUDE:
        raise FormatError(f"{shorten(text)} is too large.", where=where, remedy="Check the number.")
    if count_decimals(value):
        raise FormatError(f"{shorten(text)} is not a whole number.", where=where, remedy="Write a whole number.")
    return int(value)


def parse_float(text: str, where: Where) -> float:
    """Read a coordinate or a distance."""
    return refuse_unmeasurable(float(parse_decimal(text, where)), where)


def refuse_unmeasurable(value: float, where: Where) -> float:
    """Return a coordinate or distance, or raise if it is too large to compute with."""
    if not abs(value) <= LONGEST_LENGTH:  # NaN compares false
        raise InstanceError(
            f"{value:g} is too large to compute with.", where=where, remedy=f"Stay within ±{LONGEST_LENGTH:g}."
        )
    return value


def refuse_off_globe(value: float, axis: str, where: Where) -> float:
    """Return a coordinate, or raise if its axis is lat or lon and it is out of range."""
    if abs(value) > LARGEST_DEGREES.get(axis, LONGEST_LENGTH):
        hint = " Are the two swapped?" if axis == "lat" and abs(value) <= LARGEST_DEGREES["lon"] else ""
        raise InstanceError(f"{axis} is {value:g}, off the globe.", where=where, remedy=f"{GLOBE_REMEDY}{hint}")
    return value


def format_number(value: float) -> str:
    """Write a number as briefly as possible so that it reads back the same."""
    return str(plain_number(value))


def format_load(instance: Instance, load: int) -> str:
    """Write a stored demand or capacity in the unit of the user's file, exactly and without exponent."""
    return f"{Decimal(instance.shown_demand(load)):f}"


def scale_quantities(demands: Sequence[Decimal], capacity: Decimal, names: Sequence[str] | None = None) -> Quantities:
    """Convert demands and capacity to integers in one unit, exactly.

    Parameters
    ----------
    demands
        One per node, the depot first.
    capacity
        Capacity of a vehicle.
    names
        The file's names for its customers, for messages.

    Raises
    ------
    InstanceError
        If they are invalid; the field is "demands" or "capacity".
    """
    _refuse_capacity(capacity)
    for node, demand in enumerate(demands):
        if demand < 0 or (node == 0 and demand != 0) or demand > capacity:
            raise _demand_fault(node, demand, capacity, names)
    distinct = list({*demands, capacity})  # a set file has millions of demands, but few distinct ones
    decimals = max(map(count_decimals, distinct))
    if capacity == 1 and decimals >= ROUNDED_DECIMALS:
        denominator = find_common_denominator([demand for demand in distinct if demand])
        if denominator is not None:
            return Quantities(
                [round(demand * denominator) for demand in demands],
                denominator,
                1,
                f"the demands are rounded multiples of 1/{denominator} of the capacity; they were read as whole "
                "numbers "
                f"with capacity {denominator}.",
            )
    # the first two tests keep the third from computing astronomical powers of ten
    if (
        decimals > _MOST_DECIMALS
        or capacity.adjusted() + decimals > _LARGEST_MAGNITUDE
        or capacity.scaleb(decimals) > LARGEST_INTEGER
    ):
        raise InstanceError.about(
            "capacity",
            f"the capacity {_show(capacity)} and demands with up to {decimals} decimals cannot be scaled to whole "
            f"numbers up to {LARGEST_INTEGER}.",
            "Use fewer decimals; if demands were divided by the capacity, give the original demands.",
        )
    integers, scale = scale_to_integers(distinct)
    scaled = dict(zip(distinct, integers, strict=True))
    is_doubtful = capacity == 1 and decimals > ROUNDED_DECIMALS
    note = "the demands look like rounded shares of the capacity, so exactly full vehicles may seem overloaded."
    return Quantities([scaled[demand] for demand in demands], scaled[capacity], scale, note if is_doubtful else "")


def find_common_denominator(shares: Sequence[Decimal]) -> int | None:
    """Find the smallest integer that makes all shares whole numbers, up to rounding; None if there is none.

    Parameters
    ----------
    shares
        Distinct fractions above 0.
    """
    roundings = [
        max(_ROUNDING_OF_FLOATS * float(share), 0.5 * 10.0 ** -max(count_decimals(share), ROUNDED_DECIMALS))
        for share in shares
    ]
    limits = [_LARGEST_OF_FEW] if len(shares) < _FEW else [_LARGEST_OF_FEW, _LARGEST_DENOMINATOR]
    for limit in limits:
        candidates = np.arange(2, limit + 1)
        for share, rounding in zip(shares, roundings, strict=True):
            wholes = float(share) * candidates
            candidates = candidates[np.abs(wholes - np.rint(wholes)) <= rounding * candidates]
        if len(candidates):
            return int(candidates[0])
    return None


def _refuse_capacity(capacity: Decimal) -> None:
    if capacity <= 0:
        raise InstanceError.about("capacity", f"the capacity is {_show(capacity)}, not above 0.", "It must be above 0.")
    if capacity > LARGEST_INTEGER:
        raise InstanceError.about(
            "capacity",
            f"the capacity {_show(capacity)} is too large; the largest possible is {LARGEST_INTEGER}.",
            "Use a larger unit.",
        )


def _demand_fault(node: int, demand: Decimal, capacity: Decimal, names: Sequence[str] | None) -> InstanceError:
    name = None if names is None or node == 0 else names[node - 1]
    called = "" if name in (None, str(node)) else f" ({name})"
    whose = "the depot" if node == 0 else f"customer {node}{called}"
    if demand < 0:
        problem, remedy = "negative", "Demands are 0 or more."
    elif node == 0:
        problem, remedy = "not 0", "The depot comes first and has no demand."
    else:
        problem, remedy = f"above the capacity {_show(capacity)}", "Split this customer, or use larger vehicles."
    return InstanceError.about("demands", f"the demand of {whose} is {_show(demand)}, {problem}.", remedy, node or None)


def _show(value: Decimal) -> str:
    return f"{value:f}" if -20 < value.adjusted() < 20 else f"{value:.6e}"


def instance_from_arrays(
    coordinates: NDArray[np.float64], demands: NDArray[Any], capacity: NDArray[Any], name: str
) -> Instance:
    """Make one instance of a set; demands and capacity may be integers, or decimals stored as floats.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first.
    demands
        (n,) integers or floats, one per customer.
    capacity
        () integer or float.
    name
        Label of the instance.
    """
    scaled = scale_arrays(np.concatenate([np.zeros(1, dtype=demands.dtype), demands]), capacity)
    return Instance(coordinates, scaled.demands, scaled.capacity, name, demand_scale=scaled.scale)


class ScaledArrays(NamedTuple):
    """Demands and capacity in the form of `Instance`.

    Attributes
    ----------
    demands, capacity, scale
        As in `Quantities`.
    """

    demands: NDArray[Any]
    capacity: int
    scale: int


def scale_arrays(demands: NDArray[Any], capacity: NDArray[Any]) -> ScaledArrays:
    """Convert demands and capacity to whole numbers, exactly; warns if something had to be corrected.

    Parameters
    ----------
    demands
        (n + 1,) integers or floats, the depot's first.
    capacity
        () integer or float.
    """
    if _is_whole(demands) and _is_whole(capacity):
        return ScaledArrays(demands, capacity.item(), 1)
    quantities = _scale_floats(demands, capacity)
    if quantities.note:
        warn_of_input("", quantities.note)
    return ScaledArrays(np.array(quantities.demands), quantities.capacity, quantities.scale)


def _is_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" or bool((values == np.floor(values)).all())


def _scale_floats(demands: NDArray[Any], capacity: NDArray[Any]) -> Quantities:
    """Scale floats exactly, by the decimals they are printed with: the float nearest to 0.1 means 0.1."""
    for field, values in (("demands", demands), ("capacity", capacity.reshape(1))):
        if not np.isfinite(values).all():
            node = int(np.argmin(np.isfinite(values)))
            raise InstanceError.about(field, "a value is not finite.", "Give plain numbers.", node or None)
    return scale_quantities([Decimal(str(demand)) for demand in demands], Decimal(str(capacity[()])))


def write_loads(instance: Instance, loads: Sequence[int]) -> list[int] | list[float]:
    """Convert loads to the user's unit, as sets store them: whole numbers, or floats.

    Parameters
    ----------
    instance
        The instance that the loads belong to.
    loads
        Loads in the instance's own unit.
    """
    # a load has at most ten digits and a float keeps fifteen, so its shortest form is the intended decimal
    return list(loads) if instance.demand_scale == 1 else [float(instance.shown_demand(load)) for load in loads]
