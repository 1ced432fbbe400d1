"""What makes a day possible that cannot be planned: the smallest changes, each proved by a search and judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynaroute.base.decimals import plain_number
from dynaroute.desk.trying import SearchTime, Trial, try_variants
from dynaroute.desk.variants import OtherDay, set_windows
from dynaroute.plans.plan import Plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.impossible import explain_alone
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import schedule_route

OVERTIME_MINUTES = (15, 30, 60, 120, 240)
_MOST_WINDOWS = 12  # customers whose windows are opened, the narrowest first
_STEP = 300.0  # windows are widened in steps of five minutes


@dataclass(frozen=True)
class Relaxed:
    """A day that cannot be planned, and what would make it possible.

    Attributes
    ----------
    base
        The day as it is, searched like the others; with a plan if it is possible after all.
    possible
        The changes with which a plan was found, the cheapest first.
    tried
        How many changes were searched.
    """

    base: Trial
    possible: tuple[Trial, ...]
    tried: int


def relax(instance: Instance, search: SearchTime) -> Relaxed:
    """Find changes that make a day possible: a vehicle more, overtime, a longer window.

    Parameters
    ----------
    instance
        The day.
    search
        How to search it, and each change.
    """
    nothing = Solution((), vehicles=())
    (base,) = try_variants([OtherDay("the day as it is", "plan", instance)], nothing, search)
    if base.plan is not None:
        return Relaxed(base, (), 0)
    variants = list_relaxations(instance)
    trials = try_variants(variants, nothing, search) if variants else []
    found = [_tighten(trial, instance) for trial in trials if trial.plan is not None]
    overtime = [trial for trial in found if trial.variant.kind == "time"]
    kept = [trial for trial in found if trial.variant.kind != "time"] + overtime[:1]  # the shortest that suffices
    return Relaxed(base, tuple(sorted(kept, key=lambda trial: trial.cost)), len(variants))


def list_relaxations(instance: Instance) -> list[OtherDay]:
    """List the changes that `relax` tries."""
    return [*_add_vehicles(instance), *_add_overtime(instance), *_open_windows(instance)]


def relaxed_to_json(relaxed: Relaxed) -> dict[str, object]:
    """Return the keys of ``dynaroute explain DAY --json``, and of the service's answer about a day."""
    return {
        "possible": relaxed.base.plan is not None,
        "reason": relaxed.base.reason,
        "tried": relaxed.tried,
        "relaxations": [
            {
                "name": trial.variant.name,
                "kind": trial.variant.kind,
                "cost": plain_number(trial.cost),
                "seconds": trial.seconds,
            }
            for trial in relaxed.possible
        ],
    }


def _add_vehicles(instance: Instance) -> Iterator[OtherDay]:
    for index, kind in enumerate(instance.fleet):
        if kind.count is not None and not kind.beginning:
            yield OtherDay(
                f"one {kind.name or 'vehicle'} more",
                "vehicles",
                replace(instance, vehicles=_change(instance.fleet, index, replace(kind, count=kind.count + 1))),
            )


def _change(fleet: Sequence[VehicleType], index: int, kind: VehicleType) -> tuple[VehicleType, ...]:
    return tuple(kind if place == index else each for place, each in enumerate(fleet))


def _add_overtime(instance: Instance) -> Iterator[OtherDay]:
    """Let all vehicles work longer: their shifts, longest routes and the depot's window end later."""
    windows = instance.windows
    ends_at_depot = windows is not None and math.isfinite(float(windows[0].reshape(-1)[-1]))
    if not ends_at_depot and not any(kind.shift or kind.max_duration for kind in instance.fleet):
        return
    for minutes in OVERTIME_MINUTES:
        seconds = 60.0 * minutes
        fleet = tuple(
            replace(
                kind,
                shift=None if kind.shift is None else (kind.shift[0], kind.shift[1] + seconds),
                max_duration=None if kind.max_duration is None else kind.max_duration + seconds,
            )
            for kind in instance.fleet
        )
        longer = None if windows is None else np.array(windows)
        if longer is not None:
            longer[0].reshape(-1, 2)[:, 1] += seconds
        yield OtherDay(f"{minutes} min overtime", "time", replace(instance, vehicles=fleet, windows=longer))


def _open_windows(instance: Instance) -> Iterator[OtherDay]:
    """Open the windows of customers whom no vehicle reaches in time, all together, and narrow ones one by one."""
    if instance.windows is None:
        return
    closing = {node: windows[-1] for node in range(1, instance.size + 1) if (windows := instance.windows_of(node))}
    alone = [] if instance.rules else list(explain_alone(instance, sorted(closing)))
    if len(alone) > 1:
        yield _open(instance, alone)
    narrow = sorted(set(closing) - set(alone), key=lambda node: closing[node][1] - closing[node][0])
    for node in [*alone, *narrow][:_MOST_WINDOWS]:
        yield _open(instance, [node])


def _open(instance: Instance, customers: Sequence[int]) -> OtherDay:
    names = " and ".join(map(instance.customer_name, customers))
    return OtherDay(f"{names} until any time", "window", set_windows(instance, customers, math.inf))


def _tighten(trial: Trial, instance: Instance) -> Trial:
    """End windows that were opened when the plan needs them, rounded up to five minutes, and judge again."""
    if trial.plan is None or trial.variant.kind != "window" or instance.windows is None:
        return trial
    opened, solution = trial.variant.instance, trial.plan.solution
    assert opened.windows is not None
    changed = [node for node in range(1, instance.size + 1) if (opened.windows[node] != instance.windows[node]).any()]
    kinds = solution.vehicle_types(opened)
    starts = {
        stop.customer: stop.start
        for route, kind in zip(solution.routes, kinds, strict=True)
        for stop in schedule_route(opened, route, kind).stops
    }
    tightened, words = opened, []
    for node in changed:
        until = max(math.ceil(starts[node] / _STEP) * _STEP, instance.windows_of(node)[-1][1])
        tightened = set_windows(tightened, [node], until)
        words.append(f"{instance.customer_name(node)} until {instance.shown_time(until)}")
    if check(tightened, solution):
        return trial
    return replace(trial, variant=OtherDay(" and ".join(words), "window", tightened), plan=Plan(tightened, solution))
