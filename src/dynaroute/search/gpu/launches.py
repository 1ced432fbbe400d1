"""The parameters of a launch, and the memory layout of a chain, as declared in kernel.cu."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = ["BREEDING_WARPS", "LARGEST_SMALL", "IslandLayout", "Launch", "Layout", "Size"]

Size = Literal["small", "large", "huge"]

LARGEST_SMALL = 127  # customers; node numbers, including depots, must fit in a byte
BREEDING_WARPS = 8  # per block; each makes one child after the other

_MOST_REMOVED = 64  # as in kernel.cu
_WINDOW = 25
_BESIDE = 20
_QUAD = 16  # bytes copied at once

_POINTERS = (
    "lengths demands capacities sizes slots_of near keys temperatures mean_legs start_visits start_routes tours found "
    "population tour_costs found_costs population_costs routes_out positions_out finished ticket scratch beside places "
    "total_demands island_states members member_lengths member_excess fitness differences children child_lengths "
    "child_excess champions champion_lengths"
)
_LONGS = "seed first_level level_rate"
_INTEGERS = (
    "instances nodes slots chains starts near_count levels words scratch_bytes first count slice_length generation "
    "islands children_count drawn_count fewest generation_size penalty_period patience"
)


class Launch(ctypes.Structure):
    """The structure of the same name in kernel.cu; pointers are plain addresses."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in _POINTERS.split()),
        *((name, ctypes.c_uint64) for name in _LONGS.split()),
        *((name, ctypes.c_int32) for name in _INTEGERS.split()),
    ]


@dataclass(frozen=True)
class Layout:
    """Memory layout of the chains of instances that are searched together.

    Attributes
    ----------
    nodes
        Nodes of the largest instance, including the depot.
    slots
        Most routes of an instance.
    """

    nodes: int
    slots: int

    @property
    def is_small(self) -> bool:
        """Whether node numbers fit in a byte, so that every position is tried."""
        return self.nodes - 1 <= LARGEST_SMALL

    @property
    def words(self) -> int:
        """32-bit words of a chain's tour."""
        every = self.nodes + self.slots
        return _round_up(4 * (every + self.slots + 1) + 3 * every * self._index_bytes) // 4

    @property
    def scratch_bytes(self) -> int:
        """Working memory of a warp: two tours, and lists."""
        lists = 8 * _MOST_REMOVED + 4 * (self.nodes + self.slots) + 4 * (self.slots + 1) + 4 * 2
        marks = self._index_bytes * (2 * _MOST_REMOVED + _WINDOW) + self.slots + 1
        return _round_up(8 * self.words + lists + marks)

    @property
    def _index_bytes(self) -> int:
        return 1 if self.is_small else 2

    def choose_size(self, shared_bytes: int) -> Size:
        """Choose the kernels for this much shared memory per block."""
        if self.is_small:
            return "small"
        return "large" if self.scratch_bytes <= shared_bytes else "huge"


@dataclass(frozen=True)
class IslandLayout:
    """Memory for making children.

    Attributes
    ----------
    layout
        Layout of the instances.
    room
        Members of half a population.
    """

    layout: Layout
    room: int

    @property
    def warp_bytes(self) -> int:
        """Memory of a warp that makes a child."""
        nodes, slots = self.layout.nodes, self.layout.slots
        every = nodes + slots
        return _round_up(4 * (every + 3 * nodes + slots) + 2 * (nodes + 2 * slots) + 4 * every + 3 * nodes + slots)

    @property
    def common_bytes(self) -> int:
        """Memory shared by the warps of a block: the instance, and the number of the next child."""
        nodes = self.layout.nodes
        return _round_up(4 + 4 * nodes + 2 * nodes * nodes + nodes * _BESIDE)

    @property
    def block_bytes(self) -> int:
        """Memory of a block."""
        return self.common_bytes + BREEDING_WARPS * self.warp_bytes

    @property
    def registry_bytes(self) -> int:
        """Memory of a warp that selects survivors."""
        return _round_up(17 * self.room)

    @property
    def emulated_bytes(self) -> int:
        """Memory of one warp for all of it."""
        return max(self.common_bytes + self.warp_bytes, self.registry_bytes)


def _round_up(count: int) -> int:
    return -(-count // _QUAD) * _QUAD
