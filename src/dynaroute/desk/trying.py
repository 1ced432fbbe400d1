"""Searching other days: each variant of a problem from the same routes and for the same time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import InstanceError
from dynaroute.base.machine import choose_device
from dynaroute.desk.variants import OtherDay
from dynaroute.desk.visits import PlanFigures, figure_plan
from dynaroute.plans.plan import Plan
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import judge_route
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.statements import NO_STATEMENTS, Statements
from dynaroute.problem.unserved import explain_unserved
from dynaroute.solving.result import Result
from dynaroute.solving.solve import solve

USUAL_SECONDS = 1.0


@dataclass(frozen=True)
class SearchTime:
    """How each variant is searched: seconds, cores for all of them, the seed, and what ends all of them early."""

    seconds: float = USUAL_SECONDS
    threads: int | None = None
    seed: int = 0
    is_cancelled: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Trial:
    """What was found for a variant.

    Attributes
    ----------
    variant
        What was searched.
    plan
        The best plan, judged; None if none was found that serves all who must be served within all limits.
    seconds
        How long the search took.
    reason
        Why there is no plan, as far as that is known.
    """

    variant: OtherDay
    plan: Plan | None
    seconds: float
    reason: str = ""

    @property
    def figures(self) -> PlanFigures | None:
        """What the plan comes to."""
        return None if self.plan is None else figure_plan(self.plan)

    @property
    def cost(self) -> float:
        """Cost of the plan; infinite without one."""
        return math.inf if self.plan is None else self.plan.cost


@dataclass(frozen=True)
class TriedDays:
    """A plan searched on, and what else was tried.

    Attributes
    ----------
    base
        The plan's own problem, searched like the others.
    trials
        The others, in the order asked for.
    """

    base: Trial
    trials: tuple[Trial, ...]


def what_if(plan: Plan, variants: Sequence[OtherDay], search: SearchTime | None = None) -> TriedDays:
    """Search a plan's own problem and others, all from this plan and for the same time.

    Where the plan that was found for the day as it is also fits another problem, that one never costs more.

    Parameters
    ----------
    plan
        The plan to start from.
    variants
        The other problems.
    search
        How to search each.
    """
    base = OtherDay("the plan as it is", "plan", plan.instance)
    trials = try_variants([base, *variants], plan.solution, search or SearchTime())
    return TriedDays(trials[0], tuple(_use_better(each, trials) for each in trials[1:]))


def try_variants(variants: Sequence[OtherDay], known: Solution, search: SearchTime) -> list[Trial]:
    """Search variants from the same routes: on a GPU all at once, else as many at a time as there are cores.

    Parameters
    ----------
    variants
        The problems.
    known
        Routes of the original problem. What of them does not fit a variant is left to its search.
    search
        How to search each.
    """
    reasons = [_find_impossible(variant.instance) for variant in variants]
    possible = [variant for variant, reason in zip(variants, reasons, strict=True) if not reason]
    results = iter(_search(possible, known, search) if possible else [])
    trials = []
    for variant, reason in zip(variants, reasons, strict=True):
        if reason:
            trials.append(Trial(variant, None, 0.0, reason))
            continue
        result = next(results)
        trials.append(_judge(variant, result.solution, result.seconds))
    return trials


def _search(variants: Sequence[OtherDay], known: Solution, search: SearchTime) -> list[Result]:
    instances = [variant.instance for variant in variants]
    if not known.routes or not choose_device(None).startswith("cuda"):
        return solve(
            instances,
            start=[fit_routes(known, variant) for variant in variants] if known.routes else None,
            time_limit=search.seconds,
            threads=search.threads,
            seed=search.seed,
            is_cancelled=search.is_cancelled,
        )
    from dynaroute.solving.variants import VariantSearch, solve_variants

    starts = [fit_routes(known, variant) for variant in variants]
    how = VariantSearch(search.seconds, search.threads, search.seed, is_cancelled=search.is_cancelled)
    return solve_variants(instances, starts, how)


def trials_to_json(tried: TriedDays) -> dict[str, object]:
    """Return the keys of ``dynaroute what-if --json`` and ``/v1/what-if``."""
    base, unit = tried.base, tried.base.variant.instance.unit
    return {
        "unit": unit,
        "base": _trial_to_json(base, base),
        "variants": [_trial_to_json(t, base) for t in tried.trials],
    }


def _trial_to_json(trial: Trial, base: Trial) -> dict[str, object]:
    figures = trial.figures
    change = None if math.isinf(trial.cost) or math.isinf(base.cost) else plain_number(trial.cost - base.cost)
    return {
        "name": trial.variant.name,
        "kind": trial.variant.kind,
        "possible": trial.plan is not None,
        "figures": None if figures is None else figures.to_json(),
        "change": change,
        "seconds": trial.seconds,
        "reason": trial.reason,
    }


def _find_impossible(instance: Instance) -> str:
    """Say why certainly no plan exists; empty if one may."""
    try:
        refuse_impossible(instance)
    except InstanceError as error:
        return error.message
    return ""


def _judge(variant: OtherDay, found: Solution, seconds: float) -> Trial:
    """Take a plan only if the independent checker finds nothing wrong."""
    instance = variant.instance
    solution = Solution(found.routes, vehicles=found.vehicle_types(instance) if instance.vehicles else None)
    violations = check(instance, solution)
    if not violations:
        return Trial(variant, Plan(instance, solution), seconds)
    missing = explain_unserved(instance, solution, 1)
    words = (
        f"{instance.customer_name(missing[0].customer)}: {missing[0].reason}"
        if missing
        else violations[0].message.removesuffix(".")
    )
    return Trial(variant, None, seconds, f"none was found in the time given; {words}")


def _use_better(trial: Trial, others: Sequence[Trial]) -> Trial:
    """Take the plan of the day as it is, or of another number of vehicles, where it fits and costs less."""
    best = trial
    for other in others:
        is_near = other.variant.kind == "plan" or other.variant.kind == trial.variant.kind == "vehicles"
        if other.plan is None or not is_near or other.cost >= best.cost:
            continue
        solution = (
            _translate(other.plan.solution, trial.variant) if other.variant.kind == "plan" else other.plan.solution
        )
        if solution is not None and not check(trial.variant.instance, solution):
            best = Trial(trial.variant, Plan(trial.variant.instance, solution), trial.seconds)
    return best


def _translate(solution: Solution, variant: OtherDay) -> Solution | None:
    """Give routes the variant's types; None if one of them is gone."""
    if solution.vehicles is None or variant.kinds is None:
        return Solution(solution.routes, vehicles=solution.vehicles)
    kinds = [variant.kinds[kind] for kind in solution.vehicles]
    return None if -1 in kinds else Solution(solution.routes, vehicles=tuple(kinds))


def fit_routes(known: Solution, variant: OtherDay) -> Solution:
    """Keep of known routes what is right in a variant; the other customers wait for the search."""
    instance = variant.instance
    stated = known.vehicles if known.vehicles is not None else (0,) * len(known.routes)
    if known.vehicles is None and known.vehicle_names is not None:
        stated = known.vehicle_types(instance)
    kinds = stated if variant.kinds is None else tuple(variant.kinds[kind] for kind in stated)
    kept: list[tuple[tuple[int, ...], int]] = []
    used: dict[int, int] = {}
    for route, kind in sorted(zip(known.routes, kinds, strict=True), key=lambda pair: -len(pair[0])):
        count = instance.fleet[kind].count if kind >= 0 else 0
        is_free = kind >= 0 and (count is None or used.get(kind, 0) < count)
        if is_free and next(judge_route(instance, 0, route, instance.fleet[kind]), None) is None:
            kept.append((route, kind))
            used[kind] = used.get(kind, 0) + 1
    start = Solution(tuple(route for route, _ in kept), vehicles=tuple(kind for _, kind in kept))
    if any(not found.is_absence for found in check(instance, start)):
        start = Solution((), vehicles=())
    if instance.is_plain:  # there is a vehicle for everybody
        alone = tuple((customer,) for customer in start.unserved(instance))
        return Solution((*start.routes, *alone))
    waiting = tuple(start.unserved(instance))
    return replace(start, statements=replace(NO_STATEMENTS, waiting=waiting) if waiting else Statements())
