"""Judging a plan that is read: it may be wrong only where it says so itself."""

from __future__ import annotations

from dynaroute.base.display import count_of
from dynaroute.base.errors import PlanError, Where, warn_of_each
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

_MOST_NAMED = 1_000


def refuse_hidden_faults(instance: Instance, solution: Solution, source: str = "") -> None:
    """Raise if a plan is wrong and does not say so; warn of what it says is wrong.

    Parameters
    ----------
    instance, solution
        The plan's problem, and its routes with what they state.
    source
        The file's path, for warnings.

    Raises
    ------
    PlanError
        The error names all faults that the plan does not state.
    """
    violations = check(instance, solution)
    admits = solution.statements.admits
    hidden = [found for found in violations if not admits(found.kind, found.route, found.customer)]
    if hidden:
        named = " ".join(found.message for found in hidden[:_MOST_NAMED])
        more = f" And {len(hidden) - _MOST_NAMED:,} more." if len(hidden) > _MOST_NAMED else ""
        raise PlanError(
            f"this plan is wrong, and hides {count_of(len(hidden), 'fault')}: {named}{more}",
            violations=[found.to_json() for found in hidden],
            where=Where(field="routes"),
            remedy="Correct the plan, or make it again: dynaroute solve INSTANCE --out PLAN.",
        )
    stated = [found.message for found in violations]
    warn_of_each(source, stated, lambda message: f"this plan is wrong, as it says itself: {message}")
