"""Vehicles that differ, as tensors: each kind of vehicle sees an instance of its own, with its depot as node 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynaroute.base.errors import UnsupportedError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT
from dynaroute.problem.solution import Solution

UNLIMITED = 1 << 20  # vehicles, where there are as many as needed

_NOT_SHOWN: dict[str, Any] = dict.fromkeys(
    ("skills", "vehicles_allowed", "vehicles_forbidden", "usual_vehicles", "details", "customer_names")
)
_USUAL: dict[str, Any] = {"fixed_cost": 0.0, "distance_cost": 1.0, "speed_factor": 1.0, "service_factor": 1.0}


@dataclass(frozen=True)
class KindView:
    """An instance as one kind of vehicle sees it.

    Attributes
    ----------
    instance
        The instance with the depot of this kind, and one type with its limits; its capacity is that of the largest.
    kind
        The kind itself.
    """

    instance: Instance
    kind: VehicleType


@dataclass(frozen=True, eq=False)
class Fleet:
    """What K kinds of vehicles of B instances cost, and how many there are of each, grouped by instance.

    Attributes
    ----------
    per_instance
        K. Instances with fewer kinds have some without vehicles.
    counts
        (B K,) int64 vehicles; `UNLIMITED` if there are as many as needed.
    fixed, per_length
        (B K,) float64 price of a vehicle, and of a unit of length.
    """

    per_instance: int
    counts: Tensor
    fixed: Tensor
    per_length: Tensor

    @classmethod
    def gather(cls, views: Sequence[Sequence[KindView]]) -> Fleet:
        """Gather the kinds of each instance."""
        most = max(map(len, views))
        counts, fixed, per_length = np.zeros((3, len(views), most))
        for row, kinds in enumerate(views):
            for place, view in enumerate(kinds):
                counts[row, place] = UNLIMITED if view.kind.count is None else min(view.kind.count, UNLIMITED)
                fixed[row, place], per_length[row, place] = view.kind.fixed_cost, view.kind.distance_cost
        flat = (torch.from_numpy(table.ravel()) for table in (counts, fixed, per_length))
        return cls(most, next(flat).long(), *flat)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Fleet:
        """Apply a function to every tensor."""
        return Fleet(self.per_instance, change(self.counts), change(self.fixed), change(self.per_length))

    def rows_of(self, rows: Tensor) -> Tensor:
        """(R K,) the rows of the kinds of R instances."""
        place = torch.arange(self.per_instance, device=rows.device)
        return (rows[:, None] * self.per_instance + place).flatten()


def has_kinds(instance: Instance) -> bool:
    """Whether an instance has several types of vehicles, or one whose number, depot, speed or price is its own."""
    if instance.vehicles is None:
        return bool(instance.places)
    first = instance.fleet[0]
    usual = replace(first, count=None, start=DEPOT, end="open" if first.end == "open" else DEPOT, **_USUAL)
    return len(instance.fleet) > 1 or bool(instance.places) or first != usual


def split_by_kind(instance: Instance) -> list[KindView]:
    """Show an instance as each kind of vehicle sees it, the largest first; types that are alike are one kind.

    Raises
    ------
    UnsupportedError
        If vehicles differ in what this cannot show.
    """
    return [KindView(_show_to(instance, kind), kind) for kind, _ in list_kinds(instance)]


def list_kinds(instance: Instance) -> list[tuple[VehicleType, tuple[int, ...]]]:
    """List the kinds of vehicles, the largest first, each with the indices of its types."""
    alike = [(each.merged, each.members) for each in instance.alike_types]
    return sorted(alike, key=lambda pair: -pair[0].capacities[0])


def name_types(instance: Instance, kinds: Sequence[int]) -> tuple[int, ...]:
    """Find the type of vehicle of each route, given its kind in the order of `list_kinds`."""
    left = [
        iter([member for member in members for _ in range(min(instance.fleet[member].count or len(kinds), len(kinds)))])
        for _, members in list_kinds(instance)
    ]
    return tuple(next(left[kind]) for kind in kinds)


def find_kinds(instance: Instance, types: Sequence[int]) -> tuple[int, ...]:
    """Find the kind of each route, given its type of vehicle."""
    kind_of = {member: kind for kind, (_, members) in enumerate(list_kinds(instance)) for member in members}
    return tuple(kind_of[each] for each in types)


def state_kinds(instance: Instance, solution: Solution) -> Solution:
    """State who drives each route by kinds, as batches number them."""
    if not has_kinds(instance):
        return solution
    return Solution(solution.routes, vehicles=find_kinds(instance, solution.vehicle_types(instance)))


def state_types(instance: Instance, solution: Solution) -> Solution:
    """State who drives each route by the instance's types, where it is stated by kinds."""
    if solution.vehicles is None:
        return solution
    return replace(solution, vehicles=name_types(instance, solution.vehicles))


def _show_to(instance: Instance, kind: VehicleType) -> Instance:
    """Move the depot to where a kind starts, and leave the limits of that kind."""
    is_open = kind.end == "open"
    depot = instance.node_of(kind.start)
    for what, is_there in (
        ("vehicles that end elsewhere than they start", not is_open and kind.end != kind.start),
        ("customers that only some vehicles may serve", instance.allowed is not None),
        ("a price for another vehicle than before", instance.prices_changes),
        ("routes whose beginning is fixed", bool(kind.beginning)),
        ("loads of several dimensions", instance.demands.ndim > 1),
    ):
        if is_there:
            raise UnsupportedError(f"kinds of vehicles cannot show {what}.", remedy="Search it on the cores.")
    nodes = np.array([depot, *range(1, instance.size + 1)])
    square = np.ix_(nodes, nodes)
    durations = None if instance.durations is None else instance.durations[square] / kind.speed_factor
    windows = instance.windows
    if depot > 0 and (windows is not None or instance.places[depot - instance.size - 1].window is not None):
        windows = np.tile([0.0, np.inf], (instance.size + 1, 1)) if windows is None else np.array(windows)
        windows[0] = instance.places[depot - instance.size - 1].bounds
    usual = replace(
        kind, name="", count=None, capacity=instance.capacity, start=DEPOT, end="open" if is_open else DEPOT, **_USUAL
    )
    return replace(
        instance,
        coordinates=None if instance.coordinates is None else instance.coordinates[nodes],
        distances=None if instance.distances is None else instance.distances[square],
        durations=durations,
        speed=None if instance.speed is None else instance.speed * kind.speed_factor,
        service=None if instance.service is None else instance.service * kind.service_factor,
        windows=windows,
        vehicles=(usual,),
        places=(),
        demand_scale=1,  # amounts are whole already, and must stay as they are
        **_NOT_SHOWN,
    )
