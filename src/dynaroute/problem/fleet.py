"""Vehicle types: capacity, limits, costs, where they start and end, and how many vehicles there are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, repeat
from itertools import count as numbers_from
from numbers import Integral
from typing import Any

from dynaroute.base.decimals import LARGEST_INTEGER, is_finite_number, show_number
from dynaroute.base.errors import InstanceError
from dynaroute.problem.places import DEPOT
from dynaroute.problem.working_day import Break, Overtime, read_amount

TOLERANCE = 1e-6  # in the instance's units: smaller excesses of any limit count as rounding errors

_MOST_BREAKS = 2  # in windows: checks try all their places


@dataclass(frozen=True)
class VehicleType:
    """One type of vehicle. None means no limit.

    A price is per stored unit of distance or per second; reading a file converts prices per km and per hour.

    Parameters
    ----------
    capacity
        Capacity of one vehicle, in the unit in which the instance stores demands; a tuple where loads have several
        dimensions.
    name
        The user's name for it.
    count
        How many vehicles there are.
    min_vehicles
        How many of them must be used at least.
    max_duration
        Longest route in seconds, from departure to end, including waiting and service.
    max_distance
        Longest route in the unit of the instance's distances.
    shift
        Earliest departure and latest end, in seconds.
    max_stops
        Most customers on one route.
    end
        Where a route ends: "depot", the name of a place, or "open" if it ends after service at its last customer.
        Empty: where it starts.
    start
        Where a route starts: "depot", or the name of a place.
    fixed_cost
        Price of using a vehicle.
    distance_cost, time_cost
        Price of a unit of distance, and of a second from departure to end.
    overtime
        From which duration on work costs more.
    max_driving
        Most seconds of driving on a route, without waiting, service and breaks.
    speed_factor
        How many times faster it drives than travel times say.
    service_factor
        How many times longer it takes to serve a customer.
    breaks
        The breaks of its day.
    reload
        Where it may load again: "depot" and names of places. Between two visits there lies one trip.
    max_trips
        Most trips on a route; only with `reload`.
    loading
        Seconds that it takes to load again; the first trip is loaded before it departs.
    skills
        What it can do, for customers that need it.
    initial_load
        Load on board at departure that stays until it loads again, or to the end.
    profile
        Name of the profile of travel times and distances; empty for the usual one.
    beginning
        The stops with which the route of the only vehicle of this type begins, in this order, because they have been
        made already: customers, and nodes where it loads again. It drives even if nothing follows.

    Raises
    ------
    InstanceError
        If a value is invalid; the error names the field.
    """

    capacity: int | tuple[int, ...]
    name: str = ""
    count: int | None = None
    max_duration: float | None = None
    max_distance: float | None = None
    shift: tuple[float, float] | None = None
    max_stops: int | None = None
    end: str = ""
    start: str = DEPOT
    fixed_cost: float = 0.0
    distance_cost: float = 1.0
    time_cost: float = 0.0
    overtime: Overtime | None = None
    max_driving: float | None = None
    speed_factor: float = 1.0
    service_factor: float = 1.0
    breaks: tuple[Break, ...] = ()
    reload: tuple[str, ...] = ()
    max_trips: int | None = None
    loading: float = 0.0
    skills: frozenset[str] = frozenset()
    initial_load: int | tuple[int, ...] = 0
    profile: str = ""
    beginning: tuple[int, ...] = ()
    min_vehicles: int = 0

    def __post_init__(self) -> None:
        self._set("capacity", _read_capacity(self.capacity))
        for field in ("count", "max_stops", "max_trips"):
            if getattr(self, field) is not None:
                self._set(field, _read_whole(getattr(self, field), field))
        for field in ("max_duration", "max_distance", "max_driving"):
            if getattr(self, field) is not None:
                self._set(field, _read_limit(getattr(self, field), field))
        for field in ("fixed_cost", "distance_cost", "time_cost", "loading", "service_factor"):
            self._set(field, read_amount(getattr(self, field), field))
        self._set("speed_factor", _read_limit(self.speed_factor, "speed_factor"))
        if self.shift is not None:
            self._set("shift", _read_shift(self.shift))
        for field in ("name", "start", "end", "profile"):
            if not isinstance(getattr(self, field), str):
                message = f"the {field} {getattr(self, field)!r} is not a text."
                raise InstanceError.about(field, message, "Write a text, or leave it out.")
        if self.start in ("", "open"):
            message = f"a route cannot start at {self.start!r}."
            raise InstanceError.about("start", message, "Use depot, or the name of a place.")
        self._set("end", self.end or self.start)
        self._set("min_vehicles", _read_least(self.min_vehicles, self.count))
        self._check_day()
        self._set("initial_load", _read_initial_load(self.initial_load, self.capacities))

    def _check_day(self) -> None:
        """Check overtime, breaks, reloads and skills."""
        if self.overtime is not None and not isinstance(self.overtime, Overtime):
            raise InstanceError.about("overtime", f"{self.overtime!r} is no Overtime.", "Give an Overtime.")
        self._set("breaks", _read_tuple(self.breaks, Break, "breaks"))
        by_driving = sum(each.window is None for each in self.breaks)
        if by_driving > 1 or len(self.breaks) - by_driving > _MOST_BREAKS:
            message = f"there are {len(self.breaks)} breaks."
            raise InstanceError.about("breaks", message, "Give at most two in windows, and one after driving.")
        self._set("reload", _read_tuple(self.reload, str, "reload"))
        self._set("skills", frozenset(_read_tuple(self.skills, str, "skills")))
        if self.max_trips is not None and self.max_trips > 1 and not self.reload:
            message = f"there may be {self.max_trips} trips, but no place to load again."
            raise InstanceError.about("max_trips", message, 'Say where: reload ("depot",), or leave it out.')
        self._set("beginning", _read_beginning(self.beginning, self.count))

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen, but its constructor may still set fields

    @property
    def capacities(self) -> tuple[int, ...]:
        """Its capacity in every dimension of loads."""
        return self.capacity if isinstance(self.capacity, tuple) else (self.capacity,)

    @property
    def initial_loads(self) -> tuple[int, ...]:
        """Its load at the start in every dimension of loads."""
        return self.initial_load if isinstance(self.initial_load, tuple) else (self.initial_load,)

    @property
    def limits_time(self) -> bool:
        """Whether its times are limited or have a price."""
        limits = (self.max_duration, self.shift, self.max_driving, self.overtime)
        return bool(self.breaks) or self.time_cost > 0 or any(limit is not None for limit in limits)

    @property
    def is_priced(self) -> bool:
        """Whether it has a price other than 1 for each unit of distance."""
        return self.overtime is not None or (self.fixed_cost, self.distance_cost, self.time_cost) != (0.0, 1.0, 0.0)

    @cached_property
    def rules(self) -> frozenset[str]:
        """Names of the rules of `dynaroute.problem.rules` that it brings."""
        found = {
            "places": self.start != DEPOT or self.end not in (DEPOT, "open"),
            "costs": (self.fixed_cost, self.distance_cost, self.time_cost) != (0.0, 1.0, 0.0),
            "overtime": self.overtime is not None,
            "max_driving": self.max_driving is not None,
            "speed_factor": self.speed_factor != 1,
            "service_factor": self.service_factor != 1,
            "breaks": bool(self.breaks),
            "reload": bool(self.reload),
            "initial_load": any(self.initial_loads),
            "profile": bool(self.profile),
            "beginning": bool(self.beginning),
            "min_vehicles": self.min_vehicles > 0,
        }
        return frozenset(name for name, is_there in found.items() if is_there)

    @property
    def is_plain(self) -> bool:
        """Whether only its capacity limits it, and it returns to the depot."""
        limits = (self.count, self.max_duration, self.max_distance, self.shift, self.max_stops)
        is_usual = not (self.rules or self.loading or self.skills or self.max_trips)
        return self.end == DEPOT and is_usual and all(limit is None for limit in limits)


def name_vehicles(fleet: Sequence[VehicleType], kinds: Sequence[int]) -> list[str]:
    """Name each route's vehicle: the second Sprinter is "Sprinter 2"; types without names are "Vehicle 1" and so on.

    Parameters
    ----------
    fleet
        All types.
    kinds
        Index of each route's type.
    """
    names: list[str] = []
    types = {kind.name for kind in fleet}
    for kind in (fleet[index] for index in kinds):
        numbered = (f"{kind.name or 'Vehicle'} {number}" for number in numbers_from(2 if kind.name else 1))
        free = (name for name in numbered if name not in types and name not in names)
        names.append(kind.name if kind.name and kind.name not in names else next(free))
    return names


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


def merge_alike(fleet: Sequence[VehicleType], marks: Sequence[Hashable] | None = None) -> tuple[AlikeTypes, ...]:
    """Merge the vehicle types that are alike, so that work grows with the number of different ones.

    Parameters
    ----------
    fleet
        The types; the order of their first members is kept.
    marks
        What else tells each type from others, such as the customers it may serve.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, kind in enumerate(fleet):
        mark = None if marks is None else marks[index]
        groups.setdefault((mark, *(getattr(kind, limit) for limit in _LIMITS)), []).append(index)
    return tuple(AlikeTypes(_merge([fleet[index] for index in members]), tuple(members)) for members in groups.values())


def _merge(alike: Sequence[VehicleType]) -> VehicleType:
    if len(alike) == 1:
        return alike[0]
    counts = [kind.count for kind in alike if kind.count is not None]
    return replace(alike[0], name="", count=sum(counts) if len(counts) == len(alike) else None)


_LIMITS = tuple(field.name for field in fields(VehicleType) if field.name not in ("name", "count"))


def _read_capacity(value: Any) -> int | tuple[int, ...]:
    if not isinstance(value, tuple | list):
        return _read_whole(value, "capacity")
    capacities = tuple(_read_whole(each, "capacity") for each in value)
    if not capacities:
        raise InstanceError.about("capacity", "the capacity is an empty list.", "Give one for each dimension.")
    return capacities[0] if len(capacities) == 1 else capacities


def _read_initial_load(value: Any, capacities: tuple[int, ...]) -> int | tuple[int, ...]:
    loads = tuple(value) if isinstance(value, tuple | list) else (value,) * (len(capacities) if value == 0 else 1)
    if len(loads) != len(capacities):
        message = f"the load at the start has {len(loads)} dimensions, but the capacity has {len(capacities)}."
        raise InstanceError.about("initial_load", message, "Give one for each dimension.")
    for load, capacity in zip(loads, capacities, strict=True):
        if isinstance(load, bool) or not isinstance(load, Integral) or not 0 <= int(load) <= capacity:
            message = f"the load at the start {show_number(load)} is not a whole number from 0 to the capacity."
            raise InstanceError.about("initial_load", message, "Give one, or leave it out.")
    return int(loads[0]) if len(loads) == 1 else tuple(map(int, loads))


def _read_beginning(values: Any, count: int | None) -> tuple[int, ...]:
    stops = tuple(values) if isinstance(values, tuple | list) else (None,)
    if any(isinstance(stop, bool) or not isinstance(stop, Integral) or int(stop) < 0 for stop in stops):
        message = f"the beginning {values!r} is not a list of stops."
        raise InstanceError.about("beginning", message, "Give the numbers of customers, or leave it out.")
    if stops and count != 1:
        message = "a route has a beginning, but its type does not have exactly one vehicle."
        raise InstanceError.about("beginning", message, "Give each vehicle that has begun a type with count 1.")
    return tuple(map(int, stops))


def _read_tuple(values: Any, kind: type, field: str) -> tuple[Any, ...]:
    items = tuple(values) if isinstance(values, tuple | list | set | frozenset) else (None,)
    if not all(isinstance(item, kind) and item for item in items):
        noun = "texts" if kind is str else f"{kind.__name__} objects"
        raise InstanceError.about(field, f"{values!r} is not a list of {noun}.", "Give a list, or leave it out.")
    return items


def _read_whole(value: Any, field: str) -> int:
    words = {"max_stops": "number of stops", "max_trips": "number of trips"}.get(field, field)
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


def _read_least(value: Any, count: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        message = f"the least number of vehicles {show_number(value)} is not a whole number of 0 or more."
        raise InstanceError.about("min_vehicles", message, "Give one, or leave it out.")
    if count is not None and int(value) > count:
        message = f"at least {show_number(value)} vehicles must be used, but there are only {count}."
        raise InstanceError.about("min_vehicles", message, "Give more vehicles, or a smaller number.")
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
