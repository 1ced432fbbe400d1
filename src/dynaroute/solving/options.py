"""How to solve: every option declared and checked in one place, which the command line and the service read.

It is light to import, for ``--help``; and options are data alone, so that they can travel to another process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from dynaroute.errors import OptionError, Where
from dynaroute.vocabulary import Objective

if TYPE_CHECKING:
    from dynaroute.improve.search import Improvement
    from dynaroute.model import Policy
    from dynaroute.solution import Solution

__all__ = [
    "DECLARATIONS",
    "USUAL_TIME_LIMIT",
    "Declaration",
    "Decode",
    "Decoding",
    "Improve",
    "Limit",
    "Observers",
    "SolveOptions",
    "choose_search_seconds",
]

Decode = Literal["greedy", "sample", "multistart"]
Improve = Literal["none", "2opt", "local", "search"]

USUAL_TIME_LIMIT = 10.0  # seconds of a search that was given no end

_SECONDS_A_CUSTOMER = 0.01  # of a search that nobody asked for: 1 s at 100 customers, 10 s at 1,000
_SHORTEST_SEARCH, _LONGEST_SEARCH = 0.1, 30.0

_ORIENTATIONS = 8  # of the square
_LIMITS = ("time_limit", "total_time", "iterations", "target")  # of a search alone


def choose_search_seconds(size: int) -> float:
    """How long the command line and the page search an instance of n customers where nothing else is asked for."""
    return min(max(_SHORTEST_SEARCH, _SECONDS_A_CUSTOMER * size), _LONGEST_SEARCH)


@dataclass(frozen=True)
class Declaration:
    """What is to be known of an option, beside its name, its type and its default.

    Attributes
    ----------
    about
        What it is about: the policy that builds the first routes, or improving them.
    help
        What it does, in a line.
    expected
        What to give, in words, where a value is refused.
    choices, noun
        The words that may be given, and what they are called.
    least, most, above
        Limits of a number: the smallest and the largest one allowed, or the largest one that is too small.
    """

    about: Literal["policy", "improvement"]
    help: str
    expected: str = ""
    choices: tuple[str, ...] = ()
    noun: str = ""
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def refuse_wrong(self, entry: Field[Any], value: object) -> None:
        """Refuse a value that is no choice, or no number within the limits."""
        if self.choices and value not in self.choices:
            raise _fault(entry.name, f"there is no {self.noun} {value!r}.", f"Use {', '.join(self.choices)}.")
        if self.expected and not (_is_number(value, entry) and self._allows(value)):
            words = entry.name.replace("_", " ")
            subject = words if words.endswith("s") else f"the {words}"
            raise _fault(entry.name, f"{subject} is {value!r}.", f"Give {self.expected}.")

    def _allows(self, number: Any) -> bool:
        return bool(self.least <= number <= self.most and number > self.above)


def _on_policy(help: str, *, default: object = None, **more: Any) -> Any:
    return field(default=default, metadata={"declaration": Declaration("policy", help, **more)})


def _on_improvement(help: str, **more: Any) -> Any:
    return field(default=None, metadata={"declaration": Declaration("improvement", help, **more)})


@dataclass(frozen=True)
class Decoding:
    """How a policy decodes, nothing left open.

    Attributes
    ----------
    decode, samples, temperature, augment
        As in `SolveOptions`.
    """

    decode: Decode = "greedy"
    samples: int = 16
    temperature: float = 1.0
    augment: bool = False

    @property
    def attempts(self) -> int:
        """How many solutions are built of each instance."""
        return (1 if self.decode == "greedy" else self.samples) * (_ORIENTATIONS if self.augment else 1)

    def __str__(self) -> str:
        count = "" if self.decode == "greedy" else f" {self.samples}"
        return f"{self.decode}{count}{' x8' if self.augment else ''}"


@dataclass(frozen=True)
class Limit:
    """How long a search may take; whichever comes first.

    Attributes
    ----------
    seconds
        Of each instance, or of all.
    iterations
        Of each instance.
    is_total
        Whether the seconds are for all instances together.
    """

    seconds: float | None = None
    iterations: int | None = None
    is_total: bool = False

    def __str__(self) -> str:
        if self.seconds is None:
            return f"{self.iterations} iterations"
        return f"{self.seconds:g} s in all" if self.is_total else f"{self.seconds:g} s"


@dataclass(frozen=True)
class SolveOptions:
    """How to solve; None stands for what is not given.

    Attributes
    ----------
    model
        "auto": the shipped model of the nearest size, and savings beside it, whichever is better; a search starts from
        savings alone. "savings": no policy. Else a shipped model's name, a folder, or a policy.
    decode
        How the policy's next node is chosen; None: "greedy".
    samples
        Number of samples, or of starts of multistart; None: 16.
    temperature
        Of sampling; None: 1.
    augment
        Whether to decode in all eight orientations of the square.
    seed
        Of sampling and of the search; None: 0.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", ...; None: "auto".
    improve
        "none"; "2opt": each route to a local optimum; "local": local search within and between routes; "search": goes
        on until its end. None: "search" where time_limit, total_time, iterations or target is given, else "none".
    time_limit
        Seconds of a search for each instance, counted from entering `solve`, or from when an instance of many is
        taken up. A search with neither this nor total_time nor iterations gets 10 s.
    total_time
        Seconds of a search for all instances together, counted from entering `solve`. On a GPU all of them are
        searched at once, from a policy's routes; without one, the time of the cores is shared out.
    iterations
        Of a search. A seed and a number of iterations determine the routes, for a given number of threads, if there is
        neither a time limit nor a target.
    target
        A cost at which a search ends early.
    objective
        "distance": the length of all routes; "vehicles": first their number. None: "distance".
    start
        Known routes to improve, instead of building some: one solution, or one for each instance.
    threads
        Processor cores to use; None: one for a single search, else all of them.

    Raises
    ------
    OptionError
        If a value makes no sense, or an option would have to be disobeyed because of another.
    """

    model: str | Path | Policy = _on_policy(
        "A shipped model, or a folder with one. auto: the shipped one of the nearest size, or savings where that is "
        "better; a search starts from savings. savings: no policy.",
        default="auto",
    )
    decode: Decode | None = _on_policy(
        "greedy: the likeliest stop each time (the default). sample: the best of K samples. multistart: the best of K "
        "first customers.",
        choices=get_args(Decode),
        noun="decoding",
    )
    samples: int | None = _on_policy(
        "Samples, or first customers of multistart; 16 by default.", least=1, expected="a whole number above 0"
    )
    temperature: float | None = _on_policy(
        "Of samples: above 1 wilder, below 1 tamer; 1 by default.",
        least=1e-6,
        most=1e6,
        expected="a number from 1e-06 to 1e+06; greedy decoding is temperature 0",
    )
    augment: bool = _on_policy("Decode in all eight orientations of the map, and keep the best.", default=False)
    seed: int | None = _on_policy(
        "Same seed, same samples; and the same search for a number of iterations. 0 by default.",
        least=0,
        most=2**63 - 1,
        expected="a whole number from 0 to 2^63 - 1",
    )
    device: str | None = _on_policy("cpu, cuda, ...; a GPU by default if there is one.")
    improve: Improve | None = _on_improvement(
        "none (the default). 2opt: within each route. local: within and between routes, milliseconds. search: goes on "
        "until its time is up; the default where a limit is given.",
        choices=get_args(Improve),
        noun="improver",
    )
    time_limit: float | None = _on_improvement(
        "Seconds of the search for each instance; 10 by default. Many instances are searched side by side, on all "
        "cores.",
        above=0,
        expected="a number of seconds above 0",
    )
    total_time: float | None = _on_improvement(
        "Seconds of the search for all instances together, instead of a time for each: at once on a GPU, else shared "
        "out among the cores.",
        above=0,
        expected="a number of seconds above 0",
    )
    iterations: int | None = _on_improvement(
        "Iterations of the search for each instance. Without a time limit, the same seed gives the same routes.",
        least=1,
        expected="a whole number above 0, or leave it out",
    )
    target: float | None = _on_improvement(
        "End the search early at this cost.", expected="a cost in the unit of the instance"
    )
    objective: Objective | None = _on_improvement(
        "What the search makes less. distance: the length of all routes (the default). vehicles: first their number.",
        choices=get_args(Objective),
        noun="objective",
    )
    start: Solution | Sequence[Solution] | None = _on_improvement("Known routes to improve.")
    threads: int | None = _on_improvement(
        "Cores to use; by default all of them for many instances, one for a single search.",
        least=1,
        expected="a whole number above 0, or leave it out",
    )

    def __post_init__(self) -> None:
        for entry in fields(self):
            if (value := getattr(self, entry.name)) is not None:
                DECLARATIONS[entry.name].refuse_wrong(entry, value)
        self._refuse_void_decoding()
        self._refuse_void_limits()
        if self.start is not None and self.improver == "none":
            raise _fault("start", "known routes are there to be improved.", "Add improve 'local', or a time limit.")
        if self.start is not None and self.model != "auto":
            raise _fault("start", "routes are given, so no model builds any.", "Leave the start or the model out.")

    def _refuse_void_decoding(self) -> None:
        if self.model == "savings":
            for name in self.given_decoding:
                raise _fault(name, "savings has no policy to decode.", "Leave the option out, or name a model.")
        if self.samples is not None and self.decode in (None, "greedy"):
            raise _fault("samples", "greedy decoding builds one solution.", "Use decode sample or multistart.")
        if self.temperature is not None and self.decode != "sample":
            raise _fault("temperature", "only samples have a temperature.", "Use decode sample.")

    def _refuse_void_limits(self) -> None:
        if self.time_limit is not None and self.total_time is not None:
            message = "there is a time limit, which is for each instance, and a total time, which is for all of them."
            raise _fault("total_time", message, "Give one of the two.")
        for name in _LIMITS:
            if getattr(self, name) is not None and not self.searches:
                message = f"improve is {self.improve!r}, and only a search has a {name.replace('_', ' ')}."
                raise _fault(name, message, "Leave it out, or use improve 'search'.")

    @property
    def given_decoding(self) -> dict[str, Any]:
        """The options that were given on how to decode."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(Decoding)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    @property
    def decoding(self) -> Decoding:
        """How the policy decodes, with the usual value for what was not given."""
        return Decoding(**self.given_decoding)

    @property
    def usual_seed(self) -> int:
        """The seed, 0 where none was given; a whole number of NumPy becomes one of Python."""
        return int(self.seed or 0)

    @property
    def improver(self) -> Improve:
        """How routes are improved: what was asked for, or what follows from a limit that was given."""
        if self.improve is not None:
            return self.improve
        return "search" if any(getattr(self, name) is not None for name in _LIMITS) else "none"

    @property
    def searches(self) -> bool:
        """Whether there is a search, which takes the time it is given."""
        return self.improver == "search"

    @property
    def search_seconds(self) -> float | None:
        """The time of a search, of each instance or of all; None where the iterations alone end it."""
        if self.total_time is not None:
            return self.total_time
        if self.time_limit is None and self.iterations is None:
            return USUAL_TIME_LIMIT
        return self.time_limit

    @property
    def limit(self) -> Limit | None:
        """How long the search may take; None without one."""
        if not self.searches:
            return None
        iterations = None if self.iterations is None else int(self.iterations)  # NumPy's integers too
        return Limit(self.search_seconds, iterations, self.total_time is not None)

    @property
    def uses_policy(self) -> bool:
        """Whether a policy builds the first routes."""
        if self.model == "auto":
            return not self.searches and self.start is None
        return self.model != "savings"


DECLARATIONS: dict[str, Declaration] = {entry.name: entry.metadata["declaration"] for entry in fields(SolveOptions)}


@dataclass(frozen=True)
class Observers:
    """Who is told while it is solved, and who may end it: callbacks, which stay in their process.

    Attributes
    ----------
    progress
        Called with the number of instances finished since the last call.
    on_improvement
        Called with the index of an instance and a better solution that a search has found, the first included; of
        those in quick succession with the last. Where there are many instances, from several threads.
    is_cancelled
        Asked again and again; true ends the search, and the best so far is returned. A policy that is building is
        given up, too: savings are returned then.
    """

    progress: Callable[[int], None] | None = None
    on_improvement: Callable[[int, Improvement], None] | None = None
    is_cancelled: Callable[[], bool] | None = None

    def note_progress(self, count: int) -> None:
        """Tell that so many instances more are finished."""
        if self.progress is not None:
            self.progress(count)


def _is_number(value: object, entry: Field[Any]) -> bool:
    """Whether it is a number as the field wants it, whole or finite; True and False are none."""
    if isinstance(value, bool):
        return False
    if str(entry.type).startswith("int"):
        return isinstance(value, Integral)
    return isinstance(value, Real) and math.isfinite(value)


def _fault(field: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=field), remedy=remedy)
