"""The demonstration: a published instance solved stage by stage, and how the encoder sees what is left of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.draw import draw_published_set
from dynaroute.draw.paper import InstanceArrays
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.solving.result import Result
from dynaroute.solving.solve import SolveSettings, solve
from dynaroute.study.evaluation import require_right
from dynaroute.study.reference_lengths import PAPER_ROWS
from dynaroute.weights import read_card

if TYPE_CHECKING:
    from torch import Tensor, nn

NAME = "published-100-1"  # what `dynaroute generate --size 100 --published` draws first
MODEL = "amd-100"
SIZE = 100
COUNT = 100  # of the published instances, for the second table
SEARCH_SECONDS = 2.0

# found by `dynaroute solve FILE --iterations 8000000 --seed S` for S = 0 and 1 alike
BEST_FOUND = 14.605232220735338
_OURS_ON_ALL = {"AM-D, 2OPT": 15.948, "AM-D, best of 8": 15.820}  # on all 10,000; docs/results.md

_STAGES: dict[str, SolveSettings] = {
    "savings": {"model": "savings"},
    "AM-D, greedy": {"model": MODEL},
    "AM-D, 2OPT": {"model": MODEL, "improve": "2opt"},
    "AM-D, best of 8": {"model": MODEL, "augment": True},
    "AM-D and search": {"model": MODEL, "augment": True, "time_limit": SEARCH_SECONDS},
}
_ON_THE_SET = ("AM-D, greedy", "AM-D, 2OPT", "AM-D, best of 8")
_IN_THE_PAPER = {"AM-D, greedy": "AM-D (greedy)", "AM-D, 2OPT": "AM-D (2OPT)"}


class SolvedStage(NamedTuple):
    """One way to solve the instance.

    Attributes
    ----------
    name
        What was done.
    result
        The routes.
    seconds
        Time taken, after everything was loaded.
    """

    name: str
    result: Result
    seconds: float

    @property
    def gap(self) -> float:
        """How much longer than the best known routes, in percent."""
        return 100 * (self.result.cost / BEST_FOUND - 1)


class SetRow(NamedTuple):
    """Mean length on published instances.

    Attributes
    ----------
    name
        What was done.
    length
        On the first `COUNT` of them.
    all_of_them
        Ours on all 10,000, measured earlier.
    paper
        The paper's on all 10,000; None if it has none.
    seconds
        Time for the first `COUNT`.
    """

    name: str
    length: float
    all_of_them: float
    paper: float | None
    seconds: float


class View(NamedTuple):
    """What the encoder saw before a route was driven.

    Attributes
    ----------
    driven
        Number of routes driven before.
    left
        Customers that were left.
    change
        How far the encoding of each had moved from its first one: 1 minus the cosine of the angle between them.
    """

    driven: int
    left: NDArray[np.int64]
    change: NDArray[np.float64]

    def spread(self, size: int) -> NDArray[np.float64]:
        """(n,) the change of each customer, nan for those that were served."""
        spread = np.full(size, np.nan)
        spread[self.left - 1] = self.change
        return spread


@dataclass(frozen=True)
class Demonstration:
    """Everything that the demonstration shows.

    Attributes
    ----------
    instance
        The first published instance with 100 customers.
    stages, rows
        The instance stage by stage, and the policy's mean lengths on more instances.
    """

    instance: Instance
    stages: tuple[SolvedStage, ...]
    rows: tuple[SetRow, ...]

    @property
    def best(self) -> Solution:
        """The routes of the search."""
        return self.stages[-1].result.solution

    def stage(self, name: str) -> SolvedStage:
        """Return one of the stages."""
        return next(each for each in self.stages if each.name == name)

    @cached_property
    def views(self) -> list[View]:
        """What the encoder saw before each of the policy's routes."""
        return watch_encoding(self.instance)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "instance": self.instance.name,
            "best_known": BEST_FOUND,
            "stages": [
                {"name": each.name, "length": each.result.cost, "gap": each.gap, "seconds": each.seconds}
                for each in self.stages
            ],
            "count": COUNT,
            "published": [row._asdict() for row in self.rows],
        }


def demonstrate() -> Demonstration:
    """Solve the instance stage by stage, and more of the published ones with the policy."""
    drawn = draw_published_set(SIZE)  # all, because the first rows depend on the number of rows
    some = slice(COUNT)
    instances = InstanceArrays(
        drawn.depot[some], drawn.locations[some], drawn.demands[some], drawn.capacity[some]
    ).instances()
    first = replace(instances[0], name=NAME)
    solve(first, model=MODEL, augment=True, iterations=1)  # loads PyTorch and the machine code
    for name in _ON_THE_SET:
        solve(first, **_STAGES[name])
    stages = tuple(SolvedStage(name, *_measure(first, settings)) for name, settings in _STAGES.items())
    return Demonstration(first, stages, tuple(_measure_set(instances, name) for name in _ON_THE_SET))


def _measure(instance: Instance, settings: SolveSettings) -> tuple[Result, float]:
    began = time.perf_counter()
    result = solve(instance, **settings)
    seconds = time.perf_counter() - began
    require_right(instance, result.solution)
    return result, seconds


def _measure_set(instances: Sequence[Instance], name: str) -> SetRow:
    began = time.perf_counter()
    results = solve(instances, **_STAGES[name])
    seconds = time.perf_counter() - began
    for result in results:
        require_right(result.instance, result.solution)
    ours = _OURS_ON_ALL.get(name) or float(read_card(MODEL)["greedy_lengths"][str(SIZE)])
    paper = PAPER_ROWS[_IN_THE_PAPER[name]][SIZE][0] if name in _IN_THE_PAPER else None
    return SetRow(name, float(np.mean([result.cost for result in results])), ours, paper, seconds)


def watch_encoding(instance: Instance) -> list[View]:
    """Build greedy routes and note what the encoder returns before each.

    Parameters
    ----------
    instance
        An instance that only capacity limits.
    """
    import torch

    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import Greedy, construct
    from dynaroute.solving.building import load_policy

    policy = load_policy(MODEL, "cpu")
    seen: list[Tensor] = []

    def note(encoder: nn.Module, given: object, hidden: Tensor) -> None:
        seen.append(hidden)

    batch = InstanceBatch.from_instances([instance])
    watching = policy.encoder.register_forward_hook(note)
    try:
        (solution,) = construct(policy, batch, Greedy()).to_solutions(batch)
    finally:
        watching.remove()
    left, views = np.arange(instance.size + 1), []
    for driven, (route, hidden) in enumerate(zip(solution.routes, seen, strict=True)):
        change = 1 - torch.nn.functional.cosine_similarity(hidden, seen[0][torch.from_numpy(left)], dim=1)
        views.append(View(driven, left[1:], change[1:].double().numpy()))
        left = np.setdiff1d(left, route)
    return views
