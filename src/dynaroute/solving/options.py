"""Options of solve(), declared and checked in one place for Python, the command line and the service.

Light to import, for ``--help``. Options are plain data, so that they can be sent to another process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from dynaroute.base.decimals import is_finite_number, show_number
from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import Objective

if TYPE_CHECKING:
    from dynaroute.model import Policy
    from dynaroute.problem.solution import Solution
    from dynaroute.search.search import Improvement


@dataclass(frozen=True)
class Declaration:
    """Description and limits of an option.

    Attributes
    ----------
    about
        What it affects: the policy that builds the first routes, or their improvement.
    help
        What it does, in one line.
    metavar
        What stands for its value in the help of a command; None: a command cannot have it, or it has no value.
    expected
        What to give instead of an invalid value.
    choices, noun
        The allowed words, and what they are called.
    least, most, above
        Limits of a number: the smallest and largest allowed value, or a bound it must exceed.
    """

    about: Literal["policy", "improvement"]
    help: str
    metavar: str | None = None
    expected: str = ""
    choices: tuple[str, ...] = ()
    noun: str = ""
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def refuse_wrong(self, entry: Field[Any], value: object) -> None:
        """Raise if the value is not one of the choices, or not a number within the limits."""
        if self.choices and value not in self.choices:
            raise OptionError.about(
                entry.name, f"there is no {self.noun} {value!r}.", f"Use {', '.join(self.choices)}."
            )
        if self.expected and not (_is_number(value, entry) and self._allows(value)):
            words = entry.name.replace("_", " ")
            subject = words if words.endswith("s") else f"the {words}"
            raise OptionError.about(entry.name, f"{subject} is {show_number(value)}.", f"Give {self.expected}.")

    def _allows(self, number: Any) -> bool:
        return bool(self.least <= number <= self.most and number > self.above)


def _is_number(value: object, entry: Field[Any]) -> bool:
    """Whether it is a number of the field's type, finite, and not a bool."""
    if str(entry.type).startswith("int"):
        return isinstance(value, Integral) and not isinstance(value, bool)
    return is_finite_number(value)


Decode = Literal["greedy", "sample", "multistart", "beam", "sgbs"]
Improve = Literal["none", "2opt", "local", "search", "active"]

USUAL_TIME_LIMIT = 10.0  # seconds of a search without a limit

_SECONDS_PER_CUSTOMER = 0.01  # default search time: 1 s at 100 customers, 10 s at 1,000
_SHORTEST_SEARCH, _LONGEST_SEARCH = 0.1, 30.0

_ORIENTATIONS = 8  # of the square
_LIMITS = ("time_limit", "total_time", "iterations", "target")  # these apply only to a search


def choose_search_seconds(size: int) -> float:
    """Return the default search time of the command line and the page, for n customers."""
    return min(max(_SHORTEST_SEARCH, _SECONDS_PER_CUSTOMER * size), _LONGEST_SEARCH)


def _on_policy(help: str, *, default: object = None, **more: Any) -> Any:
    return field(default=default, metadata={"declaration": Declaration("policy", help, **more)})


def _on_improvement(help: str, **more: Any) -> Any:
    return field(default=None, metadata={"declaration": Declaration("improvement", help, **more)})


@dataclass(frozen=True)
class Decoding:
    """How a policy decodes, with all defaults filled in.

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
        """Number of solutions built per instance."""
        return (1 if self.decode == "greedy" else self.samples) * (_ORIENTATIONS if self.augment else 1)

    def __str__(self) -> str:
        count = "" if self.decode == "greedy" else f" {self.samples}"
        return f"{self.decode}{count}{' x8' if self.augment else ''}"


@dataclass(frozen=True)
class Limit:
    """The limits of a search, whichever is reached first.

    Attributes
    ----------
    seconds
        Seconds per instance, or in total.
    iterations
        Iterations per instance.
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
    """How to solve; None means not given.

    Attributes
    ----------
    model
        "auto": the shipped model that suits the instance or savings, whichever is better; a search starts from the one
        that pays.
        "savings": no policy. Otherwise a shipped model's name, a folder, or a `Policy`.
    decode
        How the policy chooses nodes: "greedy" (default), "sample", "multistart", "beam" or "sgbs".
    samples
        Number of samples, of first customers for multistart, of partial solutions that beam keeps, or of completions
        that sgbs tries at each depot visit; 16 by default.
    temperature
        Temperature of sampling; 1 by default.
    augment
        Whether to decode in all eight orientations of the map, and keep the best.
    seed
        Seed of sampling and of the search; 0 by default.
    device
        "auto" (default: a GPU if there is one), "cpu", "cuda", ...
    improve
        "none"; "2opt": within each route; "local": local search within and between routes; "active": the policy learns
        on the instance while it samples, until its limit; "search": runs until its
        limit. By default "search" if time_limit, total_time, iterations or target is given, else "none".
    time_limit
        Seconds of the search per instance, counted from the call of `solve` or, for many instances, from when each one
        starts. Without this, total_time and iterations, a search gets 10 s.
    total_time
        Seconds of the search for all instances together, counted from the call of `solve`. On a GPU all are searched at
        once, from a policy's routes; otherwise the time is divided among the instances. For one instance it is the same
        as a time limit: with a GPU, that and the cores search it together.
    iterations
        Iterations of the search per instance. Without a time limit and a target, the seed, the iterations and the
        number of threads determine the routes.
    target
        A cost at which the search ends early.
    objective
        "distance" (default): the total length; "vehicles": first the number of routes.
    start
        Known routes to improve: one solution, or one per instance.
    threads
        CPU cores to use; by default one for a single search, else all.

    Raises
    ------
    OptionError
        If a value is invalid, or options contradict each other.
    """

    model: str | Path | Policy = _on_policy(
        "A shipped model, or a folder with one. auto: the shipped model that suits the instance, or savings if "
        "better; a search starts from the one that pays. savings: no policy.",
        default="auto",
        metavar="NAME|FOLDER",
    )
    decode: Decode | None = _on_policy(
        "greedy: always the likeliest next stop (the default). sample: the best of K samples. multistart: the best of "
        "K first customers. beam: beam search that keeps K partial solutions. sgbs: simulation-guided beam search, "
        "with K completions at each depot visit.",
        choices=get_args(Decode),
        noun="decoding",
        metavar="HOW",
    )
    samples: int | None = _on_policy(
        "Number of samples, first customers, or partial solutions (K of --decode); 16 by default.",
        metavar="K",
        least=1,
        expected="a whole number above 0",
    )
    temperature: float | None = _on_policy(
        "Randomness of samples: above 1 more, below 1 less; 1 by default.",
        metavar="T",
        least=1e-6,
        most=1e6,
        expected="a number from 1e-06 to 1e+06; greedy decoding is temperature 0",
    )
    augment: bool = _on_policy("Decode in all eight orientations of the map, and keep the best.", default=False)
    seed: int | None = _on_policy(
        "The same seed gives the same samples and, with --iterations, the same search; 0 by default.",
        metavar="S",
        least=0,
        most=2**63 - 1,
        expected="a whole number from 0 to 2^63 - 1",
    )
    device: str | None = _on_policy("cpu, cuda, ...; a GPU by default if there is one.", metavar="D")
    improve: Improve | None = _on_improvement(
        "none (the default). 2opt: within each route. local: within and between routes, in milliseconds. search: runs "
        "until its time is up; the default if a limit is given. active: the policy learns on the instance while it "
        "samples, until its time is up.",
        choices=get_args(Improve),
        noun="improver",
        metavar="HOW",
    )
    time_limit: float | None = _on_improvement(
        "Seconds of the search per instance; 10 by default. Many instances are searched in parallel, on all cores.",
        metavar="S",
        above=0,
        expected="a number of seconds above 0",
    )
    total_time: float | None = _on_improvement(
        "Seconds of the search for all instances together, instead of per instance: all at once on a GPU, otherwise "
        "divided among them.",
        metavar="S",
        above=0,
        expected="a number of seconds above 0",
    )
    iterations: int | None = _on_improvement(
        "Iterations of the search per instance. Without a time limit, the same seed gives the same routes.",
        metavar="N",
        least=1,
        expected="a whole number above 0, or leave it out",
    )
    target: float | None = _on_improvement(
        "End the search early at this cost.", metavar="COST", expected="a cost in the unit of the instance"
    )
    objective: Objective | None = _on_improvement(
        "What the search minimises. distance: the total length (the default). vehicles: first the number of routes.",
        choices=get_args(Objective),
        noun="objective",
        metavar="WHAT",
    )
    start: Solution | Sequence[Solution] | None = _on_improvement("Known routes to improve.")
    threads: int | None = _on_improvement(
        "CPU cores to use; by default all for many instances, one for a single search.",
        metavar="T",
        least=1,
        expected="a whole number above 0, or leave it out",
    )

    def __post_init__(self) -> None:
        for entry in fields(self):
            if (value := getattr(self, entry.name)) is not None:
                DECLARATIONS[entry.name].refuse_wrong(entry, value)
        self._refuse_void_decoding()
        self._refuse_void_activity()
        self._refuse_void_limits()
        if self.start is not None and self.improver == "none":
            raise OptionError.about(
                "start", "known routes are given, but nothing improves them.", "Add improve 'local', or a time limit."
            )
        if self.start is not None and self.model != "auto":
            raise OptionError.about(
                "start", "known routes are given, so no model is needed.", "Leave out the start or the model."
            )

    def _refuse_void_decoding(self) -> None:
        if self.model == "savings":
            for name in self.given_decoding:
                raise OptionError.about(
                    name, "savings does not use a policy.", "Leave out the option, or name a model."
                )
        if self.samples is not None and self.decode in (None, "greedy"):
            raise OptionError.about(
                "samples", "greedy decoding builds one solution.", "Use decode sample, multistart, beam or sgbs."
            )
        if self.temperature is not None and self.decode != "sample":
            raise OptionError.about("temperature", "the temperature only applies to samples.", "Use decode sample.")

    def _refuse_void_activity(self) -> None:
        if not self.is_active:
            return
        for name, is_given in (
            *((name, True) for name in self.given_decoding),
            ("start", self.start is not None),
            ("model", self.model == "savings"),
        ):
            if is_given:
                message = "active search samples from a policy of its own accord."
                raise OptionError.about(name, message, "Leave out the option, or use improve 'search'.")

    def _refuse_void_limits(self) -> None:
        if self.time_limit is not None and self.total_time is not None:
            message = "both a time limit per instance and a total time for all instances are given."
            raise OptionError.about("total_time", message, "Give one of the two.")
        for name in _LIMITS:
            if getattr(self, name) is not None and not self.searches and (name == "total_time" or not self.is_active):
                message = f"improve is {self.improve!r}, but only a search uses the {name.replace('_', ' ')}."
                raise OptionError.about(name, message, "Leave it out, or use improve 'search'.")

    @property
    def given_decoding(self) -> dict[str, Any]:
        """The decoding options that were given."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(Decoding)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    @property
    def decoding(self) -> Decoding:
        """How the policy decodes, with defaults for what was not given."""
        return Decoding(**self.given_decoding)

    @property
    def usual_seed(self) -> int:
        """The seed as a plain int, 0 if none was given."""
        return int(self.seed or 0)

    @property
    def improver(self) -> Improve:
        """How routes are improved: as given, or "search" if a limit is given."""
        if self.improve is not None:
            return self.improve
        return "search" if any(getattr(self, name) is not None for name in _LIMITS) else "none"

    @property
    def searches(self) -> bool:
        """Whether the improver is a search."""
        return self.improver == "search"

    @property
    def is_active(self) -> bool:
        """Whether the policy learns on the instance."""
        return self.improver == "active"

    @property
    def search_seconds(self) -> float | None:
        """Seconds of the search, per instance or in total; None if only iterations end it."""
        if self.total_time is not None:
            return self.total_time
        if self.time_limit is None and self.iterations is None:
            return USUAL_TIME_LIMIT
        return self.time_limit

    @property
    def limit(self) -> Limit | None:
        """The limits of the search; None without a search."""
        if not (self.searches or self.is_active):
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


def list_types() -> dict[str, Any]:
    """Return the type of each option outside Python, where models have names and known routes come from files."""
    return {**get_type_hints(SolveOptions, localns={"Policy": str, "Solution": Path}), "model": str}


@dataclass(frozen=True)
class Observers:
    """Callbacks during solving. They stay in their process.

    Attributes
    ----------
    progress
        Called with the number of instances finished since the last call.
    on_improvement
        Called with the index of an instance and a better solution found by a search, including the first. Of several in
        quick succession only the last is reported. With many instances, called from several threads.
    is_cancelled
        Called repeatedly, possibly from several threads; True ends the work within about half a second. A search
        returns the best so far; instead of a policy's routes there are those of savings, and instead of savings, if
        these take longer, vehicles filled one after the other.
    """

    progress: Callable[[int], None] | None = None
    on_improvement: Callable[[int, Improvement], None] | None = None
    is_cancelled: Callable[[], bool] | None = None

    def note_progress(self, count: int) -> None:
        """Report that this many more instances are finished."""
        if self.progress is not None:
            self.progress(count)
