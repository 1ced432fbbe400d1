"""Vehicle types: capacity, limits on distance, time and stops, and how many vehicles there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, repeat
from numbers import Integral
from typing import Any, get_args

from dynaroute.base.decimals import LARGEST_INTEGER, is_finite_number, show_number
from dynaroute.base.errors import InstanceError
from dynaroute.base.vocabulary import RouteEnd, join_with_or

__all__ = ["TOLERANCE", "AlikeTypes", "VehicleType", "merge_alike"]

TOLERANCE = 1e-6  # in the instance's units: smaller excesses of any limit count as rounding errors


@dataclass(frozen=True)
class VehicleType:
    """One type of vehicle. None means no limit.

    Parameters
    ----------
    capacity
        Capacity of one vehicle, in the unit in which the instance stores demands.
    name
        The user's name for it.
    count
        How many vehicles there are.
    max_duration
        Longest route in seconds, from departure to end, including waiting and service.
    max_distance
        Longest route in the unit of the instance's distances.
    shift
        Earliest departure and latest end, in seconds.
    max_stops
        Most customers on one route.
    end
        Where a route ends: "depot", or "open" if it ends after service at its last customer.

    Raises
    ------
    InstanceError
        If a value is invalid; the error names the field.
    """

    capacity: int
    name: str = ""
    count: int | None = None
    max_duration: float | None = None
    max_distance: float | None = None
    shift: tuple[float, float] | None = None
    max_stops: int | None = None
    end: RouteEnd = "depot"

    def __post_init__(self) -> None:
        self._set("capacity", _read_whole(self.capacity, "capacity"))
        for field in ("count", "max_stops"):
            if getattr(self, field) is not None:
                self._set(field, _read_whole(getattr(self, field), field))
        for field in ("max_duration", "max_distance"):
            if getattr(self, field) is not None:
                self._set(field, _read_limit(getattr(self, field), field))
        if self.shift is not None:
            self._set("shift", _read_shift(self.shift))
        if self.end not in get_args(RouteEnd):
            raise InstanceError.about(
                "end", f"the end {self.end!r} is unknown.", f"Use {join_with_or(get_args(RouteEnd))}."
            )
        if not isinstance(self.name, str):
            raise InstanceError.about(
                "name", f"the name {self.name!r} is not a text.", "Write a text, or leave it out."
            )

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen, but its constructor may still set fields

    @property
    def limits_time(self) -> bool:
        """Whether its times are limited: it has a shift or a longest duration."""
        return self.max_duration is not None or self.shift is not None

    @property
    def is_plain(self) -> bool:
        """Whether only its capacity limits it, and it returns to the depot."""
        limits = (self.count, self.max_duration, self.max_distance, self.shift, self.max_stops)
        return self.end == "depot" and all(limit is None for limit in limits)


@dataclass(frozen=True)
class AlikeTypes:
    """Vehicle types that differ only in name and number, as one type.

    Attributes
    ----------
    merged
        The type, with as many vehicles as all of them have.
    members
        Their indices in the fleet, in order.
    """

    merged: VehicleType
    members: tuple[int, ...]

    def list_vehicles(self, fleet: Sequence[VehicleType]) -> Iterator[int]:
        """List all vehicles by the indices of their types, endlessly if a type has as many as needed."""
        counts = [fleet[index].count for index in self.members]
        return chain.from_iterable(
            repeat(index) if count is None else repeat(index, count)
            for index, count in zip(self.members, counts, strict=True)
        )


def merge_alike(fleet: Sequence[VehicleType]) -> tuple[AlikeTypes, ...]:
    """Merge the vehicle types that are alike, so that work grows with the number of different ones.

    Parameters
    ----------
    fleet
        The types; the order of their first members is kept.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, kind in enumerate(fleet):
        groups.setdefault(tuple(getattr(kind, limit) for limit in _LIMITS), []).append(index)
    return tuple(AlikeTypes(_merge([fleet[index] for index in members]), tuple(members)) for members in groups.values())


def _merge(alike: Sequence[VehicleType]) -> VehicleType:
    if len(alike) == 1:
        return alike[0]
    counts = [kind.count for kind in alike if kind.count is not None]
    return replace(alike[0], name="", count=sum(counts) if len(counts) == len(alike) else None)


_LIMITS = tuple(field.name for field in fields(VehicleType) if field.name not in ("name", "count"))


def _read_whole(value: Any, field: str) -> int:
    words = {"max_stops": "number of stops"}.get(field, field)
    if value is None:
        raise InstanceError.about(field, f"the {words} is missing.", "Give a whole number above 0.")
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InstanceError.about(
            field, f"the {words} {show_number(value)} is not a whole number above 0.", "Give one, or leave it out."
        )
    if int(value) > LARGEST_INTEGER:
        message = f"the {words} is above {LARGEST_INTEGER}, the largest possible number."
        raise InstanceError.about(field, message, "Leave it out if there is no limit, or use a larger unit.")
    return int(value)


def _read_limit(value: Any, field: str) -> float:
    number = _read_number(value, field)
    if number <= 0:
        raise InstanceError.about(
            field, f"the limit {show_number(value)} is not above 0.", "Leave it out if there is no limit."
        )
    return number


def _read_shift(value: Any) -> tuple[float, float]:
    try:
        earliest, latest = (_read_number(bound, "shift") for bound in value)
    except (TypeError, ValueError):
        raise InstanceError.about(
            "shift", f"the shift {value!r} is not a pair of times.", "Give its start and its end."
        ) from None
    if earliest < 0:
        raise InstanceError.about("shift", f"the shift starts at {earliest:g}, before 0.", "Times are 0 or later.")
    if latest < earliest:
        message = f"the shift ends at {latest:g}, before it starts at {earliest:g}."
        raise InstanceError.about("shift", message, "Give its start first; write 26h for two hours after midnight.")
    return earliest, latest


def _read_number(value: Any, field: str) -> float:
    if not is_finite_number(value):
        raise InstanceError.about(field, f"{show_number(value)} is not a finite number.", "Give one, or leave it out.")
    return float(value)
