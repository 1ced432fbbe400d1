"""Whether a plan holds: it is driven on many days on which driving and service take longer or shorter."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import OptionError
from dynaroute.desk.visits import list_vehicles
from dynaroute.plans.plan import Plan
from dynaroute.problem.driving import RouteTask, read_task
from dynaroute.problem.fleet import TOLERANCE
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import RouteSchedule, latest_end, schedule_route

PROMISE = 0.95  # share of days on which a promised window is kept
_STEP = 300.0  # windows are promised in steps of five minutes

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SimulatedStop:
    """One customer on many days.

    Attributes
    ----------
    id, vehicle
        The customer, and who serves it.
    arrival
        As planned, in seconds.
    on_time
        Share of days on which service begins within a window.
    mean_lateness
        Seconds after the last window, on average of the days on which it is late; 0 if it never is.
    promise
        The window in which service begins on 95 % of the days, in steps of five minutes.
    """

    id: str
    vehicle: str
    arrival: float
    on_time: float
    mean_lateness: float
    promise: tuple[float, float]

    @property
    def is_risky(self) -> bool:
        """Whether it is late on more days than a promise allows."""
        return self.on_time < PROMISE


@dataclass(frozen=True)
class SimulatedDays:
    """A plan on many days.

    Attributes
    ----------
    days
        How many.
    on_time
        Share of all stops on all days that are on time.
    all_on_time
        Share of days on which every stop is.
    back_on_time
        Share of days on which every vehicle is back before its shift and its depot close.
    stops
        Every customer, those that are late most often first.
    """

    days: int
    on_time: float
    all_on_time: float
    back_on_time: float
    stops: tuple[SimulatedStop, ...]


def simulate(
    plan: Plan, *, travel: float = 0.2, service: float = 0.3, days: int = 1000, seed: int = 0
) -> SimulatedDays:
    """Drive a plan on many days.

    Every leg and every service takes a random time of its own, whose mean is the planned one (lognormal). Vehicles
    depart as planned and keep the order of stops and breaks; who is early waits for the window.

    Parameters
    ----------
    plan
        A plan with travel times.
    travel, service
        Standard deviation of driving and of service times, as a share of the planned time: 0.2 is 20 %.
    days
        How many days.
    seed
        Of the random numbers; the same seed gives the same days.

    Raises
    ------
    DynarouteError
        If travel times are unknown, or a number is out of its range.
    """
    for name, share in (("travel", travel), ("service", service)):
        if not 0 <= share <= 10:
            raise OptionError.about(name, f"the share {share:g} is not between 0 and 10.", "Write 0.2 for 20 %.")
    if not 1 <= days <= 1_000_000:
        raise OptionError.about("days", f"there cannot be {days} days.", "Give 1 to 1,000,000.")
    instance, random = plan.instance, np.random.default_rng(seed)
    instance.require_times()
    stops: list[SimulatedStop] = []
    in_time = np.ones(days, dtype=bool)
    is_back = np.ones(days, dtype=bool)
    kinds = plan.solution.vehicle_types(instance)
    for route, kind, name in zip(plan.solution.routes, kinds, list_vehicles(plan), strict=True):
        times = schedule_route(instance, route, kind)
        starts, ends = _drive(read_task(instance, route, kind), times, (travel, service), days, random)
        is_back &= ends <= latest_end(instance, instance.fleet[kind]) + TOLERANCE
        for position, node in enumerate(route):
            if 0 < node <= instance.size:
                late = _measure_lateness(instance, node, starts[position])
                in_time &= late == 0
                stops.append(_describe(instance.customer_name(node), name, times, position, starts[position], late))
    share = float(np.mean([stop.on_time for stop in stops])) if stops else 1.0
    stops.sort(key=lambda stop: (stop.on_time, stop.arrival))
    return SimulatedDays(days, share, float(in_time.mean()), float(is_back.mean()), tuple(stops))


def simulation_to_json(simulated: SimulatedDays) -> dict[str, object]:
    """Return the keys of ``dynaroute simulate --json``."""
    return {**asdict(simulated), "stops": [{**asdict(stop), "risky": stop.is_risky} for stop in simulated.stops]}


def _drive(
    task: RouteTask, times: RouteSchedule, shares: tuple[float, float], days: int, random: np.random.Generator
) -> tuple[list[_Floats], _Floats]:
    """Drive a route on all days at once: when each service begins, and when the route ends."""
    travel, service = shares
    clock, starts = np.full(days, times.departure), []
    resting = list(times.breaks)
    for position, (leg, work) in enumerate(zip(task.legs.tolist(), task.work.tolist(), strict=True)):
        clock = clock + leg * _vary(random, travel, days)
        planned = times.stops[position]
        while resting and resting[0][2] == position and resting[0][0] >= planned.arrival - TOLERANCE:
            clock = _rest(clock, resting.pop(0))
        begins = np.full(days, np.inf)
        for opens, closes in task.windows[position].tolist():
            begins = np.minimum(begins, np.where(clock <= closes + TOLERANCE, np.maximum(clock, opens), np.inf))
        clock = np.where(np.isinf(begins), clock, begins)
        starts.append(clock)
        clock = clock + work * _vary(random, service, days)
        while resting and resting[0][2] == position + 1 and resting[0][0] < _next_arrival(times, position):
            clock = _rest(clock, resting.pop(0))
    return starts, clock + task.way_back * _vary(random, travel, days)


def _rest(clock: _Floats, taken: tuple[float, float, int]) -> _Floats:
    """Take a break of its planned length, not before its planned start."""
    begins, ends, _ = taken
    return np.maximum(clock, begins) + (ends - begins)


def _next_arrival(times: RouteSchedule, position: int) -> float:
    return times.stops[position + 1].arrival if position + 1 < len(times.stops) else math.inf


def _vary(random: np.random.Generator, share: float, days: int) -> _Floats:
    """Draw factors with mean 1 and this standard deviation, which are never negative."""
    variance = math.log1p(share**2)
    return random.lognormal(-variance / 2, math.sqrt(variance), days)


def _measure_lateness(instance: Instance, node: int, starts: _Floats) -> _Floats:
    windows = instance.windows_of(node)
    late = np.maximum(0.0, starts - (windows[-1][1] if windows else math.inf))
    return np.where(late > TOLERANCE, late, 0.0)


def _describe(
    name: str, vehicle: str, times: RouteSchedule, position: int, starts: _Floats, late: _Floats
) -> SimulatedStop:
    tail = (1 - PROMISE) / 2
    first, last = np.quantile(starts, [tail, 1 - tail]).tolist()
    opens = math.floor(first / _STEP + 1e-9) * _STEP
    promise = (opens, max(opens + _STEP, math.ceil(last / _STEP - 1e-9) * _STEP))
    is_late = late > 0
    mean = float(late[is_late].mean()) if is_late.any() else 0.0
    arrival = times.stops[position].arrival
    return SimulatedStop(name, vehicle, arrival, 1 - float(is_late.mean()), mean, promise)
