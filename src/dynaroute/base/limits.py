"""How large inputs may be: limits that one option raises, and the memory that this process may use.

A small file can describe something enormous, so its size in memory is estimated before it is built.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from dynaroute.base.errors import FormatError, InstanceError, OptionError, UnsupportedError

try:
    import resource
except ImportError:  # not available on Windows
    resource = None  # type: ignore[assignment]

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

_ALWAYS_THERE = 500_000_000  # bytes; smaller needs are not checked
LARGEST_MATRIX = 2000  # customers; up to this size a search precomputes all legs, beyond it would not be faster
_BYTES_PER_CUSTOMER = 2500  # for a search without a matrix; measured: 1,312 on one core, at most 2,446 on several
_GROUPS = (  # a container's limit and usage, in control groups version 2 and 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)

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


@dataclass(frozen=True)
class Need:
    """How much memory a piece of work takes.

    Attributes
    ----------
    bytes
        Memory for this many customers.
    customers
        Number of customers.
    power
        Memory grows with this power of the number of customers.
    purpose
        What the memory is for.
    """

    bytes: int
    customers: int
    power: int = 2
    purpose: str = "for the legs between them"


def require_memory(need: Need) -> None:
    """Raise if there is not enough memory, before any is allocated.

    Raises
    ------
    UnsupportedError
        It says how much is needed, how much is free, and how many customers would fit.
    """
    if need.bytes <= _ALWAYS_THERE:
        return
    free = find_free_memory()
    if free is None or need.bytes <= free:
        return
    possible = int(need.customers * (free / need.bytes) ** (1 / need.power))
    raise UnsupportedError(
        f"{need.customers:,} customers need about {need.bytes / 1e9:,.0f} GB of memory {need.purpose}, and "
        f"{free / 1e9:,.1f} GB are free.",
        remedy=f"About {possible:,} customers are possible here: split the problem, or use a machine with more memory.",
    )


def memory_for_all_legs(size: int) -> Need:
    """Memory to measure all legs between this many customers at once; measured with both metrics."""
    return Need(60 * size**2, size)


def memory_for_savings(size: int) -> Need:
    """Memory to sort all pairs of this many customers by their savings; measured."""
    return Need(20 * size**2, size)


def memory_for_search(size: int, is_measured: bool = False) -> Need:
    """Memory for a search with this many customers; measured.

    Small instances, and those with a given matrix, need a matrix of all legs. Larger ones need a fixed amount per
    customer.
    """
    if is_measured or size <= LARGEST_MATRIX:
        return Need(9 * size**2, size)
    return Need(_BYTES_PER_CUSTOMER * size, size, 1, "for their neighbours and routes")


def memory_for_limits(size: int, matrices: int = 2) -> Need:
    """Memory for a search with time windows or limits: matrices of distances and durations, and feasible successors."""
    return Need((8 * matrices + 4) * size**2, size)


def find_free_memory() -> int | None:
    """Find how many bytes this process can still use: machine, container and process limits; None if unknown."""
    known = [free for free in (_free_of_machine(), _free_of_container(), _free_of_process()) if free is not None]
    return max(0, min(known)) if known else None


def _free_of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError, AttributeError):  # other systems report at most the total
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_of_container() -> int | None:
    for limit, usage, statistics in _GROUPS:
        with suppress(OSError, ValueError):  # ValueError: the limit reads "max"
            used = int(Path(usage).read_text(encoding="ascii"))
            cached = (line.split() for line in Path(statistics).read_text(encoding="ascii").splitlines())
            given_back = sum(int(value) for name, value in cached if name == "inactive_file")
            return int(Path(limit).read_text(encoding="ascii")) - used + given_back
    return None


def _free_of_process() -> int | None:
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return limit
