"""What a launch of the kernels is told, and how a chain lies in memory: the twin of what kernel.cu declares."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = ["LARGEST_SMALL", "Launch", "Layout", "Size"]

Size = Literal["small", "large", "huge"]

LARGEST_SMALL = 127  # customers whose nodes, with those of the depot, have numbers of a byte

_MOST_REMOVED = 64  # as in kernel.cu
_WINDOW = 25
_QUAD = 16  # bytes that are copied at once

_POINTERS = (
    "lengths demands capacities sizes slots_of near keys temperatures mean_legs start_visits start_routes tours found "
    "population tour_costs found_costs population_costs routes_out positions_out finished ticket scratch"
)
_LONGS = "seed first_level level_rate"
_INTEGERS = (
    "instances nodes slots chains starts near_count levels words scratch_bytes first count slice_length generation"
)


class Launch(ctypes.Structure):
    """The structure of that name in kernel.cu, field by field; pointers as plain addresses."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in _POINTERS.split()),
        *((name, ctypes.c_uint64) for name in _LONGS.split()),
        *((name, ctypes.c_int32) for name in _INTEGERS.split()),
    ]


@dataclass(frozen=True)
class Layout:
    """How chains of instances that are searched together lie in memory.

    Attributes
    ----------
    nodes
        Of the largest instance, the depot included.
    slots
        Routes that one of them may have.
    """

    nodes: int
    slots: int

    @property
    def is_small(self) -> bool:
        """Whether a byte holds every node, and every position is looked at."""
        return self.nodes - 1 <= LARGEST_SMALL

    @property
    def words(self) -> int:
        """Of 32 bits, that the tour of a chain takes."""
        every = self.nodes + self.slots
        return _round_up(4 * (every + self.slots + 1) + 3 * every * self._index_bytes) // 4

    @property
    def scratch_bytes(self) -> int:
        """That a warp works in: two tours, and lists."""
        lists = 8 * _MOST_REMOVED + 4 * (self.nodes + self.slots) + 4 * (self.slots + 1) + 4 * 2
        marks = self._index_bytes * (2 * _MOST_REMOVED + _WINDOW) + self.slots + 1
        return _round_up(8 * self.words + lists + marks)

    @property
    def _index_bytes(self) -> int:
        return 1 if self.is_small else 2

    def choose_size(self, shared_bytes: int) -> Size:
        """Which kernels to use where a block has this much shared memory."""
        if self.is_small:
            return "small"
        return "large" if self.scratch_bytes <= shared_bytes else "huge"


def _round_up(count: int) -> int:
    return -(-count // _QUAD) * _QUAD
