"""solve(): choose a model, construct, report."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack, get_args, overload

from dynaroute.errors import OptionError, Where
from dynaroute.instance import Instance
from dynaroute.savings import build_by_savings
from dynaroute.solution import Solution

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.construct import Strategy
    from dynaroute.model import Policy

__all__ = [
    "BuiltRoutes",
    "Decode",
    "Result",
    "SolveOptions",
    "SolveSettings",
    "build_by_policy",
    "load_policy",
    "make_strategy",
    "solve",
]

Decode = Literal["greedy", "sample", "multistart"]


@dataclass(frozen=True)
class Result:
    """A solution and how it was found.

    Attributes
    ----------
    instance, solution
        The problem and its routes.
    cost
        Total length in the instance's own units and rounding.
    seconds
        Time taken; for instances solved together, an equal share.
    method
        savings, or how the policy was decoded: greedy, sample 16, multistart 16, with "x8" where augmented.
    model
        Name of the policy, or None.
    messages
        What a user should know about the choice that was made.
    """

    instance: Instance
    solution: Solution
    cost: float
    seconds: float
    method: str
    model: str | None = None
    messages: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """Model and method in words."""
        return self.method if self.model is None else f"{self.model} ({self.method})"


class BuiltRoutes(NamedTuple):
    """What a policy built.

    Attributes
    ----------
    batch, routes
        The instances and a solution of each.
    seconds
        Time of building, the policy being loaded.
    model
        Name of the policy.
    """

    batch: InstanceBatch
    routes: RouteBatch
    seconds: float
    model: str


class SolveSettings(TypedDict, total=False):
    """The keywords of `solve`, each with the meaning and the default it has in `SolveOptions`."""

    model: str | Path | Policy
    decode: Decode
    samples: int
    temperature: float
    augment: bool
    seed: int
    device: str
    progress: Callable[[int], None] | None


@dataclass(frozen=True)
class SolveOptions:
    """How to solve.

    Attributes
    ----------
    model
        "auto": the shipped model of the nearest size, and savings beside it, whichever is better; "savings": no
        policy; else a shipped model's name, a folder, or a policy.
    decode
        How the policy's next node is chosen.
    samples
        Number of samples, or of starts of multistart.
    temperature
        Of sampling.
    augment
        Whether to decode in all eight orientations of the square.
    seed
        Of sampling.
    device
        "auto" (a GPU if there is one), "cpu", "cuda", ...
    progress
        Called with the number of instances finished since the last call.
    """

    model: str | Path | Policy = "auto"
    decode: Decode = "greedy"
    samples: int = 16
    temperature: float = 1.0
    augment: bool = False
    seed: int = 0
    device: str = "auto"
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        if self.decode not in get_args(Decode):
            choices = ", ".join(get_args(Decode))
            raise _fault("decode", f"there is no decoding {self.decode!r}.", f"Use {choices}.")
        if not isinstance(self.seed, Integral) or not 0 <= self.seed < 2**63:
            raise _fault("seed", f"the seed is {self.seed!r}.", "Give a whole number from 0 to 2^63 - 1.")

    @property
    def method(self) -> str:
        """The decoding in words, for reports."""
        count = "" if self.decode == "greedy" else f" {self.samples}"
        return f"{self.decode}{count}{' x8' if self.augment else ''}"


@overload
def solve(instances: Instance, **settings: Unpack[SolveSettings]) -> Result: ...
@overload
def solve(instances: Sequence[Instance], **settings: Unpack[SolveSettings]) -> list[Result]: ...
def solve(instances: Instance | Sequence[Instance], **settings: Unpack[SolveSettings]) -> Result | list[Result]:
    """Build routes for one problem or many.

    Parameters
    ----------
    instances
        One problem, or many, of any sizes.
    **settings
        The fields of `SolveOptions`: model, decode, samples, temperature, augment, seed, device, progress.

    Returns
    -------
    Result | list[Result]
        One for each instance, in order.

    Examples
    --------
    >>> result = dynaroute.solve(instance, augment=True)
    >>> result.cost, result.method
    """
    options = SolveOptions(**settings)
    if isinstance(instances, Instance):
        return _solve_all([instances], options)[0]
    many = list(instances) if isinstance(instances, Iterable) else [instances]
    for instance in many:
        if not isinstance(instance, Instance):
            kind = type(instance).__name__
            raise _fault("instances", f"{kind} is no instance.", "Give what dynaroute.read returns, or a list of them.")
    return _solve_all(many, options)


def _solve_all(instances: Sequence[Instance], options: SolveOptions) -> list[Result]:
    groups: defaultdict[str | Path | Policy, list[int]] = defaultdict(list)
    for index, instance in enumerate(instances):
        groups[_choose_model(instance, options)].append(index)
    results: dict[int, Result] = {}
    for model, indices in groups.items():
        group = [instances[index] for index in indices]
        results |= zip(indices, _solve_group(group, model, options), strict=True)
    return [results[index] for index in range(len(instances))]


def _choose_model(instance: Instance, options: SolveOptions) -> str | Path | Policy:
    """The model for this instance; "savings" where there is none for it."""
    if instance.coordinates is None:
        return "savings"
    if options.model != "auto":
        return options.model
    from dynaroute.weights import nearest_shipped_model

    return nearest_shipped_model(instance.size) or "savings"


def _solve_group(instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions) -> list[Result]:
    if model == "savings":
        return [_note_lack_of_policy(_solve_by_savings(instance, options.progress), options) for instance in instances]
    by_policy = _solve_by_policy(instances, model, options)
    if options.model != "auto":
        return by_policy
    # A policy can be far off on instances unlike those it was trained on. Nobody should get that silently.
    return [_better(result, _solve_by_savings(result.instance, None)) for result in by_policy]


def _solve_by_savings(instance: Instance, progress: Callable[[int], None] | None) -> Result:
    start = time.perf_counter()
    solution = build_by_savings(instance)
    result = Result(instance, solution, solution.cost(instance), time.perf_counter() - start, "savings")
    if progress is not None:
        progress(1)
    return result


def _solve_by_policy(instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions) -> list[Result]:
    built = build_by_policy(instances, model, options)
    share = built.seconds / len(instances)
    return [
        Result(instance, solution, solution.cost(instance), share, options.method, built.model)
        for instance, solution in zip(instances, built.routes.to_solutions(built.batch), strict=True)
    ]


def build_by_policy(instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions) -> BuiltRoutes:
    """Build routes with one policy, and nothing else.

    Parameters
    ----------
    instances
        At least one; each with coordinates.
    model
        A shipped model's name, a folder, or a policy.
    options
        All but their model are read.
    """
    import torch

    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import construct

    policy = load_policy(model, options.device)
    start = time.perf_counter()
    batch = InstanceBatch.from_instances(instances)
    generator = torch.Generator().manual_seed(int(options.seed))  # NumPy's integers too
    routes = construct(policy, batch, make_strategy(options), generator, progress=options.progress)
    seconds = time.perf_counter() - start
    name = policy.card.name or ("unnamed" if model is policy else str(model))
    return BuiltRoutes(batch, routes, seconds, name)


def load_policy(model: str | Path | Policy, device: str) -> Policy:
    """Find the policy, and put it where it shall work.

    Parameters
    ----------
    model
        A shipped model's name, a folder, or a policy.
    device
        "auto", or what PyTorch calls it.
    """
    import torch

    from dynaroute.model import Policy

    # a policy that is still being trained would normalise over the batch, and change
    policy = model.eval() if isinstance(model, Policy) else Policy.from_pretrained(model)
    if device == "auto":
        return policy.to("cuda" if torch.cuda.is_available() else "cpu")
    fault = _fault("device", f"the device {device!r} cannot be used here.", "Use cpu, or auto.")
    if str(device).startswith("meta"):  # PyTorch's device that takes every weight and keeps none
        raise fault
    try:
        return policy.to(device)
    except (RuntimeError, AssertionError, ImportError) as error:  # PyTorch's words for a device it does not have
        raise fault from error


def make_strategy(options: SolveOptions) -> Strategy:
    """The strategy that the options describe.

    Parameters
    ----------
    options
        decode, samples, temperature and augment are read.
    """
    from dynaroute.construct import Augmented, Greedy, MultiStart, Sampling

    strategies: dict[Decode, Callable[[], Strategy]] = {
        "greedy": Greedy,
        "sample": lambda: Sampling(options.samples, options.temperature),
        "multistart": lambda: MultiStart(options.samples),
    }
    strategy = strategies[options.decode]()
    return Augmented(strategy) if options.augment else strategy


def _better(by_policy: Result, by_savings: Result) -> Result:
    winner, loser = (by_policy, by_savings) if by_policy.cost <= by_savings.cost else (by_savings, by_policy)
    message = f"{winner.how} and {loser.how} cost the same."
    if loser.cost > winner.cost > 0:
        excess = 100 * (loser.cost / winner.cost - 1)
        message = f"{winner.how} was better than {loser.how}, which costs {excess:.1f} % more."
    return replace(winner, seconds=by_policy.seconds + by_savings.seconds, messages=(message,))


def _note_lack_of_policy(result: Result, options: SolveOptions) -> Result:
    if result.instance.coordinates is None and options.model != "savings":
        return replace(
            result, messages=("There are no coordinates for a policy to read, so savings built the routes.",)
        )
    if options.model == "auto":
        return replace(result, messages=("No trained model ships with this version, so savings built the routes.",))
    return result


def _fault(field: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=field), remedy=remedy)
