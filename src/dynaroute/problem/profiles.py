"""Profiles: distances and travel times of their own for some vehicles, such as lorries or bicycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError, Where
from dynaroute.problem.checks.fields import freeze, read_distances, read_durations
from dynaroute.problem.fleet import VehicleType


@dataclass(frozen=True, eq=False)
class Profile:
    """What the vehicles of a profile drive; what is None is as usual.

    Parameters
    ----------
    name
        By which vehicle types name it.
    distances, durations
        Matrices as those of the instance, but never rounded.
    """

    name: str
    distances: NDArray[np.float64] | None = None
    durations: NDArray[np.float64] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile) or self.name != other.name:
            return NotImplemented if not isinstance(other, Profile) else False
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
    return tuple(_read_profile(profile, nodes) for profile in profiles)


def _read_profile(profile: Profile, nodes: int) -> Profile:
    try:
        distances = None if profile.distances is None else freeze(read_distances(profile.distances, nodes, "none"))
        durations = None if profile.durations is None else freeze(read_durations(profile.durations, nodes))
    except InstanceError as error:
        error.where = Where(field="profiles")
        raise
    return replace(profile, distances=distances, durations=durations)
