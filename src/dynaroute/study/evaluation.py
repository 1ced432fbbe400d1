"""Mean route length of a method over many instances, and its gap to a reference."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Unpack

from dynaroute.base.errors import InstanceError, OptionError, UnsupportedError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.improvers import IMPROVERS
from dynaroute.solving.building import BuiltRoutes, build_by_policy
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result, Start, describe_method
from dynaroute.solving.solve import SolveSettings, read_settings, solve_all

if TYPE_CHECKING:
    from dynaroute.batch import RouteBatch

__all__ = ["Evaluation", "evaluate", "evaluate_all", "sum_up_gaps"]

_CHECKED = 16  # solutions checked per evaluation: enough to show a fault, too few to take time


@dataclass(frozen=True)
class Evaluation:
    """Results of a method on a set of instances.

    Attributes
    ----------
    count
        Number of instances.
    mean_length
        Mean cost of the solutions.
    standard_error
        Standard error of that mean; None for a single instance.
    seconds_per_instance
        Mean time to build and improve routes, without loading the policy and reading instances. The time of a search
        counts for its own instance, even if other instances are searched on other cores meanwhile.
    gap
        mean_length / mean reference - 1, a fraction; None without a reference.
    methods
        For how many instances each model or method gave the best solution; several under "auto".
    lengths
        Cost of each instance.
    gaps
        Gap of each instance to its best known cost, in percent; None if no such costs were given.
    """

    count: int
    mean_length: float
    standard_error: float | None
    seconds_per_instance: float
    gap: float | None
    methods: Mapping[str, int]
    lengths: tuple[float, ...] = ()
    gaps: tuple[float, ...] | None = None

    def to_json(self) -> dict[str, int | float | None]:
        """Return the figures under the keys of ``dynaroute evaluate --json``."""
        document: dict[str, int | float | None] = {
            "count": self.count,
            "mean_length": self.mean_length,
            "standard_error": self.standard_error,
            "seconds_per_instance": self.seconds_per_instance,
        }
        if self.gap is not None:
            document["gap"] = self.gap
        return document if self.gaps is None else {**document, **sum_up_gaps(self.gaps)}


def sum_up_gaps(gaps: Sequence[float]) -> dict[str, float]:
    """Return mean, median and worst gap under the keys of ``dynaroute evaluate --json``."""
    return {"mean_gap": statistics.fmean(gaps), "median_gap": statistics.median(gaps), "worst_gap": max(gaps)}


def evaluate(
    instances: Sequence[Instance],
    *,
    reference: float | Sequence[float] | None = None,
    best: Sequence[float] | None = None,
    **settings: Unpack[SolveSettings],
) -> Evaluation:
    """Solve all instances and average their costs.

    Unlike `solve`, a named policy is not replaced by savings: an instance that it cannot read is an error. `check`
    verifies a sample of the solutions.

    Parameters
    ----------
    instances
        At least one, of any sizes.
    reference
        Mean length to compare with, or the cost of each instance.
    best
        The best known cost of each instance, to compute its gap.
    **settings
        The keywords of `solve`.

    Raises
    ------
    KeyboardInterrupt
        If a search was interrupted: the figures would not be those of the full run.

    Examples
    --------
    >>> evaluate(dynaroute.read_set("test100.npz"), model="amd-100", reference=15.563).gap
    """
    options, observers = read_settings(settings)
    return evaluate_all(list(instances), options, observers, reference, best)


def evaluate_all(
    problems: Sequence[Instance],
    options: SolveOptions,
    observers: Observers,
    reference: float | Sequence[float] | None,
    best: Sequence[float] | None = None,
) -> Evaluation:
    """Do what `evaluate` does, given checked options."""
    if not problems:
        raise InstanceError("there is no instance to evaluate.", remedy="Give at least one.")
    mean_reference = None if reference is None else _mean_reference(reference, len(problems))
    if best is not None:
        _require_costs(best, len(problems))
    if options.model in ("auto", "savings") or options.searches or options.is_active:
        measured = _measure_results(solve_all(problems, options, observers))
    else:
        measured = _measure_policy(problems, options, observers)
    count, mean = len(problems), statistics.fmean(measured.lengths)
    return Evaluation(
        count=count,
        mean_length=mean,
        standard_error=None if count == 1 else statistics.stdev(measured.lengths, mean) / math.sqrt(count),
        seconds_per_instance=measured.seconds / count,
        gap=None if mean_reference is None else mean / mean_reference - 1,
        methods=measured.methods,
        lengths=tuple(measured.lengths),
        gaps=None if best is None else _find_gaps(measured.lengths, best),
    )


def _find_gaps(lengths: Sequence[float], best: Sequence[float]) -> tuple[float, ...]:
    return tuple(100 * (length / cost - 1) for length, cost in zip(lengths, best, strict=True))


def _require_costs(best: Sequence[float], count: int) -> None:
    if len(best) != count or not all(0 < cost < math.inf for cost in best):
        remedy = "Give a cost above 0 for each instance."
        raise OptionError.about("best", f"the best known costs do not match the {count} instances.", remedy)


class _MethodLengths(NamedTuple):
    """Lengths of all solutions, total seconds, and for how many instances each method was best."""

    lengths: list[float]
    seconds: float
    methods: Counter[str]


def _measure_results(results: Sequence[Result]) -> _MethodLengths:
    if any(result.is_interrupted for result in results):
        raise KeyboardInterrupt
    for result in results:
        _refuse_broken_limits(result)
    for result in results[_pick_some(len(results))]:
        require_right(result.instance, result.solution)
    return _MethodLengths(
        [result.cost for result in results],
        math.fsum(result.seconds for result in results),
        Counter(result.model_and_method for result in results),
    )


def _measure_policy(instances: Sequence[Instance], options: SolveOptions, observers: Observers) -> _MethodLengths:
    """Measure on tensors, which is faster than making ten thousand `Solution` objects."""
    built = build_by_policy(instances, options.model, options, observers)
    began = time.perf_counter()
    routes = _improve(built, options)
    seconds = built.seconds + time.perf_counter() - began
    # all of them where there are rules beyond capacity, which can be broken in more ways
    some = _pick_some(len(instances)) if built.batch.rules is None else slice(None)
    for instance, solution in zip(instances[some], routes[some].to_solutions(built.batch[some]), strict=True):
        require_right(instance, solution)
    method = describe_method(Start.by_policy(built.model, options.decoding), options.improver, options.limit)
    methods = Counter({f"{built.model} ({method})": len(instances)})
    return _MethodLengths(routes.lengths(built.batch).tolist(), seconds, methods)


def _improve(built: BuiltRoutes, options: SolveOptions) -> RouteBatch:
    if options.improver not in IMPROVERS:
        return built.routes
    if built.batch.rules is not None:
        raise UnsupportedError(
            f"improve {options.improver!r} only handles capacities, not time windows, limits or vehicle types.",
            remedy="Leave it out, or give a time limit.",
        )
    return IMPROVERS[options.improver]().improve_tensors(built.batch, built.routes, threads=options.threads)


def _pick_some(count: int) -> slice:
    """Pick a few indices, spread over all."""
    return slice(None, None, -(-count // _CHECKED))


def _refuse_broken_limits(result: Result) -> None:
    """Refuse plans that break limits or leave customers out: they would look short."""
    if result.violations:
        raise UnsupportedError(
            f"no feasible plan was found for {result.instance.name or 'an instance'} in the time given: "
            f"{result.violations[0].message}",
            remedy="Give more time, or leave the instance out.",
        )


def require_right(instance: Instance, solution: Solution) -> None:
    """Raise if a solver's routes are wrong, which would be a mistake of the solver."""
    if violations := check(instance, solution):
        raise AssertionError(f"a solution is wrong: {violations[0].message}")


def _mean_reference(reference: float | Sequence[float], count: int) -> float:
    costs = reference if isinstance(reference, Sequence) else [reference]
    if isinstance(reference, Sequence) and len(costs) != count:
        raise OptionError.about(
            "reference", f"there are {len(costs)} costs for {count} instances.", "Give one for each, or their mean."
        )
    if not all(math.isfinite(cost) and cost >= 0 for cost in costs) or not any(costs):
        raise OptionError.about(
            "reference", "the reference is not a length above 0.", "Give a length in the unit of the instances."
        )
    return statistics.fmean(costs)
