"""solve(): choose a model, construct, improve, report."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from dynaroute.base.errors import OptionError, SolutionError
from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.base.vocabulary import Objective
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check, refuse_violations
from dynaroute.problem.statements import NO_STATEMENTS
from dynaroute.search.improvers import IMPROVERS, needs_limits
from dynaroute.search.rules import refuse_unsearched_rules
from dynaroute.solving.building import (
    BuiltRoutes,
    build_by_policy,
    construct_by_savings,
    load_policy,
    make_strategy,
)
from dynaroute.solving.choose import Approach, choose
from dynaroute.solving.options import Decode, Improve, Observers, SolveOptions
from dynaroute.solving.result import GIVEN, INSERTION, Result, Start
from dynaroute.solving.small import SmallPolicy, find_small_policy

if TYPE_CHECKING:
    from dynaroute.model import Policy
    from dynaroute.search.search import Improvement

__all__ = [
    "BuiltRoutes",
    "Decode",
    "Improve",
    "Observers",
    "Result",
    "SolveOptions",
    "SolveSettings",
    "build_by_policy",
    "load_policy",
    "make_strategy",
    "read_settings",
    "refuse_wrong_start",
    "solve",
    "solve_all",
]

NO_OBSERVERS = Observers()

_CHECKING_SHARE = 0.5  # of a search's time, for checks before it

_CANCELLED = "Cancelled while a policy was building; savings built the routes instead."


class SolveSettings(TypedDict, total=False):
    """The keyword arguments of `solve`, for type checkers: the fields of `SolveOptions` and `Observers`."""

    model: str | Path | Policy
    decode: Decode | None
    samples: int | None
    temperature: float | None
    augment: bool
    seed: int | None
    device: str | None
    improve: Improve | None
    time_limit: float | None
    total_time: float | None
    iterations: int | None
    target: float | None
    objective: Objective | None
    start: Solution | Sequence[Solution] | None
    threads: int | None
    progress: Callable[[int], None] | None
    on_improvement: Callable[[int, Improvement], None] | None
    is_cancelled: Callable[[], bool] | None


def read_settings(settings: SolveSettings) -> tuple[SolveOptions, Observers]:
    """Split the keyword arguments of `solve` into options and observers."""
    given: dict[str, Any] = {**settings}
    observers = {entry.name: given.pop(entry.name) for entry in fields(Observers) if entry.name in given}
    return SolveOptions(**given), Observers(**observers)


@overload
def solve(instances: Instance, **settings: Unpack[SolveSettings]) -> Result: ...
@overload
def solve(instances: Sequence[Instance], **settings: Unpack[SolveSettings]) -> list[Result]: ...
def solve(instances: Instance | Sequence[Instance], **settings: Unpack[SolveSettings]) -> Result | list[Result]:
    """Find routes for one instance or many.

    Parameters
    ----------
    instances
        One instance, or many of any sizes.
    **settings
        Fields of `SolveOptions` (model, decode, samples, temperature, augment, seed, device, improve, time_limit,
        total_time, iterations, target, objective, start, threads) and of `Observers` (progress, on_improvement,
        is_cancelled).

    Returns
    -------
    Result | list[Result]
        One per instance, in order. Ctrl-C ends a search early and returns the best routes so far.

    Examples
    --------
    >>> result = dynaroute.solve(instance, time_limit=2)
    >>> result.cost, result.method, result.iterations
    """
    entered = time.perf_counter()
    options, observers = read_settings(settings)
    if isinstance(instances, Instance):
        return solve_all([instances], options, observers, entered)[0]
    many = list(instances) if isinstance(instances, Iterable) else [instances]
    for instance in many:
        if not isinstance(instance, Instance):
            kind = type(instance).__name__
            raise OptionError.about(
                "instances",
                f"got {kind}, expected an Instance.",
                "Give what dynaroute.read returns, or a list of them.",
            )
    return solve_all(many, options, observers, entered)


def solve_all(
    instances: Sequence[Instance],
    options: SolveOptions,
    observers: Observers = NO_OBSERVERS,
    entered: float | None = None,
) -> list[Result]:
    """Find routes for all instances, given checked options.

    The time of a single search counts from `entered`, a value of `time.perf_counter`; None: from now.
    """
    began = time.perf_counter() if entered is None else entered
    checking = _limit_checks(len(instances), options, observers, began)
    for instance in instances:
        refuse_unsearched_rules(instance)
        refuse_impossible(instance, checking.is_time_up)
    starts = _take_starts(instances, options.start)
    approaches = choose(instances, options, is_started=starts is not None)
    if options.searches:
        from dynaroute.solving.searching import search_all

        return search_all(instances, starts, approaches, options, observers, began)
    if options.is_active:
        from dynaroute.solving.tuning import tune_all

        return tune_all(instances, approaches, options, observers, began)
    if starts is None:
        results = _build_all(instances, approaches, options, observers)
    else:
        observers.note_progress(len(instances))
        pairs = zip(instances, starts, strict=True)
        known = [Result(instance, start, start.cost(instance), 0.0, GIVEN) for instance, start in pairs]
        results = _improve(known, options, observers)
    is_interrupted = observers.is_cancelled is not None and observers.is_cancelled()
    return [replace(result, is_interrupted=is_interrupted) for result in results]


def _limit_checks(count: int, options: SolveOptions, observers: Observers, began: float) -> Stopping:
    """Leave half of the time for a search; each of many instances has its own time, which begins later."""
    seconds = options.search_seconds if options.searches and (count == 1 or options.total_time is not None) else None
    deadline = None if seconds is None else began + _CHECKING_SHARE * seconds
    return Stopping(deadline, is_cancelled=observers.is_cancelled)


# Known routes


def _take_starts(instances: Sequence[Instance], start: Solution | Sequence[Solution] | None) -> list[Solution] | None:
    """Return the known routes of each instance, checked; None if there are none."""
    if start is None:
        return None
    starts = [start] if isinstance(start, Solution) else _as_list(start)
    for solution in starts:
        if not isinstance(solution, Solution):
            kind = type(solution).__name__
            raise OptionError.about(
                "start", f"got {kind}, expected a Solution.", "Give what dynaroute.read_solution returns."
            )
    if len(starts) != len(instances):
        message = f"there are {len(starts)} known solutions for {len(instances)} instances."
        raise OptionError.about("start", message, "Give one for each.")
    matched = [
        _name_vehicles(instance, _match_start(instance, solution))
        for instance, solution in zip(instances, starts, strict=True)
    ]
    for number, (instance, solution) in enumerate(zip(instances, matched, strict=True), start=1):
        refuse_wrong_start(instance, solution, number if len(starts) > 1 else None)
    return matched


def _match_start(instance: Instance, solution: Solution) -> Solution:
    """Match the customers of routes from a file by id, if it states ids."""
    if solution.statements.ids is None:
        return solution
    from dynaroute.plans.changes.insertion import add_new_customers
    from dynaroute.plans.matching import match_solution

    return add_new_customers(match_solution(solution, None, instance))


def _name_vehicles(instance: Instance, start: Solution) -> Solution:
    """State who drives each route, if the plan does not: with many types it takes long to find out again and again."""
    if instance.vehicles is None or start.stated_types(instance) is not None:
        return start
    with suppress(SolutionError):  # it is for another instance, which is said below
        return replace(start, vehicles=start.vehicle_types(instance))
    return start


def refuse_wrong_start(instance: Instance, start: Solution, number: int | None = None) -> None:
    """Raise if known routes violate their instance; `number` is the instance's place among many, from 1.

    Customers that wait for the search are no fault.
    """
    # what is stated in a file does not matter here
    violations = check(instance, replace(start, stated_cost=None, statements=NO_STATEMENTS))
    waiting = start.statements.waiting
    called = instance.name or ("" if number is None else f"instance {number}")
    refuse_violations(
        [found for found in violations if not found.is_absence or found.customer not in waiting],
        f" for {called}" if called else "",
    )


def _as_list(start: Any) -> list[Any]:
    try:
        return list(start)
    except TypeError:
        return [start]


# Build


def _build_all(
    instances: Sequence[Instance], approaches: Sequence[Approach], options: SolveOptions, observers: Observers
) -> list[Result]:
    """Build and improve routes, grouping instances with the same approach."""
    groups: defaultdict[Approach, list[int]] = defaultdict(list)
    for index, approach in enumerate(approaches):
        groups[approach].append(index)
    results: dict[int, Result] = {}
    for approach, indices in groups.items():
        group = [instances[index] for index in indices]
        results |= zip(indices, _build_group(group, approach, options, observers), strict=True)
    return [results[index] for index in range(len(instances))]


def _build_group(
    instances: Sequence[Instance], approach: Approach, options: SolveOptions, observers: Observers
) -> list[Result]:
    told = (approach.message,) if approach.message else ()
    if approach.start == "insertion":
        return [_construct_by_insertion(instance, told, options, observers) for instance in instances]
    if approach.model is None:
        built = [
            replace(result, messages=result.messages or told) for result in construct_by_savings(instances, observers)
        ]
        return _improve(built, options, observers)
    silent = replace(observers, progress=None)
    try:
        by_policy = _improve(_construct_by_policy(instances, approach.model, options, observers), options, observers)
    except OutOfTimeError:
        built = _build_rivals(instances, options, silent)
        return [replace(result, messages=result.messages or (_CANCELLED,)) for result in built]
    if not approach.is_compared:
        return by_policy
    # A policy can be far off on instances unlike its training, so it competes with savings. Improving both costs little
    # next to the policy, and the order may change.
    rivals = _improve(_build_rivals(instances, options, silent), options, observers)
    return [_better(*pair) for pair in zip(by_policy, rivals, strict=True)]


def _build_rivals(instances: Sequence[Instance], options: SolveOptions, observers: Observers) -> list[Result]:
    """Build routes without a policy: by insertion where there are limits, else by savings."""
    plain = [instance for instance in instances if not needs_limits(instance, None)]
    by_savings = iter(construct_by_savings(plain, observers))
    return [
        _construct_by_insertion(instance, (), options, observers) if needs_limits(instance, None) else next(by_savings)
        for instance in instances
    ]


def _construct_by_insertion(
    instance: Instance, told: tuple[str, ...], options: SolveOptions, observers: Observers
) -> Result:
    from dynaroute.search.with_limits.search import search_with_limits

    stopping = Stopping(iterations=1, is_cancelled=observers.is_cancelled)
    outcome = search_with_limits(instance, None, stopping, seed=options.usual_seed)
    observers.note_progress(1)
    return Result(instance, outcome.solution, outcome.cost, outcome.seconds, INSERTION, messages=told)


def _construct_by_policy(
    instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions, observers: Observers
) -> list[Result]:
    small = find_small_policy(instances, model, options) if observers.is_cancelled is None else None
    if small is not None:
        return _construct_small(instances, small, options, observers)
    built = build_by_policy(instances, model, options, observers)
    start, share = Start.by_policy(built.model, options.decoding), built.seconds / len(instances)
    return [
        Result(instance, solution, solution.cost(instance), share, start)
        for instance, solution in zip(instances, built.routes.to_solutions(built.batch), strict=True)
    ]


def _construct_small(
    instances: Sequence[Instance], policy: SmallPolicy, options: SolveOptions, observers: Observers
) -> list[Result]:
    start, results = Start.by_policy(policy.name, options.decoding), []
    for instance in instances:
        began = time.perf_counter()
        solution = policy.build(instance)
        results.append(Result(instance, solution, solution.cost(instance), time.perf_counter() - began, start))
        observers.note_progress(1)
    return results


# Improve


def _improve(built: Sequence[Result], options: SolveOptions, observers: Observers) -> list[Result]:
    """Improve all built routes together, until cancelled."""
    if options.improver not in IMPROVERS or not built:
        return list(built)
    began = time.perf_counter()
    instances, solutions = [result.instance for result in built], [result.solution for result in built]
    improve = IMPROVERS[options.improver]().improve
    improved = improve(instances, solutions, threads=options.threads, is_time_up=observers.is_cancelled)
    share = (time.perf_counter() - began) / len(built)
    return [
        _report_improvement(before, after, share, options.improver)
        for before, after in zip(built, improved, strict=True)
    ]


# Report


def _report_improvement(before: Result, solution: Solution, seconds: float, improver: Improve) -> Result:
    cost, in_all = solution.cost(before.instance), before.seconds + seconds
    after = replace(
        before,
        solution=solution,
        cost=cost,
        seconds=in_all,
        improver=improver,
        trace=((before.seconds, before.cost), (in_all, cost)),
    )
    return replace(after, messages=(*before.messages, after.improvement))


def _better(by_policy: Result, by_savings: Result) -> Result:
    winner, loser = (by_policy, by_savings) if by_policy.cost <= by_savings.cost else (by_savings, by_policy)
    message = f"{winner.model_and_method} and {loser.model_and_method} cost the same."
    if loser.cost > winner.cost > 0:
        excess = 100 * (loser.cost / winner.cost - 1)
        message = (
            f"{winner.model_and_method} was better than {loser.model_and_method}, which costs {excess:.1f} % more."
        )
    return replace(winner, seconds=by_policy.seconds + by_savings.seconds, messages=(message, *winner.messages))
