"""SolveOptions: how to solve, checked when it is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from dynaroute.errors import OptionError, SolutionError, Where
from dynaroute.instance import Instance
from dynaroute.solution import Solution, check

if TYPE_CHECKING:
    from dynaroute.improve.search import Improvement
    from dynaroute.model import Policy

__all__ = ["USUAL_TIME_LIMIT", "Decode", "Improve", "SolveOptions", "SolveSettings", "refuse_wrong_start"]

Decode = Literal["greedy", "sample", "multistart"]
Improve = Literal["none", "2opt", "local", "search"]

USUAL_TIME_LIMIT = 10.0  # seconds of a search that was given no end


class SolveSettings(TypedDict, total=False):
    """The keywords of `solve`, each with the meaning and the default it has in `SolveOptions`."""

    model: str | Path | Policy
    decode: Decode
    samples: int
    temperature: float
    augment: bool
    improve: Improve | None
    time_limit: float | None
    iterations: int | None
    target: float | None
    start: Solution | Sequence[Solution] | None
    seed: int
    device: str
    threads: int | None
    progress: Callable[[int], None] | None
    on_improvement: Callable[[int, Improvement], None] | None
    is_cancelled: Callable[[], bool] | None


@dataclass(frozen=True)
class SolveOptions:
    """How to solve.

    Attributes
    ----------
    model
        "auto": the shipped model of the nearest size, and savings beside it, whichever is better; a search starts from
        savings alone. "savings": no policy. Else a shipped model's name, a folder, or a policy.
    decode
        How the policy's next node is chosen.
    samples
        Number of samples, or of starts of multistart.
    temperature
        Of sampling.
    augment
        Whether to decode in all eight orientations of the square.
    improve
        "none"; "2opt": each route to a local optimum; "local": local search within and between routes; "search": goes
        on until its end. None: "search" where time_limit, iterations or target is given, else "none".
    time_limit
        Seconds of a search for each instance, counted from entering `solve`, or from when an instance of many is
        taken up. A search with neither this nor iterations gets 10 s.
    iterations
        Of a search. A seed and a number of iterations determine the routes, for a given number of threads, if there is
        neither a time limit nor a target.
    target
        A cost at which a search ends early.
    start
        Known routes to improve, instead of building some: one solution, or one for each instance.
    seed
        Of sampling and of the search.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", ...
    threads
        Processor cores to use; None: one for a single search, else all of them.
    progress
        Called with the number of instances finished since the last call.
    on_improvement
        Called with the index of an instance and a better solution that a search has found, the first included; of
        those in quick succession with the last. Where there are many instances, from several threads.
    is_cancelled
        Asked again and again; true ends the search, and the best so far is returned. A policy that is building is
        given up, too: savings are returned then.
    """

    model: str | Path | Policy = "auto"
    decode: Decode = "greedy"
    samples: int = 16
    temperature: float = 1.0
    augment: bool = False
    improve: Improve | None = None
    time_limit: float | None = None
    iterations: int | None = None
    target: float | None = None
    start: Solution | Sequence[Solution] | None = None
    seed: int = 0
    device: str = "auto"
    threads: int | None = None
    progress: Callable[[int], None] | None = None
    on_improvement: Callable[[int, Improvement], None] | None = None
    is_cancelled: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        _refuse_unknown_choice("decode", "decoding", self.decode, get_args(Decode))
        if self.improve is not None:
            _refuse_unknown_choice("improve", "way to improve", self.improve, get_args(Improve))
        if not _is_whole(self.seed) or not 0 <= self.seed < 2**63:
            raise _fault("seed", f"the seed is {self.seed!r}.", "Give a whole number from 0 to 2^63 - 1.")
        if self.time_limit is not None and not (_is_finite(self.time_limit) and self.time_limit > 0):
            raise _fault("time_limit", f"the time limit is {self.time_limit!r}.", "Give a number of seconds above 0.")
        for name in ("iterations", "threads"):
            value = getattr(self, name)
            if value is not None and not (_is_whole(value) and value >= 1):
                raise _fault(name, f"{name} is {value!r}.", "Give a whole number above 0, or leave it out.")
        if self.target is not None and not _is_finite(self.target):
            raise _fault("target", f"the target is {self.target!r}.", "Give a cost in the unit of the instance.")
        self._refuse_clashes()

    def _refuse_clashes(self) -> None:
        for name in ("time_limit", "iterations", "target"):
            if getattr(self, name) is not None and not self.searches:
                message = f"improve is {self.improve!r}, and only a search has a {name.replace('_', ' ')}."
                raise _fault(name, message, "Leave it out, or use improve 'search'.")
        if self.start is None:
            return
        if self.way == "none":
            raise _fault("start", "known routes are there to be improved.", "Add improve 'local', or a time limit.")
        if self.model != "auto":
            raise _fault("start", "routes are given, so no model builds any.", "Leave the start or the model out.")

    @property
    def way(self) -> Improve:
        """How routes are improved: what was asked for, or what follows from a limit that was given."""
        if self.improve is not None:
            return self.improve
        is_limited = any(limit is not None for limit in (self.time_limit, self.iterations, self.target))
        return "search" if is_limited else "none"

    @property
    def searches(self) -> bool:
        """Whether there is a search, which takes the time it is given."""
        return self.way == "search"

    @property
    def search_seconds(self) -> float | None:
        """The time of a search; None where the iterations alone end it."""
        if self.time_limit is None and self.iterations is None:
            return USUAL_TIME_LIMIT
        return self.time_limit

    @property
    def decoding(self) -> str:
        """The decoding in words, for reports."""
        count = "" if self.decode == "greedy" else f" {self.samples}"
        return f"{self.decode}{count}{' x8' if self.augment else ''}"

    @property
    def improving(self) -> str:
        """The way to improve in words, for reports; empty if there is none."""
        if self.searches:
            seconds = self.search_seconds
            return f"search {self.iterations} iterations" if seconds is None else f"search {seconds:g} s"
        return {"none": "", "2opt": "2opt", "local": "local search"}[self.way]

    @property
    def method(self) -> str:
        """Decoding and improving in words."""
        return f"{self.decoding} + {self.improving}" if self.improving else self.decoding

    def starts_for(self, instances: Sequence[Instance]) -> list[Solution] | None:
        """The known routes for each instance, checked; None if there are none.

        Parameters
        ----------
        instances
            All that will be solved.

        Raises
        ------
        OptionError
            If there is not one for each instance.
        SolutionError
            If one is wrong for its instance.
        """
        if self.start is None:
            return None
        starts = [self.start] if isinstance(self.start, Solution) else list(_listed(self.start))
        for start in starts:
            if not isinstance(start, Solution):
                kind = type(start).__name__
                raise _fault("start", f"{kind} is no solution.", "Give what dynaroute.read_solution returns.")
        if len(starts) != len(instances):
            message = f"the number of known solutions is {len(starts)}, that of instances {len(instances)}."
            raise _fault("start", message, "Give one for each.")
        for number, (instance, start) in enumerate(zip(instances, starts, strict=True), start=1):
            refuse_wrong_start(instance, start, number if len(starts) > 1 else None)
        return starts


def _refuse_unknown_choice(field: str, noun: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise _fault(field, f"there is no {noun} {value!r}.", f"Use {', '.join(choices)}.")


def refuse_wrong_start(instance: Instance, start: Solution, number: int | None = None) -> None:
    """Refuse known routes that are wrong for their instance, in the words of `check`.

    Parameters
    ----------
    instance, start
        The problem, and the routes.
    number
        Which of many instances it is, from 1.
    """
    # what a file states as its cost does not matter here
    violations = check(instance, Solution(start.routes))
    if not violations:
        return
    called = instance.name or ("" if number is None else f"instance {number}")
    whose = f" for {called}" if called else ""
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    raise SolutionError(
        f"the known routes{whose} are wrong: {violations[0].message}{more}",
        where=Where(field="start", customer=violations[0].customer),
        remedy="dynaroute check tells more.",
    )


def _listed(start: Any) -> list[Any]:
    try:
        return list(start)
    except TypeError:
        return [start]


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _fault(field: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=field), remedy=remedy)
