"""Places besides the first depot and the customers: further depots, homes, and where vehicles load again."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dynaroute.base.decimals import is_finite_number, show_number
from dynaroute.base.errors import InstanceError
from dynaroute.problem.working_day import read_amount, read_pair_of_times

DEPOT = "depot"  # what vehicles call the first depot


@dataclass(frozen=True)
class Place:
    """Where vehicles start, end or load again; it is no customer.

    Parameters
    ----------
    name
        By which vehicles name it.
    x, y
        Its position, as in the instance's coordinates; None if only distances are known.
    window
        Earliest departure from it and latest arrival at it, in seconds.
    loading
        Seconds that loading again takes there, added to those of the vehicle.
    """

    name: str
    x: float | None = None
    y: float | None = None
    window: tuple[float, float] | None = None
    loading: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name.strip() in ("", DEPOT, "open") or "\n" in self.name:
            message = f"the name {self.name!r} of a place cannot be used."
            raise InstanceError.about("places", message, "Give it a name other than depot and open.")
        object.__setattr__(self, "name", self.name.strip())
        for axis in ("x", "y"):
            position = getattr(self, axis)
            if position is None:
                continue
            if not is_finite_number(position):
                message = f"the {axis} of {self.name!r} is {show_number(position)}, not a finite number."
                raise InstanceError.about("places", message, "Give two finite numbers.")
            object.__setattr__(self, axis, float(position))
        if self.window is not None:
            object.__setattr__(self, "window", read_pair_of_times(self.window, "places"))
        object.__setattr__(self, "loading", read_amount(self.loading, "loading"))

    @property
    def bounds(self) -> tuple[float, float]:
        """Its window, or all time."""
        return (0.0, math.inf) if self.window is None else self.window


def read_places(values: Any) -> tuple[Place, ...]:
    """Read places with different names."""
    places = tuple(values) if isinstance(values, list | tuple) else (None,)
    if not all(isinstance(place, Place) for place in places):
        raise InstanceError.about("places", "the places are not a list of Place.", "Give a list of Place.")
    names = Counter(place.name for place in places)
    if names and (twice := names.most_common(1)[0])[1] > 1:
        raise InstanceError.about("places", f"two places are called {twice[0]!r}.", "Names must differ.")
    return places
