"""Where every vehicle of a plan is at a time of the day, and what it has on board."""

from __future__ import annotations

from dataclasses import dataclass

from dynaroute.desk.visits import list_vehicles
from dynaroute.plans.plan import Plan
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import RouteSchedule, schedule_route


@dataclass(frozen=True)
class VehicleProgress:
    """One vehicle of a plan at a time of the day; everybody keeps to the timetable.

    Attributes
    ----------
    name
        Its name, as in the timetable.
    kind
        Index of its type.
    stops
        Its route, including stops to load again.
    times
        When it drives it.
    now
        The time, in seconds.
    """

    name: str
    kind: int
    stops: tuple[int, ...]
    times: RouteSchedule
    now: float

    @property
    def has_left(self) -> bool:
        """Whether it has departed."""
        return self.times.departure <= self.now

    @property
    def made(self) -> int:
        """How many stops it has reached; at the last of them it may still be at work."""
        return sum(stop.arrival <= self.now for stop in self.times.stops) if self.has_left else 0

    @property
    def is_driving(self) -> bool:
        """Whether it drives, or would if its route had not ended."""
        return self.has_left and self._last_left <= self.now

    @property
    def frozen(self) -> int:
        """How many stops cannot change: those made, and the one that it drives to."""
        return min(len(self.stops), self.made + self.is_driving)

    @property
    def is_heading_home(self) -> bool:
        """Whether it has left its last stop."""
        return self.is_driving and self.made == len(self.stops)

    @property
    def share_of_leg(self) -> float:
        """How much of the leg to the next stop is driven, 0 to 1."""
        if not self.is_driving or self.made == len(self.stops):
            return 0.0
        seconds = self.times.stops[self.made].arrival - self._last_left
        return min(1.0, (self.now - self._last_left) / seconds) if seconds > 0 else 1.0

    @property
    def _last_left(self) -> float:
        made = self.made
        return self.times.stops[made - 1].leave if made else self.times.departure

    def list_loaded(self, instance: Instance) -> tuple[int, ...]:
        """List the customers whose goods from the depot are on board."""
        loaded = []
        for node in self.stops[self.made :] if self.has_left else ():
            if not 0 < node <= instance.size:
                break
            if instance.demands[node].any() and (instance.partners is None or not instance.partners[node]):
                loaded.append(node)
        return tuple(loaded)

    def list_collected(self, instance: Instance) -> tuple[int, ...]:
        """List the deliveries of shipments that were collected, but not delivered yet."""
        if instance.partners is None or instance.is_pickup is None:
            return ()
        made = self.stops[: self.made]
        partners = [int(instance.partners[node]) for node in made if node <= instance.size and instance.is_pickup[node]]
        return tuple(node for node in partners if node not in made)


def follow_vehicles(plan: Plan, now: float) -> tuple[VehicleProgress, ...]:
    """Find where the vehicle of each route is.

    Parameters
    ----------
    plan
        A plan with travel times.
    now
        Seconds since midnight.
    """
    instance, solution = plan.instance, plan.solution
    kinds = solution.vehicle_types(instance)
    return tuple(
        VehicleProgress(name, kind, route, schedule_route(instance, route, kind), now)
        for name, kind, route in zip(list_vehicles(plan), kinds, solution.routes, strict=True)
    )
