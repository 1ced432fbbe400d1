"""The chains of instances of similar size, advanced by one launch after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.batch import RouteBatch
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.islands import Islands, estimate_island_bytes
from dynaroute.search.gpu.kernel_problem import NEAR, KernelProblem
from dynaroute.search.gpu.launches import BREEDING_WARPS, Launch, Layout
from dynaroute.search.gpu.schedule import LEVELS, Generation, GeneticSettings, SearchPlan

_SLICES = 8  # least number per launch, if they are not too short, so that early warps take over work
_SHORTEST_SLICE = 32
_FRACTION = 32  # bits


class ChainGroup:
    """The chains of a problem, in the device's memory.

    Parameters
    ----------
    device
        The device that searches.
    problem
        The instances, on that device.
    chains
        Chains per instance.
    seed
        Seed of the random numbers.
    """

    def __init__(self, device: KernelDevice, problem: KernelProblem, chains: int, seed: int) -> None:
        self.problem = problem
        self.chains = chains
        self.done = 0  # iterations per chain
        self.islands: Islands | None = None
        device = device.with_rules(problem.layout.switches)
        self._device = device
        self._size = problem.layout.choose_size(device.shared_bytes)
        self._index = "small" if problem.layout.is_small else "large"
        self._jobs = len(problem) * chains
        self._tensors = self._allocate()
        self._launch = self._describe(seed)
        self._start("begin", self._index, self._jobs)
        costs = self._tensors["tour_costs"].view(-1, chains)[:, 0]  # (I,)
        legs = (problem.sizes + problem.route_counts).double()
        # slightly above 0, so that something is accepted even if all places are equal
        self._tensors["mean_legs"].copy_((costs.double() / legs).clamp(min=1e-3))

    def run(self, count: int, generation: Generation, first_share: float, last_share: float) -> None:
        """Run some iterations of every chain, from one share of the generation's time to another."""
        rate = int((last_share - first_share) * LEVELS * 2**_FRACTION / count)
        self._run(count, int(first_share * LEVELS * 2**_FRACTION), rate)

    def run_counted(self, count: int, done: int, every: int) -> None:
        """Run some iterations of a generation of `every`, after `done`. Several calls give the same as one."""
        rate = (LEVELS << _FRACTION) // every
        self._run(count, done * rate, rate)

    def set_temperatures(self, generation: Generation) -> None:
        """Set the temperatures of a generation."""
        self._tensors["temperatures"].copy_(torch.from_numpy(generation.list_temperatures()))

    def recombine(self, generation: int) -> None:
        """End a generation, and start the next one with a child in every chain."""
        self._start("commit", None, self._jobs)
        self._launch.generation = generation
        self._start("recombine", self._size, self._jobs)

    def settle(self, plan: SearchPlan, settings: GeneticSettings) -> None:
        """End the chains, and start islands with what they found."""
        self._start("commit", None, self._jobs)
        self.islands = Islands(self._device, self.problem, self._launch, plan, settings)

    def best_costs(self) -> Tensor:
        """(I,) costs of the best routes so far, in the instances' own units, approximately."""
        best = torch.minimum(self._tensors["found_costs"], self._tensors["population_costs"])
        best = best.view(-1, self.chains).amin(1)
        if self.islands is not None:
            best = torch.minimum(best, self.islands.best_lengths())
        return best / self.problem.scale

    def best_routes(self) -> RouteBatch:
        """The best routes so far."""
        self._start("commit", None, self._jobs)
        self._start("export", self._index, len(self.problem))
        if self.islands is not None:
            self.islands.export()
        slot, position = self._tensors["routes_out"].clone(), self._tensors["positions_out"].clone()
        if self.problem.layout.slots == 0 or not self.problem.slot_kinds.numel():
            return RouteBatch(slot, position)
        used = torch.zeros_like(self.problem.slot_kinds).scatter_reduce(
            1, slot.clamp(min=0).long(), (slot >= 0).int(), "amax"
        )  # (I, slots)
        number, kind = (
            torch.where(slot >= 0, table.gather(1, slot.clamp(min=0).long()), -1).int()
            for table in (used.cumsum(1) - 1, self.problem.slot_kinds)
        )
        return RouteBatch(number, position, kind)

    def wait(self) -> None:
        """Wait until all launches are done."""
        self._device.wait()

    def _run(self, count: int, first_level: int, level_rate: int) -> None:
        launch = self._launch
        launch.first, launch.count = self.done, count
        launch.slice_length = min(count, max(_SHORTEST_SLICE, -(-count // _SLICES)))
        launch.first_level, launch.level_rate = first_level, level_rate
        self._tensors["finished"].zero_()
        self._tensors["ticket"].zero_()
        self._start("search", self._size, self._jobs)
        self.done += count

    def _start(self, kernel: str, size: str | None, work: int) -> None:
        name = kernel if size is None else f"{kernel}_{size}"
        self._device.launch(name, self._size, self._launch, work)

    def _allocate(self) -> dict[str, Tensor]:
        layout, place, count = self.problem.layout, self._device.place, len(self.problem)
        shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
            "temperatures": ((LEVELS,), torch.float32),
            "mean_legs": ((count,), torch.float32),
            "tours": ((self._jobs, layout.words), torch.int32),
            "found": ((self._jobs, layout.words), torch.int32),
            "population": ((self._jobs, layout.words), torch.int32),
            "tour_costs": ((self._jobs,), torch.int64),
            "found_costs": ((self._jobs,), torch.int64),
            "population_costs": ((self._jobs,), torch.int64),
            "routes_out": ((count, layout.nodes), torch.int32),
            "positions_out": ((count, layout.nodes), torch.int32),
            "finished": ((self._jobs,), torch.int32),
            "ticket": ((1,), torch.int32),
            "scratch": ((self._count_scratch(), layout.scratch_bytes), torch.uint8),
        }
        return {name: torch.zeros(shape, dtype=dtype, device=place) for name, (shape, dtype) in shapes.items()}

    def _count_scratch(self) -> int:
        """Count warps that work in global memory: in the emulation, or if shared memory is too small."""
        is_used = self._size == "huge" or self._device.place.type == "cpu"
        return self._device.count_warps(self.problem.layout) if is_used else 0

    def _describe(self, seed: int) -> Launch:
        problem, layout = self.problem, self.problem.layout
        addresses = {name: tensor.data_ptr() for name, tensor in self._tensors.items()}
        if problem.rules is not None:
            addresses |= problem.rules.list_addresses()
        return Launch(
            lengths=problem.lengths.data_ptr(),
            demands=problem.demands.data_ptr(),
            capacities=problem.capacity.data_ptr(),
            sizes=problem.sizes.data_ptr(),
            slots_of=problem.slots.data_ptr(),
            near=problem.near.data_ptr(),
            slot_kinds=problem.slot_kinds.data_ptr(),
            kinds=problem.kinds,
            keys=problem.keys.data_ptr(),
            start_visits=problem.visits.data_ptr(),
            start_routes=problem.routes.data_ptr(),
            **addresses,
            seed=seed,
            instances=len(problem),
            nodes=layout.nodes,
            slots=layout.slots,
            chains=self.chains,
            starts=problem.starts,
            near_count=0 if layout.is_small else NEAR,
            levels=LEVELS,
            words=layout.words,
            scratch_bytes=layout.scratch_bytes,
        )


def estimate_bytes(layout: Layout, chains: int, settings: GeneticSettings, tables: int = 1) -> int:
    """Estimate the memory of one instance on the device, including chains, islands and tables of all legs."""
    matrix = 4 * tables * layout.nodes**2 + (0 if layout.is_small else 2 * NEAR * layout.nodes)
    islands = chains // BREEDING_WARPS if layout.is_small else 0
    tours = chains * 3 * 4 * layout.words + max(1, islands) * estimate_island_bytes(layout.nodes, settings)
    return matrix + tours + 64 * layout.nodes
