"""Limits on the size of inputs, and one option that raises them all.

A small file can describe something enormous, so its size in memory is estimated before it is built.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from dynaroute.base.errors import FormatError, InstanceError, OptionError

LARGEST_FILE = 1_000_000_000  # bytes of a file
LARGEST_SETTINGS = 1_000_000  # bytes of a settings file: a plan, a model's config.json
LARGEST_CONTENT = 2_000_000_000  # bytes of memory while a file is read
MOST_INSTANCES = 200_000  # in one file
MOST_VEHICLE_TYPES = 1_000  # of an instance; alike vehicles can be one type
LONGEST_VEHICLE_NAME = 1_000  # characters; an answer repeats the name for every route

LIMITS_VARIABLE = "DYNAROUTE_LIMITS"
REMEDY = (
    "Split it; or, if it is correct and fits in memory, raise the limits: dynaroute --limits 10, or "
    f"{LIMITS_VARIABLE}=10."
)

_BYTES_OF_INSTANCE, _BYTES_OF_CUSTOMER = 1000, 100  # measured, including the arrays they are made from

_factor: ContextVar[float | None] = ContextVar("factor", default=None)


@contextmanager
def raise_limits(factor: float | None) -> Iterator[None]:
    """Multiply every limit inside this block.

    Parameters
    ----------
    factor
        1 or more. None: the environment variable DYNAROUTE_LIMITS, or 1.
    """
    token = _factor.set(None if factor is None else _read_factor(factor, "limits"))
    try:
        yield
    finally:
        _factor.reset(token)


def find_factor() -> float:
    """Return the factor in force here: that of `raise_limits`, or of the environment variable, or 1."""
    factor = _factor.get()
    return _read_factor(os.environ.get(LIMITS_VARIABLE) or 1, LIMITS_VARIABLE) if factor is None else factor


def raised(limit: int) -> int:
    """Return a limit multiplied by the user's factor."""
    return int(limit * find_factor())


def refuse_large_content(memory: int, field: str | None = None) -> None:
    """Raise if the content would take too much memory."""
    if memory > raised(LARGEST_CONTENT):
        raise FormatError.about(
            field,
            f"this would take about {_show_bytes(memory)} of memory, more than the limit of "
            f"{_show_bytes(raised(LARGEST_CONTENT))}.",
            REMEDY,
        )


def refuse_large_set(instances: int, customers: int, field: str | None = None) -> None:
    """Raise if a set has too many instances, or too many customers in total."""
    if instances > raised(MOST_INSTANCES):
        raise FormatError.about(
            field, f"there are {instances:,} instances, more than the limit of {raised(MOST_INSTANCES):,}.", REMEDY
        )
    refuse_large_content(instances * _BYTES_OF_INSTANCE + customers * _BYTES_OF_CUSTOMER, field)


def refuse_large_fleet(names: Sequence[str]) -> None:
    """Raise if there are too many types of vehicles, given their names, or if a name is too long."""
    most, longest = raised(MOST_VEHICLE_TYPES), raised(LONGEST_VEHICLE_NAME)
    if len(names) > most:
        raise InstanceError.about(
            "vehicles",
            f"there are {len(names):,} vehicle types, more than the limit of {most:,}.",
            "Write vehicles that are alike as one type with a count, or raise the limits: dynaroute --limits 10, or "
            f"{LIMITS_VARIABLE}=10.",
        )
    for index, name in enumerate(names):
        if len(name) > longest:
            message = f"the name has {len(name):,} characters, more than the limit of {longest:,}."
            raise InstanceError.about(f"vehicles[{index}].name", message, "Shorten it.")


def _read_factor(value: float | str, field: str) -> float:
    try:
        factor = float(value)
    except ValueError:
        factor = math.nan
    if not 1 <= factor < 1e9:
        raise OptionError.about(field, f"the limits cannot be raised by {value!r}.", "Give a number of 1 or more.")
    return factor


def _show_bytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
