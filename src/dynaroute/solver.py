"""solve(): choose a model, construct, improve, report."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from dynaroute.errors import OptionError, Where
from dynaroute.improve.improvers import IMPROVERS
from dynaroute.improve.stopping import OutOfTimeError
from dynaroute.instance import Instance
from dynaroute.savings import build_by_savings
from dynaroute.solution import Solution
from dynaroute.solving.building import BuiltRoutes, build_by_policy, load_policy, make_strategy
from dynaroute.solving.options import Decode, Improve, SolveOptions, SolveSettings
from dynaroute.solving.result import Result

if TYPE_CHECKING:
    from dynaroute.model import Policy

__all__ = [
    "BuiltRoutes",
    "Decode",
    "Improve",
    "Result",
    "SolveOptions",
    "SolveSettings",
    "build_by_policy",
    "load_policy",
    "make_strategy",
    "solve",
]

_CANCELLED = "It was cancelled while a policy was building: these are savings."


@overload
def solve(instances: Instance, **settings: Unpack[SolveSettings]) -> Result: ...
@overload
def solve(instances: Sequence[Instance], **settings: Unpack[SolveSettings]) -> list[Result]: ...
def solve(instances: Instance | Sequence[Instance], **settings: Unpack[SolveSettings]) -> Result | list[Result]:
    """Find routes for one problem or many.

    Parameters
    ----------
    instances
        One problem, or many, of any sizes.
    **settings
        The fields of `SolveOptions`: model, decode, samples, temperature, augment, improve, time_limit, iterations,
        target, start, seed, device, threads, progress, on_improvement, is_cancelled.

    Returns
    -------
    Result | list[Result]
        One for each instance, in order. Ctrl-C during a search ends it early, with the best so far.

    Examples
    --------
    >>> result = dynaroute.solve(instance, time_limit=2)
    >>> result.cost, result.method, result.iterations
    """
    entered = time.perf_counter()
    options = SolveOptions(**settings)
    if isinstance(instances, Instance):
        return _solve_all([instances], options, entered)[0]
    many = list(instances) if isinstance(instances, Iterable) else [instances]
    for instance in many:
        if not isinstance(instance, Instance):
            kind = type(instance).__name__
            raise OptionError(
                f"{kind} is no instance.",
                where=Where(field="instances"),
                remedy="Give what dynaroute.read returns, or a list of them.",
            )
    return _solve_all(many, options, entered)


def _solve_all(instances: Sequence[Instance], options: SolveOptions, entered: float) -> list[Result]:
    starts = options.starts_for(instances)
    if options.searches:
        from dynaroute.solving.searching import search_all

        return search_all(instances, starts, options, entered)
    if starts is not None:
        return _improve(_take_starts(instances, starts, options.progress), options)
    return _build_all(instances, options)


# Choose


def _build_all(instances: Sequence[Instance], options: SolveOptions) -> list[Result]:
    """Construct and improve; instances for which the same model is chosen, together."""
    groups: defaultdict[str | Path | Policy, list[int]] = defaultdict(list)
    for index, instance in enumerate(instances):
        groups[_choose_model(instance, options)].append(index)
    results: dict[int, Result] = {}
    for model, indices in groups.items():
        group = [instances[index] for index in indices]
        results |= zip(indices, _build_group(group, model, options), strict=True)
    return [results[index] for index in range(len(instances))]


def _choose_model(instance: Instance, options: SolveOptions) -> str | Path | Policy:
    """The model for this instance; "savings" where there is none for it."""
    if instance.coordinates is None:
        return "savings"
    if options.model != "auto":
        return options.model
    from dynaroute.weights import nearest_shipped_model

    return nearest_shipped_model(instance.size) or "savings"


def _build_group(instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions) -> list[Result]:
    if model == "savings":
        built = [_construct_by_savings(instance, options.progress) for instance in instances]
        return _improve([_note_lack_of_policy(result, options) for result in built], options)
    try:
        by_policy = _improve(_construct_by_policy(instances, model, options), options)
    except OutOfTimeError:
        built = [_construct_by_savings(instance, None) for instance in instances]
        return [replace(result, is_interrupted=True, messages=(_CANCELLED,)) for result in built]
    if options.model != "auto":
        return by_policy
    # A policy can be far off on instances unlike those it was trained on. Nobody should get that silently. Improving
    # both takes no time beside the policy, and what was behind may be ahead then.
    by_savings = _improve([_construct_by_savings(instance, None) for instance in instances], options)
    return [_better(*pair) for pair in zip(by_policy, by_savings, strict=True)]


# Construct


def _construct_by_savings(instance: Instance, progress: Callable[[int], None] | None) -> Result:
    start = time.perf_counter()
    solution = build_by_savings(instance)
    result = Result(instance, solution, solution.cost(instance), time.perf_counter() - start, "savings")
    if progress is not None:
        progress(1)
    return result


def _construct_by_policy(
    instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions
) -> list[Result]:
    built = build_by_policy(instances, model, options)
    share = built.seconds / len(instances)
    return [
        Result(instance, solution, solution.cost(instance), share, options.decoding, built.model)
        for instance, solution in zip(instances, built.routes.to_solutions(built.batch), strict=True)
    ]


def _take_starts(
    instances: Sequence[Instance], starts: Sequence[Solution], progress: Callable[[int], None] | None
) -> list[Result]:
    if progress is not None:
        progress(len(instances))
    return [
        Result(instance, start, start.cost(instance), 0.0, "start")
        for instance, start in zip(instances, starts, strict=True)
    ]


# Improve


def _improve(built: Sequence[Result], options: SolveOptions) -> list[Result]:
    """Improve what was built, all of it side by side."""
    improver = IMPROVERS.get(options.way)
    if improver is None or not built:
        return list(built)
    began = time.perf_counter()
    instances, solutions = [result.instance for result in built], [result.solution for result in built]
    improved = improver.improve(instances, solutions, options.threads)
    share = (time.perf_counter() - began) / len(built)
    return [
        _report_improvement(before, after, share, options.improving)
        for before, after in zip(built, improved, strict=True)
    ]


# Report


def _report_improvement(before: Result, solution: Solution, seconds: float, improving: str) -> Result:
    cost, in_all = solution.cost(before.instance), before.seconds + seconds
    after = replace(
        before,
        solution=solution,
        cost=cost,
        seconds=in_all,
        method=f"{before.method} + {improving}",
        trace=((before.seconds, before.cost), (in_all, cost)),
    )
    return replace(after, messages=(*before.messages, after.improvement))


def _better(by_policy: Result, by_savings: Result) -> Result:
    winner, loser = (by_policy, by_savings) if by_policy.cost <= by_savings.cost else (by_savings, by_policy)
    message = f"{winner.how} and {loser.how} cost the same."
    if loser.cost > winner.cost > 0:
        excess = 100 * (loser.cost / winner.cost - 1)
        message = f"{winner.how} was better than {loser.how}, which costs {excess:.1f} % more."
    return replace(winner, seconds=by_policy.seconds + by_savings.seconds, messages=(message, *winner.messages))


def _note_lack_of_policy(result: Result, options: SolveOptions) -> Result:
    if result.instance.coordinates is None and options.model != "savings":
        return replace(
            result, messages=("There are no coordinates for a policy to read, so savings built the routes.",)
        )
    if options.model == "auto":
        return replace(result, messages=("No trained model ships with this version, so savings built the routes.",))
    return result
