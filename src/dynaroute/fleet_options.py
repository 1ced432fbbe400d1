"""A fleet, limits and a speed that are given beside a file: they go before what it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from dynaroute.errors import OptionError, Where, placed
from dynaroute.fleet import VehicleType
from dynaroute.instance import Instance
from dynaroute.vocabulary import ReadingRule

__all__ = ["FleetOptions", "VehicleList", "use_rounding", "use_vehicles"]


@dataclass(frozen=True)
class VehicleList:
    """Types of vehicles as a file of their own states them.

    Attributes
    ----------
    types
        Their capacities are whole numbers of the smallest unit.
    scale
        How many of these units make one unit of the file: 10 where capacities had one decimal.
    unit
        What the file says capacities are in, such as kg; "" where it does not.
    """

    types: tuple[VehicleType, ...]
    scale: int = 1
    unit: str = ""

    @property
    def largest_capacity(self) -> Decimal:
        """What the largest of them holds, in the unit of the file."""
        return Decimal(max(kind.capacity for kind in self.types)) / self.scale


@dataclass(frozen=True)
class FleetOptions:
    """What is said of the vehicles beside a file. What is None stays as the file has it.

    Parameters
    ----------
    vehicles
        How many there are; or their types, instead of those of the file.
    max_duration
        Seconds from departure to the end of a route.
    max_distance
        Length of a route, in the instance's unit.
    speed
        Distance units a second.
    rounding
        How lengths are rounded; "dimacs" cuts them to one decimal, which Solomon's instances are compared by.
    """

    vehicles: int | VehicleList | None = None
    max_duration: float | None = None
    max_distance: float | None = None
    speed: float | None = None
    rounding: ReadingRule | None = None

    def apply(self, instance: Instance) -> Instance:
        """The problem with these vehicles, limits and speed.

        Parameters
        ----------
        instance
            As its file has it.

        Raises
        ------
        OptionError
            If the file has several types, and a number alone is given.
        InstanceError
            If there are times to keep, but neither durations nor a speed.
        """
        with placed(_place_option):
            changed = self._change(instance)
        if changed.has_times:
            changed.require_times()
        return changed

    def _change(self, instance: Instance) -> Instance:
        if isinstance(self.vehicles, VehicleList):
            instance = use_vehicles(instance, self.vehicles)
        limits: dict[str, Any] = {"max_duration": self.max_duration, "max_distance": self.max_distance}
        if isinstance(self.vehicles, int):
            if len(instance.fleet) > 1:
                raise OptionError(
                    f"the file has {len(instance.fleet)} types of vehicles, with numbers of their own.",
                    where=Where(field="vehicles"),
                    remedy="Leave the option out, or give a file of vehicles.",
                )
            limits["count"] = self.vehicles
        given = {name: value for name, value in limits.items() if value is not None}
        if given:
            instance = replace(instance, vehicles=tuple(replace(kind, **given) for kind in instance.fleet))
        if self.speed is not None:
            instance = replace(instance, speed=self.speed)
        return instance if self.rounding is None else use_rounding(instance, self.rounding)


def use_vehicles(instance: Instance, vehicles: VehicleList) -> Instance:
    """The problem with these types of vehicles, whatever the decimals of demands and capacities.

    Parameters
    ----------
    instance
        The problem.
    vehicles
        The types it shall have.
    """
    scale = max(instance.demand_scale, vehicles.scale)  # both are powers of ten
    demand_factor, factor = scale // instance.demand_scale, scale // vehicles.scale
    return replace(
        instance,
        demands=instance.demands * demand_factor,
        demand_scale=scale,
        vehicles=tuple(replace(kind, capacity=kind.capacity * factor) for kind in vehicles.types),
    )


def use_rounding(instance: Instance, rounding: ReadingRule) -> Instance:
    """The problem with lengths that are rounded by another rule.

    Parameters
    ----------
    instance
        The problem; its lengths are those of straight lines or great circles.
    rounding
        The rule.
    """
    if instance.distances is not None:
        raise OptionError(
            "the file has a matrix of distances, which holds them as they are.",
            where=Where(field="rounding"),
            remedy="Leave the option out.",
        )
    if rounding != "dimacs":
        return replace(instance, rounding=rounding)
    exact = replace(instance, rounding="none")
    return replace(exact, distances=np.floor(10 * exact.distance_matrix) / 10)


def _place_option(where: Where) -> Where:
    """Fields of a vehicle type as the options that set them."""
    return replace(where, field="vehicles") if where.field == "count" else where
