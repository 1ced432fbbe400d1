"""How much memory there is for this process, and whether it is enough."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dynaroute.errors import UnsupportedError

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

__all__ = [
    "LARGEST_MATRIX",
    "Need",
    "find_free_memory",
    "memory_for_all_legs",
    "memory_for_fleets",
    "memory_for_savings",
    "memory_for_search",
    "require_memory",
]

_ALWAYS_THERE = 500_000_000  # bytes; below, nobody asks how much is free
LARGEST_MATRIX = 2000  # customers up to which a search measures all legs beforehand: beyond, it would be no faster
_BYTES_A_CUSTOMER = 2500  # of a search without a matrix; measured: 1,312 on one core, at most 2,446 on several
_GROUPS = (  # what a container may use, and what it uses: the second and the first version of control groups
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)


@dataclass(frozen=True)
class Need:
    """How much memory some work takes.

    Attributes
    ----------
    bytes
        Of this work on so many customers.
    customers
        Of the problem.
    power
        Of the customers with which it grows.
    purpose
        What it is for.
    """

    bytes: int
    customers: int
    power: int = 2
    purpose: str = "for the legs between all of them"


def require_memory(need: Need) -> None:
    """Refuse a problem for which there is not enough memory, before any of it is taken.

    Parameters
    ----------
    need
        Of the work that is to be done.

    Raises
    ------
    UnsupportedError
        It says what is needed, what is free, and how many customers would be possible.
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
    """What measuring all legs between so many customers at once takes; measured with both metrics."""
    return Need(60 * size**2, size)


def memory_for_savings(size: int) -> Need:
    """What the pairs of so many customers take while they are sorted by what they save; measured."""
    return Need(20 * size**2, size)


def memory_for_search(size: int, is_measured: bool = False) -> Need:
    """What a search of so many customers takes; measured.

    That is a matrix of all legs, and a little beside it, up to a number of customers and where the legs were measured
    beforehand; and what each customer takes beyond.
    """
    if is_measured or size <= LARGEST_MATRIX:
        return Need(9 * size**2, size)
    return Need(_BYTES_A_CUSTOMER * size, size, 1, "for their neighbours and routes")


def memory_for_fleets(size: int) -> int:
    """Bytes that a search with time windows or limits takes: distances, durations, and who may follow whom."""
    return 20 * size**2


def find_free_memory() -> int | None:
    """Bytes that this process could still take, by the machine, its container and its own limit; None if unknown."""
    known = [free for free in (_free_of_machine(), _free_of_container(), _free_of_process()) if free is not None]
    return max(0, min(known)) if known else None


def _free_of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError, AttributeError):  # other systems tell at most how much there is in all
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_of_container() -> int | None:
    for limit, usage, statistics in _GROUPS:
        with suppress(OSError, ValueError):  # ValueError: the limit is the word max
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
