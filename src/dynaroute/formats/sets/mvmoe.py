"""What MVMoE's pickles hold beyond capacities: a limit, services and windows, and in the file's name the kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError, warn_of_input
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_NAME = re.compile(r"(?:^|[^a-z])(o?)c?vrp(b?)(l?)((?:tw)?)(?![a-z])")  # as in ovrpbltw50_uniform.pkl
_DAY = 3.0  # when the depot closes; the files do not state it


@dataclass(frozen=True)
class NamedKind:
    """What the name of a file says about its instances.

    Attributes
    ----------
    is_open
        Whether routes end at their last customers.
    has_limit
        Whether the length of a route is limited.
    """

    is_open: bool = False
    has_limit: bool = False


def find_kind(source: str) -> NamedKind:
    """Find what a file's name says, such as ovrpl50_uniform.pkl; of other names, nothing.

    Parameters
    ----------
    source
        The file's path.

    Raises
    ------
    UnsupportedError
        If it says backhauls, for which MVMoE's vehicles leave full.
    """
    found = _NAME.search(Path(source).stem.lower())
    if found is None:
        return NamedKind()
    if found[2]:
        raise UnsupportedError(
            "by its name, this set has MVMoE's backhauls: a vehicle leaves full, whatever it delivers.",
            remedy="This cannot be planned; RouteFinder's sets have usual backhauls.",
        )
    return NamedKind(bool(found[1]), bool(found[3]))


@dataclass(frozen=True, eq=False)
class FurtherRules:
    """The elements behind the capacity of an instance.

    Attributes
    ----------
    limit
        Longest route, or None.
    times
        (3, n) services, and starts and ends of windows, or None.
    """

    limit: float | None = None
    times: NDArray[np.float64] | None = None

    def add_to(self, instance: Instance, kind: NamedKind) -> Instance:
        """Add the rules, and those that the file's name states, to an instance."""
        vehicle = VehicleType(instance.capacity, max_distance=self.limit, end="open" if kind.is_open else "depot")
        if kind.is_open:
            warn_of_input("", "by the file's name, routes are open.")
        if not vehicle.is_plain:
            instance = replace(instance, vehicles=(vehicle,))
        if self.times is None:
            return instance
        service, starts, ends = np.pad(self.times, ((0, 0), (1, 0)))
        if (ends > _DAY).any():
            raise FormatError.about(
                "windows",
                f"a window ends after {_DAY:g}, when MVMoE's depots close.",
                "Use a format that states the depot's window, such as .json.",
                int(np.argmax(ends > _DAY)),
            )
        ends[0] = _DAY
        warn_of_input("", f"the windows are MVMoE's: travel time is distance, and the depot closes at {_DAY:g}.")
        return replace(instance, windows=np.column_stack([starts, ends]), service=service, speed=1.0)


def read_further_rules(elements: Sequence[Any], customers: int, kind: NamedKind) -> FurtherRules | None:
    """Read the elements behind the capacity: a limit, if any, then services, starts and ends of windows, if any.

    Parameters
    ----------
    elements
        Plain numbers and lists.
    customers
        How many numbers there are in a list with one for each customer.
    kind
        What the name of the file says; a number alone is a limit only if it says so.

    Returns
    -------
    FurtherRules | None
        None if the elements are something else.
    """
    has_times = len(elements) in (3, 4) and all(_is_list(value, customers) for value in elements[-3:])
    times = np.array(elements[-3:], dtype=np.float64).reshape(3, customers) if has_times else None
    match elements[:-3] if has_times else elements:
        case []:
            return FurtherRules(times=times)
        case [limit] if _is_number(limit) and (has_times or kind.has_limit):
            return FurtherRules(float(np.ravel(limit)[0]), times)
    return None


def _is_list(value: object, length: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == length and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    if isinstance(value, list | tuple) and len(value) == 1:
        return _is_number(value[0])
    return type(value) in (int, float)
