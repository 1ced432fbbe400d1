"""Vehicles, limits and a speed given as options. They override those of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from dynaroute.base.display import show_list
from dynaroute.base.errors import OptionError, Where, placed
from dynaroute.base.vocabulary import ReadingRule
from dynaroute.problem.checks.fields import find_largest_capacities
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT


@dataclass(frozen=True)
class VehicleList:
    """Vehicle types from a separate file.

    Attributes
    ----------
    types
        The types; capacities are integers in the smallest unit.
    scale
        How many smallest units make one unit of the file: 10 if capacities have one decimal.
    unit
        Unit of the capacities in the file, such as kg; "" if it names none.
    headings
        The file's headings or keys, among which a column to plan without may be.
    is_per_km
        Whether the price of a distance is for a km, where the instance's distances are metres.
    names_depots
        Whether the file says at which depot each type starts.
    dimensions
        Names of the dimensions of capacities; None if there is only one, or they are those of the instance.
    """

    types: tuple[VehicleType, ...]
    scale: int = 1
    unit: str = ""
    headings: tuple[str, ...] = field(default=(), compare=False)
    is_per_km: bool = False
    names_depots: bool = field(default=True, compare=False)
    dimensions: tuple[str, ...] | None = None

    @property
    def largest_capacity(self) -> Decimal:
        """The largest capacity in the first dimension, in the file's unit."""
        return self.largest_capacities[0]

    @property
    def largest_capacities(self) -> tuple[Decimal, ...]:
        """The largest capacity in each dimension, in the file's unit."""
        return tuple(Decimal(amount) / self.scale for amount in find_largest_capacities(self.types))

    @property
    def capacities_by_dimension(self) -> dict[str, Decimal]:
        """The largest capacity by dimension; empty if there is only one dimension."""
        return dict(zip(self.dimensions or (), self.largest_capacities, strict=False))


@dataclass(frozen=True)
class FleetOptions:
    """Options about the vehicles. None leaves what the file says.

    Parameters
    ----------
    vehicles
        The number of vehicles, or vehicle types that replace those of the file.
    max_duration
        Longest route in seconds, from departure to end.
    max_distance
        Longest route in the instance's unit of distance.
    speed
        Distance units per second.
    rounding
        How lengths are rounded. "dimacs" truncates to one decimal, as usual for comparisons on Solomon's instances.
    """

    vehicles: int | VehicleList | None = None
    max_duration: float | None = None
    max_distance: float | None = None
    speed: float | None = None
    rounding: ReadingRule | None = None

    def apply(self, instance: Instance) -> Instance:
        """Return the instance with these vehicles, limits and speed.

        Raises
        ------
        OptionError
            If only a number of vehicles is given, but the file has several types.
        InstanceError
            If times are limited, but there are neither durations nor a speed.
        """
        with placed(_place_option):
            changed = self._change(instance)
        if changed.has_times:
            changed.require_times()
        return changed

    def _change(self, instance: Instance) -> Instance:
        if isinstance(self.vehicles, VehicleList):
            if any(kind.beginning for kind in instance.fleet):
                message = "vehicles of the file have begun their routes, which others cannot go on with."
                raise OptionError.about("vehicles", message, "Leave the option out.")
            instance = use_vehicles(instance, self.vehicles)
        limits: dict[str, Any] = {"max_duration": self.max_duration, "max_distance": self.max_distance}
        if isinstance(self.vehicles, int):
            if len(instance.fleet) > 1:
                raise OptionError.about(
                    "vehicles",
                    f"the file has {len(instance.fleet)} vehicle types, each with its own number of vehicles.",
                    "Leave the option out, or give a file of vehicles.",
                )
            limits["count"] = self.vehicles
        given = {name: value for name, value in limits.items() if value is not None}
        if given:
            instance = replace(instance, vehicles=tuple(replace(kind, **given) for kind in instance.fleet))
        if self.speed is not None:
            instance = replace(instance, speed=self.speed)
        return instance if self.rounding is None else use_rounding(instance, self.rounding)


def use_vehicles(instance: Instance, vehicles: VehicleList) -> Instance:
    """Return the instance with these vehicle types; demands and capacities may differ in decimals."""
    scale = max(instance.demand_scale, vehicles.scale)  # both are powers of ten
    order = _match_dimensions(instance, vehicles)
    types = _start_at_depots(instance, vehicles)
    metres = 1000.0 if vehicles.is_per_km and instance.unit == "m" else 1.0
    demand_factor, factor = scale // instance.demand_scale, scale // vehicles.scale
    usual = instance.usual_vehicles
    if usual is not None:  # the same vehicles may be in other places
        places = {kind.name: place for place, kind in enumerate(vehicles.types) if kind.name}
        usual = np.array([places.get(instance.fleet[kind].name, -1) if kind >= 0 else -1 for kind in usual.tolist()])
    return replace(
        instance,
        usual_vehicles=usual,
        demands=instance.demands * demand_factor,
        pickups=None if instance.pickups is None else instance.pickups * demand_factor,
        demand_scale=scale,
        vehicles=tuple(
            replace(
                kind,
                distance_cost=kind.distance_cost / metres,
                capacity=tuple(kind.capacities[place] * factor for place in order),
                initial_load=tuple(kind.initial_loads[place] * factor for place in order),
            )
            for kind in types
        ),
    )


def _match_dimensions(instance: Instance, vehicles: VehicleList) -> Sequence[int]:
    """Find which dimension of the vehicles each one of the instance is."""
    if vehicles.dimensions is None:
        return range(len(vehicles.types[0].capacities))
    held = [name.casefold() for name in vehicles.dimensions]
    asked = [name.casefold() for name in instance.dimensions or ()]
    if sorted(held) != sorted(asked):
        loads = show_list(list(instance.dimensions)) if instance.dimensions else "no dimension by name"
        message = f"the vehicles have capacities for {show_list(list(vehicles.dimensions))}, but the demands {loads}."
        raise OptionError.about("vehicles", message, "Give both the same dimensions.")
    return [held.index(name) for name in asked]


def _start_at_depots(instance: Instance, vehicles: VehicleList) -> tuple[VehicleType, ...]:
    """Let types start at the depots that they name; as many as needed at every depot if the file names none."""
    own = instance.depot_name.casefold()
    names = {own or DEPOT: DEPOT, DEPOT: DEPOT, **{place.name.casefold(): place.name for place in instance.places}}
    starts = tuple(dict.fromkeys(kind.start for kind in instance.fleet))
    if vehicles.names_depots or len(starts) == 1:
        called = [(names.get(kind.start.casefold(), kind.start), kind) for kind in vehicles.types]
        for start, _ in called:
            if start not in names.values():
                known = ", ".join(dict.fromkeys(names))
                message = f"vehicles start at {start!r}, but there is no such depot among the stops."
                raise OptionError.about("vehicles", message, f"The depots are called {known}.")
        return tuple(
            kind if kind.start == start else replace(kind, start=start, end=start if kind.end != "open" else "open")
            for start, kind in called
        )
    if any(kind.count is not None for kind in vehicles.types):
        message = f"there are {len(starts)} depots, but the file of vehicles does not say which start where."
        raise OptionError.about("vehicles", message, "Add a column depot to it, with the ids of the depots.")
    return tuple(
        replace(kind, name=f"{kind.name} {start}".strip(), start=start, end=kind.end if kind.end == "open" else start)
        for kind in vehicles.types
        for start in starts
    )


def use_rounding(instance: Instance, rounding: ReadingRule) -> Instance:
    """Return the instance with lengths rounded by another rule.

    Parameters
    ----------
    instance
        An instance with coordinates, not with a matrix of distances.
    rounding
        The rule.
    """
    if instance.distances is not None:
        raise OptionError.about(
            "rounding", "the file has a matrix of distances, to which no rounding applies.", "Leave the option out."
        )
    if rounding != "dimacs":
        return replace(instance, rounding=rounding)
    exact = replace(instance, rounding="none")
    return replace(exact, distances=np.floor(10 * exact.distance_matrix) / 10)


def _place_option(where: Where) -> Where:
    """Translate a field of a vehicle type into the option that sets it."""
    return replace(where, field="vehicles") if where.field == "count" else where
