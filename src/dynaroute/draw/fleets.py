"""Random instances with time windows, like Solomon's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import CustomerPositions
from dynaroute.draw import XSettings, draw_x_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

__all__ = ["SolomonSettings", "draw_solomon_set"]

_SIDE = 100.0  # of the square that holds the customers
_LARGEST_DEMAND = 50
_FEWEST_VEHICLES = 25  # as in Solomon's instances of 100 customers


@dataclass(frozen=True)
class SolomonSettings:
    """Settings for instances like Solomon's: travel times equal distances, and the day ends at the horizon.

    Parameters
    ----------
    size
        Number of customers.
    customers
        Uniform (R), clustered (C) or mixed (RC), in a square of side 100 with the depot in its centre.
    share
        Share of customers that have a window, 0 to 1.
    width
        Mean width of a window.
    horizon
        When the depot closes; it opens at 0.
    service
        Service time of each customer.
    capacity
        Capacity of a vehicle; demands are 1 to 50.

    Raises
    ------
    OptionError
        If a setting is invalid.
    """

    size: int
    customers: CustomerPositions = "uniform"
    share: float = 1.0
    width: float = 60.0
    horizon: float = 500.0
    service: float = 10.0
    capacity: int = 200

    def __post_init__(self) -> None:
        least = math.sqrt(2) * _SIDE + self.service  # to the farthest corner and back
        bounds = {
            "share": (0 <= self.share <= 1, "from 0 to 1"),
            "width": (0 < self.width < math.inf, "above 0"),
            "service": (0 <= self.service < math.inf, "0 or more"),
            "horizon": (least < self.horizon < math.inf, f"above {math.ceil(least)}, the time to a corner and back"),
            "capacity": (self.capacity >= _LARGEST_DEMAND, f"{_LARGEST_DEMAND} or more"),
        }
        for field, (is_right, words) in bounds.items():
            if not is_right:
                message = f"the {field} is {getattr(self, field)}."
                raise OptionError.about(field, message, f"Give a number {words}.")


def draw_solomon_set(settings: SolomonSettings, count: int, generator: np.random.Generator) -> list[Instance]:
    """Draw instances with time windows. A vehicle that serves one customer alone is always in time.

    Parameters
    ----------
    settings
        What the instances look like.
    count
        Number of instances.
    generator
        Source of randomness; the same state gives the same instances.
    """
    # its grid has side 1000, which gives one decimal here
    drawn = draw_x_set(
        XSettings(settings.size, settings.customers, demands="unitary", route_length=1), count, generator
    )
    return [
        _draw_one(settings, np.vstack([drawn.depot[row], drawn.locations[row]]) * (_SIDE / 1000), generator)
        for row in range(count)
    ]


def _draw_one(settings: SolomonSettings, places: np.ndarray, generator: np.random.Generator) -> Instance:
    away = np.ceil(np.hypot(*(places[1:] - places[0]).T))
    latest_start = np.floor(settings.horizon - away - settings.service)
    centre = generator.uniform(away, latest_start)
    half = generator.uniform(0.5, 1.5, settings.size) * settings.width / 2
    has_window = generator.random(settings.size) < settings.share
    earliest = np.where(has_window, np.maximum(0, np.floor(centre - half)), 0)
    latest = np.where(has_window, np.minimum(latest_start, np.ceil(centre + half)), latest_start)
    return Instance(
        coordinates=places,
        demands=np.r_[0, generator.integers(1, _LARGEST_DEMAND, settings.size, endpoint=True)],
        capacity=settings.capacity,
        vehicles=(VehicleType(settings.capacity, count=max(_FEWEST_VEHICLES, -(-settings.size // 4))),),
        windows=np.vstack([[0, settings.horizon], np.column_stack([earliest, latest])]),
        service=np.r_[0, np.full(settings.size, settings.service)],
        speed=1.0,
    )
