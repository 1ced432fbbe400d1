"""Islands: populations of solutions for the genetic search."""

from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.kernel_problem import KernelProblem, list_near
from dynaroute.search.gpu.launches import BREEDING_WARPS, IslandLayout, Launch
from dynaroute.search.gpu.schedule import GeneticSettings, SearchPlan

_BESIDE = 20  # as in local_search.cuh
_ISLAND_WORDS = 9  # of 32 bits, as in genetic.cuh
_LARGEST_DEMAND = 2**30  # as there; instances with more are not changed


class Islands:
    """The islands of a problem, in the device's memory. They start with what the chains found.

    Parameters
    ----------
    device
        The device that searches.
    problem
        Small instances, on that device.
    chains
        A launch of the chains.
    plan
        Numbers of islands per instance, and of survivors per island.
    settings
        Settings of the populations.
    """

    def __init__(
        self, device: KernelDevice, problem: KernelProblem, chains: Launch, plan: SearchPlan, settings: GeneticSettings
    ) -> None:
        self.made = 0  # children per island
        self._device = device
        self._count = plan.islands
        self._every = len(problem) * plan.islands
        self._survivors = plan.survivors
        self._instances = len(problem)
        self._layout = IslandLayout(problem.layout, _count_members(plan.survivors))
        self._tensors = self._allocate(problem, settings)
        self._launch = self._describe(chains, settings)
        self._start("settle", self._every)

    def breed(self, generations: int) -> None:
        """Run this many generations."""
        shared = self._layout.block_bytes
        for _ in range(generations):
            self._device.launch_blocks("breed", self._launch, self._every, BREEDING_WARPS, shared)
            self._start("survive", self._every, self._layout.registry_bytes)
        self.made += generations * self._launch.children_count

    def breed_last(self, children: int) -> None:
        """Run a smaller generation, if there is only time for that."""
        usual, self._launch.children_count = self._launch.children_count, children
        self.breed(1)
        self._launch.children_count = usual

    def best_lengths(self) -> Tensor:
        """(I,) int64 scaled lengths of the best feasible solutions; very large if there is none."""
        lengths = self._tensors["champion_lengths"]
        return torch.where(lengths < 0, 2**62, lengths).view(-1, self._count).amin(1)

    def export(self) -> None:
        """Replace the chains' best routes where the islands' are better."""
        self._start("export_champions", self._instances)

    def _start(self, kernel: str, work: int, bytes_of_warp: int = 0) -> None:
        self._launch.scratch_bytes = bytes_of_warp or self._layout.warp_bytes
        warps = 4
        self._device.launch_blocks(kernel, self._launch, -(-work // warps), warps, warps * bytes_of_warp)
        self._launch.scratch_bytes = self._layout.warp_bytes

    def _allocate(self, problem: KernelProblem, settings: GeneticSettings) -> dict[str, Tensor]:
        nodes, room, every = problem.layout.nodes, self._layout.room, self._every
        children = settings.children
        shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
            "island_states": ((every, _ISLAND_WORDS), torch.int32),
            "members": ((every, 2, room, 3 * nodes), torch.uint8),
            "member_lengths": ((every, 2, room), torch.int64),
            "member_excess": ((every, 2, room), torch.int32),
            "fitness": ((every, 2, room), torch.float32),
            "differences": ((every, 2, room, room), torch.uint8),
            "children": ((every, children, 2, 3 * nodes), torch.uint8),
            "child_lengths": ((every, children, 2), torch.int64),
            "child_excess": ((every, children, 2), torch.int32),
            "champions": ((every, 3 * nodes), torch.uint8),
            "champion_lengths": ((every,), torch.int64),
            "scratch": ((self._layout.emulated_bytes if self._device.place.type == "cpu" else 0,), torch.uint8),
        }
        made = {
            name: torch.empty(shape, dtype=dtype, device=self._device.place) for name, (shape, dtype) in shapes.items()
        }
        made["beside"] = _list_beside(problem)
        made["places"] = _place_around_depot(problem.lengths)
        made["total_demands"] = problem.demands.long().sum(1).clamp(max=_LARGEST_DEMAND).int()
        return made

    def _describe(self, chains: Launch, settings: GeneticSettings) -> Launch:
        launch = Launch.from_buffer_copy(chains)
        for name, tensor in self._tensors.items():
            setattr(launch, name, tensor.data_ptr())
        launch.islands = self._count
        launch.children_count = settings.children
        launch.drawn_count = settings.drawn
        launch.fewest = self._survivors
        launch.generation_size = self._layout.room - 1 - self._survivors
        launch.penalty_period = settings.penalty_period
        launch.patience = settings.patience
        launch.scratch_bytes = self._layout.warp_bytes
        return launch


def _count_members(survivors: int) -> int:
    """Return the size of half a population before selection."""
    return survivors + survivors * 3 // 2 + 2


def estimate_island_bytes(nodes: int, settings: GeneticSettings) -> int:
    """Estimate the memory of one island on the device."""
    room = _count_members(settings.most)
    return 2 * room * (3 * nodes + room + 16) + 2 * settings.children * (3 * nodes + 12) + nodes * (_BESIDE + 16)


def _list_beside(problem: KernelProblem) -> Tensor:
    """List the nearest customers of each: (I, M, _BESIDE) uint8, padded with 0."""
    near = list_near(problem.lengths, problem.sizes, _BESIDE)
    beside = torch.zeros((*near.shape[:2], _BESIDE), dtype=torch.uint8, device=near.device)
    beside[:, :, : near.shape[2]] = near.to(torch.uint8)
    return beside


def _place_around_depot(lengths: Tensor) -> Tensor:
    """Place nodes around the depot, up to a reflection, from lengths only: (I, M, 2) float32.

    The first axis points to the node farthest from the depot. A node's distance from that axis follows from its lengths
    to both; its side, from its length to the node farthest off the axis. Every operation is exactly rounded, so all
    devices agree.
    """
    rows = torch.arange(len(lengths), device=lengths.device)
    outward = lengths[:, 0].double()  # (I, M)
    far = _first_largest(outward)
    reach = outward[rows, far].clamp(min=1.0)[:, None]
    along = (outward * outward + reach * reach - _square(lengths[rows, far])) / (2 * reach)
    aside = (outward * outward - along * along).clamp(min=0.0).sqrt()
    guide = _first_largest(aside)
    ahead = _square(along - along[rows, guide][:, None])
    side, away = aside[rows, guide][:, None], lengths[rows, guide].double()
    same, other = ((ahead + _square(aside - it)).sqrt() - away for it in (side, -side))
    return torch.stack([along, torch.where(other.abs() < same.abs(), -aside, aside)], dim=2).float().contiguous()


def _square(values: Tensor) -> Tensor:
    return values.double() * values.double()


def _first_largest(values: Tensor) -> Tensor:
    """Return (I,) the first index of the largest value of each row."""
    places = torch.arange(values.shape[1], device=values.device)
    return torch.where(values == values.amax(1, keepdim=True), places, values.shape[1]).amin(1)
