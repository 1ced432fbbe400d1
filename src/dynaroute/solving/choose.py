"""How each instance is solved: which start, which search, on which device, with which machine code.

`choose` is asked once for all instances of a call; what builds and searches follows its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import UnsupportedError
from dynaroute.base.limits import (
    LARGEST_MATRIX,
    memory_for_limits,
    memory_for_savings,
    memory_for_search,
    require_memory,
)
from dynaroute.base.machine import choose_device, count_cores
from dynaroute.problem.instance import Instance
from dynaroute.search.improvers import MachineCode, load_machine_code, needs_limits
from dynaroute.search.rules import count_matrices, name_rules_code
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import StartKind

if TYPE_CHECKING:
    from dynaroute.model import Policy

_LEAST_SECONDS_BESIDE = 1.0
MOST_IN_PAIRS = 5000  # customers; below this there is always enough memory, and time for the savings of all pairs


@dataclass(frozen=True)
class Approach:
    """How an instance is solved.

    Attributes
    ----------
    start
        How the first routes are built.
    model
        The policy that builds them; None: none does.
    is_compared
        Whether savings, or with limits insertion, compete with the policy, because nobody asked for this policy.
    is_together
        Whether a GPU searches all instances at once.
    is_beside
        Whether a GPU and the cores search the only instance together.
    machine_code
        What must be loaded before any clock starts.
    message
        Why the start is not what was asked for; empty if it is.
    """

    start: StartKind
    model: str | Path | Policy | None = None
    is_compared: bool = False
    is_together: bool = False
    is_beside: bool = False
    machine_code: frozenset[MachineCode] = frozenset()
    message: str = ""


def choose(instances: Sequence[Instance], options: SolveOptions, *, is_started: bool = False) -> list[Approach]:
    """Choose how to solve each instance.

    Parameters
    ----------
    instances, options
        What to solve, and what was asked for.
    is_started
        Whether there are known routes.

    Raises
    ------
    UnsupportedError
        If there is too little memory, or the improver asked for does not support an instance.
    """
    for instance in instances:
        _refuse_too_large(instance, options)
        _refuse_improving_limits(instance, options)
    if _can_be_beside(instances, options):
        threads = replace(options, threads=count_cores_beside(options))
        return [replace(_choose_one(instances[0], threads, is_started), is_beside=True)]
    if _can_be_together(instances, options):
        return choose_together(instances, options, is_started=is_started)
    return [_choose_one(instance, options, is_started) for instance in instances]


def count_cores_beside(options: SolveOptions) -> int:
    """Count the cores that search beside a GPU: those asked for, or all but one, which drives the GPU."""
    return options.threads or max(1, count_cores() - 1)


def _can_be_beside(instances: Sequence[Instance], options: SolveOptions) -> bool:
    """Whether a GPU is there to search the only instance beside the cores, for long enough to gain anything."""
    seconds = options.search_seconds if options.searches and options.iterations is None else None
    if len(instances) != 1 or seconds is None or seconds < _LEAST_SECONDS_BESIDE:
        return False
    (instance,) = instances
    if not instance.is_plain and instance.size > MOST_IN_PAIRS:  # rules need tables of all legs
        return False
    return _is_known_on_gpu(instances, options)


def _can_be_together(instances: Sequence[Instance], options: SolveOptions) -> bool:
    """Whether a GPU is there to search all instances at once, and its kernels know what they ask for."""
    if options.total_time is None or not _is_known_on_gpu(instances, options):
        return False
    from dynaroute.search.gpu.batched_search import LARGEST

    return all(instance.size <= LARGEST for instance in instances)


def _is_known_on_gpu(instances: Sequence[Instance], options: SolveOptions) -> bool:
    """Whether there is a GPU whose kernels know what instances ask for."""
    if options.objective == "vehicles" or not choose_device(options.device).startswith("cuda"):
        return False
    from dynaroute.search.gpu.kernel_rules import can_search

    return all(map(can_search, instances))


def choose_together(instances: Sequence[Instance], options: SolveOptions, *, is_started: bool) -> list[Approach]:
    """Choose how to solve instances on a GPU at once: from a policy's routes unless told otherwise.

    Where there are rules beyond capacity, the kernels insert the customers themselves.
    """
    from dynaroute.weights import nearest_shipped_model

    approaches = []
    for instance in instances:
        model = nearest_shipped_model(instance.size) if options.model == "auto" else options.model
        if is_started:
            approaches.append(Approach("given", is_together=True))
        elif not instance.is_plain:  # where vehicles are few, the cores insert
            is_limited = any(kind.count is not None for kind in instance.fleet)
            code = frozenset(_list_machine_code(instance, options)) if is_limited else frozenset[MachineCode]()
            approaches.append(Approach("insertion", is_together=True, machine_code=code))
        elif model in (None, "savings") or instance.coordinates is None:
            approaches.append(Approach("savings", is_together=True))
        else:
            approaches.append(Approach("policy", model, is_together=True))
    return approaches


def load_code(approaches: Iterable[Approach]) -> None:
    """Load all machine code that these approaches need, compiling it if necessary."""
    load_machine_code(sorted(frozenset[MachineCode]().union(*(each.machine_code for each in approaches))))


def _choose_one(instance: Instance, options: SolveOptions, is_started: bool) -> Approach:
    code = frozenset(_list_machine_code(instance, options))
    if is_started:
        return Approach("given", machine_code=code)
    is_asked = options.model not in ("auto", "savings")
    consequence = "the search starts from {}." if options.searches else "{} built the routes."
    if needs_limits(instance, options.objective if options.searches else None):
        if (knowing := _find_policy_with_rules(instance, options)) is not None:
            return Approach("policy", knowing, is_compared=not is_asked, machine_code=code)
        is_told = is_asked or (bool(options.given_decoding) and not options.searches)
        message = f"Policies and savings only handle capacities, so {consequence.format('insertion')}"
        return Approach("insertion", machine_code=code, message=message if is_told else "")
    if instance.coordinates is None:
        is_told = is_asked or (options.model == "auto" and not options.searches)
        message = f"Policies need coordinates, and there are none, so {consequence.format('savings')}"
        return Approach("savings", machine_code=code, message=message if is_told else "")
    if is_asked:
        return Approach("policy", options.model, machine_code=code)
    if options.model == "savings" or options.searches:  # from a policy, a search of one core ends no better
        return Approach("savings", machine_code=code)
    from dynaroute.weights.choice import NO_MODEL, choose_model

    model = choose_model(instance).name
    if model == NO_MODEL:
        message = "No trained model ships with this version, so savings built the routes."
        return Approach("savings", machine_code=code, message=message)
    return Approach("policy", model, is_compared=True, machine_code=code)


def _find_policy_with_rules(instance: Instance, options: SolveOptions) -> str | Path | Policy | None:
    """Find the policy for windows and limits: the one asked for or, without a search, the generalist.

    None if it does not know all the rules, or if vehicles count first, which no policy has learned.
    """
    from dynaroute.weights import GENERALIST, read_rules, shipped_models

    model = GENERALIST if options.model == "auto" else options.model
    if instance.coordinates is None or model == "savings":
        return None
    if options.searches and (options.model == "auto" or options.objective == "vehicles"):
        return None
    if isinstance(model, str | Path):
        known = read_rules(model) if str(model) in shipped_models() or model != GENERALIST else frozenset()
    else:
        known = frozenset(model.config.rules)
    if not known:
        return None
    from dynaroute.batch.rules import find_rules

    with suppress(UnsupportedError):
        return model if find_rules(instance) <= known else None
    return None


def _list_machine_code(instance: Instance, options: SolveOptions) -> list[MachineCode]:
    match options.improver:
        case "none" | "active":
            return []
        case "2opt" | "local" as improver:
            return [improver]
    if needs_limits(instance, options.objective):
        return ["search", "limits", *([name_rules_code(instance)] if instance.rules else [])]
    code: list[MachineCode] = ["search"]
    if instance.distances is None and instance.size > LARGEST_MATRIX:
        code.append("large")
    if (options.threads or 1) > 1:
        code.append("teams")
    return code


def _refuse_too_large(instance: Instance, options: SolveOptions) -> None:
    """Raise if there is not enough memory, before a policy works for minutes."""
    size, is_measured = instance.size, instance.distances is not None
    if size < MOST_IN_PAIRS:
        return
    if not instance.is_plain:
        require_memory(memory_for_limits(size, count_matrices(instance)))
        return
    if options.searches or options.improver == "local":
        require_memory(memory_for_search(size, is_measured))
    if not options.searches and options.model in ("auto", "savings") and options.start is None:
        require_memory(memory_for_savings(size) if is_measured else memory_for_search(size))


def _refuse_improving_limits(instance: Instance, options: SolveOptions) -> None:
    if options.improver in ("none", "search", "active") or instance.is_plain:
        return
    raise UnsupportedError.about(
        "improve",
        f"improve {options.improver!r} only handles capacities, not time windows, limits or vehicle types.",
        "Give a time limit, or improve 'search'.",
    )
