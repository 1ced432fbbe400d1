"""The parameters of a launch, which the kernels are compiled with, and the memory layout of a chain."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar, Literal

Size = Literal["small", "large", "huge"]

LARGEST_SMALL = 127  # customers; node numbers, including depots, must fit in a byte
BREEDING_WARPS = 8  # per block; each makes one child after the other

_MOST_REMOVED = 64  # as in kernel.cu
_WINDOW = 25
_BESIDE = 20
_QUAD = 16  # bytes copied at once

_FIELDS = (  # type in C, and names; u8 to u64 and i64 as in warp.cuh
    ("const int*", "lengths demands capacities sizes slots_of"),
    ("const u16*", "near"),
    ("const int*", "legs durations early late service pickups"),
    ("const int*", "longest_distances longest_durations open_routes pickups_last slot_kinds"),
    ("const u64*", "keys"),
    ("const float*", "temperatures mean_legs"),
    ("const int*", "start_visits start_routes"),
    ("u32*", "tours found population"),
    ("i64*", "tour_costs found_costs population_costs"),
    ("int*", "routes_out positions_out finished"),
    ("u32*", "ticket"),
    ("char*", "scratch"),
    ("const u8*", "beside"),
    ("const float*", "places"),
    ("const int*", "total_demands"),
    ("Island*", "island_states"),
    ("u8*", "members"),
    ("i64*", "member_lengths"),
    ("int*", "member_excess"),
    ("float*", "fitness"),
    ("u8*", "differences children"),
    ("i64*", "child_lengths"),
    ("int*", "child_excess"),
    ("u8*", "champions"),
    ("i64*", "champion_lengths"),
    ("u64", "seed first_level level_rate"),
    ("int", "instances nodes slots chains starts near_count levels words scratch_bytes first count slice_length"),
    ("int", "kinds generation islands children_count drawn_count fewest generation_size penalty_period patience"),
)
_C_TYPES = {"u64": ctypes.c_uint64, "int": ctypes.c_int32}  # all others are pointers

# in C, for launch.cuh
LAUNCH_FIELDS = " ".join(f"{kind} {name};" for kind, names in _FIELDS for name in names.split())


class Launch(ctypes.Structure):
    """The parameters of a launch; pointers are plain addresses.

    Attributes
    ----------
    lengths
        (instances, nodes, nodes) lengths of legs.
    demands
        (instances, nodes) demands.
    capacities, sizes, slots_of
        (instances) capacities, customers, and the most routes, at most `slots`.
    near
        (instances, nodes, near_count) customers, nearest first; only for search_large.
    legs, durations
        (instances, nodes, nodes) ticks of distance and of time; from here to `pickups_last` only with rules.
    early, late, service, pickups
        (instances, nodes) first and last start of service, its length, and what is brought back.
    longest_distances, longest_durations
        (instances) longest distance and duration of a route, in ticks.
    open_routes, pickups_last
        (instances) whether routes end at their last customers, and whether nothing is delivered after a pickup.
    slot_kinds
        (instances, slots) the kind of vehicle of each possible route. If vehicles differ, lengths, capacities and rules
        have a row for each of the kinds of each instance.
    kinds
        Kinds of vehicles per instance.
    keys
        (instances) keys of the random streams.
    temperatures, mean_legs
        (levels) temperatures in mean legs, and (instances) mean legs.
    start_visits, start_routes
        (instances * starts, nodes - 1) customers, route after route, and (instances * starts, nodes) the route of each.
    tours, found, population
        (chains, words) present tours, the best of this generation, and the best of earlier ones; each with its
        (chains) costs.
    routes_out, positions_out
        (instances, nodes) route of each customer and its position on the route, otherwise -1.
    finished, ticket
        (chains) finished slices, and (1) the next slice to take.
    scratch
        (warps, scratch_bytes) for search_large if shared memory is too small.
    beside
        (instances, nodes, BESIDE) nearest customers; from here on all pointers are for islands.
    places, total_demands
        (instances, nodes, 2) positions relative to the depot, and (instances) sums of demands.
    island_states
        (islands) over all instances.
    members
        (islands, 2, half_room, 3 nodes) records of solutions; lengths, excess and fitness are (islands, 2, half_room).
    differences
        (islands, 2, half_room, half_room) how much members differ.
    children
        (islands, children_count, 2, 3 nodes) children; lengths, -1 if there is none, and excess are (islands,
        children_count, 2).
    champions
        (islands, 3 nodes) the best feasible solutions, and their (islands) lengths, -1 if there is none.
    first_level, level_rate
        Level of temperature at first, and its change per iteration; 32 fractional bits.
    first, count, slice_length
        First iteration, number of iterations, iterations per slice.
    islands
        Islands per instance.
    children_count, drawn_count
        Children per generation, and random members of a new population.
    fewest, generation_size
        Members of a half that survive a selection, and members added before the next one.
    penalty_period, patience
        Children between updates of the penalty, and idle children before a new population.
    """

    _fields_: ClassVar = [
        (name, _C_TYPES.get(kind, ctypes.c_void_p)) for kind, names in _FIELDS for name in names.split()
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
    switches
        The rules that are compiled: bits of RULES in rules.cuh.
    """

    nodes: int
    slots: int
    switches: int = 0

    @property
    def is_small(self) -> bool:
        """Whether node numbers fit in a byte, so that every position is tried."""
        return self.nodes - 1 <= LARGEST_SMALL and self.slots <= LARGEST_SMALL

    @property
    def words(self) -> int:
        """32-bit words of a chain's tour."""
        every = self.nodes + self.slots
        numbers = every + self.slots + 1 + self._rule_words
        return _round_up(4 * numbers + 3 * every * self._index_bytes) // 4

    @property
    def _rule_words(self) -> int:
        """32-bit words of what rules know of a tour, as RULE_WORDS in rules.cuh."""
        times, durations, distances, pickups = (self.switches >> place & 1 for place in range(4))
        every = self.nodes + self.slots
        return (2 * times + 6 * durations + 2 * pickups) * every + distances * (self.slots + 1)

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
