"""Profiles: distances, travel times and speeds by hour for some vehicles, such as lorries or bicycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.base.decimals import is_finite_number
from dynaroute.base.errors import InstanceError, Where
from dynaroute.problem.checks.fields import freeze, read_distances, read_durations
from dynaroute.problem.fleet import VehicleType

HOURS, SECONDS_OF_HOUR = 24, 3600.0


@dataclass(frozen=True, eq=False)
class Profile:
    """What the vehicles of a profile drive; what is None is as usual.

    Parameters
    ----------
    name
        By which vehicle types name it.
    distances, durations
        Matrices as those of the instance, but never rounded.
    speed_by_hour
        How many times faster they drive than travel times say in each of the 24 hours of a day; empty if always alike.
        A leg that lasts beyond an hour goes on at the speed of the next: who departs earlier never arrives later.
    """

    name: str
    distances: NDArray[np.float64] | None = None
    durations: NDArray[np.float64] | None = None
    speed_by_hour: tuple[float, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile) or self.name != other.name:
            return NotImplemented if not isinstance(other, Profile) else False
        if self.speed_by_hour != other.speed_by_hour:
            return False
        pairs = ((self.distances, other.distances), (self.durations, other.durations))
        return all(
            one is another if one is None or another is None else np.array_equal(one, another) for one, another in pairs
        )

    def __hash__(self) -> int:
        return hash(self.name)


def read_profiles(values: Any, nodes: int, fleet: Sequence[VehicleType]) -> tuple[Profile, ...]:
    """Read profiles for n + m nodes besides the depot, which vehicle types name."""
    profiles = tuple(values) if isinstance(values, tuple | list) else (None,)
    names = [profile.name for profile in profiles if isinstance(profile, Profile)]
    is_named = all(isinstance(name, str) and name.strip() == name != "" for name in names)
    if len(names) != len(profiles) or not is_named or len(set(names)) < len(names):
        message = f"{values!r:.80} are not profiles with names of their own."
        raise InstanceError.about("profiles", message, "Give Profile objects with different names.")
    for kind in fleet:
        if kind.profile and kind.profile not in names:
            message = f"the profile {kind.profile!r} is unknown."
            raise InstanceError.about("profile", message, f"Profiles are {', '.join(names) or 'not given'}.")
    read = tuple(_read_profile(profile, nodes) for profile in profiles)
    with_hours = {profile.name for profile in read if profile.speed_by_hour}
    if any(kind.profile in with_hours and any(rest.window is None for rest in kind.breaks) for kind in fleet):
        message = "a vehicle whose speed depends on the hour has a break after driving."
        raise InstanceError.about("breaks", message, "Give it a break in a window, or a speed for all hours.")
    return read


def _read_profile(profile: Profile, nodes: int) -> Profile:
    try:
        distances = None if profile.distances is None else freeze(read_distances(profile.distances, nodes, "none"))
        durations = None if profile.durations is None else freeze(read_durations(profile.durations, nodes))
    except InstanceError as error:
        error.where = Where(field="profiles")
        raise
    return replace(profile, distances=distances, durations=durations, speed_by_hour=read_speeds(profile.speed_by_hour))


def read_speeds(values: Any) -> tuple[float, ...]:
    """Read 24 numbers above 0; none if all of them are 1."""
    speeds = tuple(values) if isinstance(values, tuple | list | np.ndarray) else (None,)
    if not speeds:
        return ()
    if len(speeds) != HOURS or not all(is_finite_number(speed) and speed > 0 for speed in speeds):
        message = f"{values!r:.80} are not 24 numbers above 0."
        raise InstanceError.about("profiles", message, "Give a factor for each hour of the day.")
    return () if all(speed == 1 for speed in speeds) else tuple(map(float, speeds))


@dataclass(frozen=True)
class Speeds:
    """Travel times where the speed depends on the hour: by how far one would be at the usual speed since midnight.

    Parameters
    ----------
    by_hour
        The factors of a profile.
    """

    by_hour: tuple[float, ...]

    @cached_property
    def _reached(self) -> NDArray[np.float64]:
        """How far one is at the begin of each hour, in seconds at the usual speed, (25,)."""
        return np.concatenate([[0.0], np.cumsum(self.by_hour)]) * SECONDS_OF_HOUR

    def arrive(self, departure: ArrayLike, seconds: ArrayLike) -> NDArray[np.float64]:
        """When a leg ends that takes so many seconds at the usual speed; with -seconds, when one begins that ends then.

        Parameters
        ----------
        departure
            Seconds since midnight of the first day.
        seconds
            The leg, below 0 to drive back in time.
        """
        times, reached = np.arange(HOURS + 1) * SECONDS_OF_HOUR, self._reached
        given = np.asarray(departure, dtype=np.float64)
        days, rest = np.divmod(np.where(np.isfinite(given), given, 0.0), times[-1])
        goal = days * reached[-1] + np.interp(rest, times, reached) + seconds
        days, rest = np.divmod(goal, reached[-1])
        return np.where(np.isfinite(given), days * times[-1] + np.interp(rest, reached, times), given)
