"""The plan of a search: numbers of chains, generations and temperatures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.gpu.launches import BREEDING_WARPS, LARGEST_SMALL

LEVELS = 1024  # temperatures of a generation

_MOST_GENERATIONS = 1000


@dataclass(frozen=True)
class GeneticSettings:
    """Settings of the genetic search. Iterations are for 100 customers.

    Attributes
    ----------
    least
        Least iterations per instance for a genetic search after ruin and recreate.
    first_share, first_most
        Share of all iterations for ruin and recreate before it, and the most of them.
    chains
        Chains of ruin and recreate; their best solutions form the first population.
    children
        Children per generation, all with parents from the generation before.
    drawn
        Random solutions in the first population, if there is a single start.
    fewest, most
        Feasible members that survive, and the same number of others: in a short search, and in a long one.
    children_each
        Total children for each surviving member, between those two.
    penalty_period
        Children between updates of the price of excess load.
    patience
        Children without improvement before a new population is started.
    child_iterations
        Iterations of ruin and recreate per customer that take as long as making one child.
    """

    least: float = 3_000
    first_share: float = 0.25
    first_most: float = 6_000
    chains: int = 4
    children: int = 16
    drawn: int = 10
    fewest: int = 8
    most: int = 25
    children_each: float = 100
    penalty_period: int = 100
    patience: int = 20_000
    child_iterations: float = 0.2

    def __post_init__(self) -> None:
        assert self.children >= 1
        assert 1 <= self.fewest <= self.most <= 40, "members of both kinds are numbered with one byte"

    def count_survivors(self, children: float) -> int:
        """Count the members of each kind that survive, if this many children are made."""
        return int(min(self.most, max(self.fewest, children / self.children_each)))


@dataclass(frozen=True)
class PopulationSettings:
    """Settings of chains and their population. Iterations are for 100 customers.

    Attributes
    ----------
    hottest, coolest
        First and last temperature of a short search, in mean legs of the start.
    long_hottest, long_coolest
        The same for a long search.
    short, long
        Iterations per chain of a short and of a long search.
    population_from
        Least iterations per instance for several chains.
    chain_iterations
        Least iterations per chain.
    most_chains
        Most chains per instance, unless the GPU would be idle.
    first_share
        Share of all iterations before chains are recombined for the first time.
    child_iterations
        Approximate iterations of a chain in a later generation.
    child_hottest, child_coolest
        First and last temperature of later generations.
    genetic
        Settings of the genetic search, which follows the chains of small instances.
    """

    hottest: float = 0.2
    coolest: float = 0.03
    long_hottest: float = 0.35
    long_coolest: float = 0.1
    short: float = 10_000
    long: float = 100_000
    population_from: float = 1_000_000
    chain_iterations: float = 250_000
    most_chains: int = 8
    first_share: float = 0.4
    child_iterations: float = 3_000
    child_hottest: float = 0.15
    child_coolest: float = 0.08
    genetic: GeneticSettings = field(default_factory=GeneticSettings)

    @property
    def without_islands(self) -> PopulationSettings:
        """The same without a genetic search, which only knows capacities."""
        return replace(self, genetic=replace(self.genetic, least=math.inf))


@dataclass(frozen=True)
class Generation:
    """A part of a search that cools down once.

    Attributes
    ----------
    begins, ends
        Progress of the whole search, from 0 to 1.
    hottest, coolest
        First and last temperature, in mean legs of the start.
    """

    begins: float
    ends: float
    hottest: float
    coolest: float

    def list_temperatures(self) -> NDArray[np.float32]:
        """(LEVELS,) temperatures from the hottest to the coolest, with equal ratios."""
        return np.geomspace(self.hottest, self.coolest, LEVELS).astype(np.float32)

    def share_of(self, progress: float) -> float:
        """The progress within this generation, from 0 to 1."""
        return min(1.0, max(0.0, (progress - self.begins) / (self.ends - self.begins)))


@dataclass(frozen=True)
class SearchPlan:
    """The plan of a search: chains, generations and islands per instance.

    Attributes
    ----------
    chains
        Chains per instance.
    generations
        Generations of the chains.
    breeds_from
        Progress, from 0 to 1, at which islands take over from the chains; 1 means never.
    islands
        Islands per instance.
    survivors
        Feasible members of an island that survive, and the same number of others.
    """

    chains: int
    generations: tuple[Generation, ...]
    breeds_from: float = 1.0
    islands: int = 0
    survivors: int = 0


def plan_search(
    iterations: float, size: int, settings: PopulationSettings | None = None, least_chains: int = 1
) -> SearchPlan:
    """Choose chains, generations and islands.

    Parameters
    ----------
    iterations
        Approximate iterations per instance, over all its chains.
    size
        Number of customers.
    settings
        Settings; None for the defaults.
    least_chains
        Chains needed to keep the GPU busy.
    """
    rules = settings or PopulationSettings()
    scaled = iterations * 100 / max(size, 1)
    if size <= LARGEST_SMALL and scaled >= rules.genetic.least:
        return _plan_islands(scaled, rules, least_chains)
    chains = 1
    if scaled >= rules.population_from:
        chains = int(min(rules.most_chains, max(2, scaled // rules.chain_iterations)))
    chains = max(chains, least_chains)
    of_chain = scaled / chains
    hottest, coolest = _choose_temperatures(of_chain, rules)
    children = 0 if chains == 1 else int(of_chain * (1 - rules.first_share) / rules.child_iterations)
    children = min(children, _MOST_GENERATIONS)
    if children == 0:
        return SearchPlan(chains, (Generation(0.0, 1.0, hottest, coolest),))
    first = Generation(0.0, rules.first_share, hottest, coolest)
    edges = np.linspace(rules.first_share, 1.0, children + 1).tolist()
    later = (Generation(begins, ends, rules.child_hottest, rules.child_coolest) for begins, ends in pairwise(edges))
    return SearchPlan(chains, (first, *later))


def _plan_islands(scaled: float, rules: PopulationSettings, least_chains: int) -> SearchPlan:
    """Plan chains first, and then islands that start with their best solutions."""
    genetic = rules.genetic
    chains = max(genetic.chains, least_chains)
    share = min(genetic.first_share, genetic.first_most / scaled)
    first = Generation(0.0, share, *_choose_temperatures(scaled * share / chains, rules))
    islands = max(1, least_chains // BREEDING_WARPS)
    children = scaled * (1 - share) / max(0.01, 100 * genetic.child_iterations) / islands
    return SearchPlan(chains, (first,), share, islands, genetic.count_survivors(children))


def _choose_temperatures(of_chain: float, rules: PopulationSettings) -> tuple[float, float]:
    """Choose the first and last temperature of a chain with this many iterations."""
    slow = _share_between(of_chain, rules.short, rules.long)
    return _blend(rules.hottest, rules.long_hottest, slow), _blend(rules.coolest, rules.long_coolest, slow)


def _share_between(value: float, low: float, high: float) -> float:
    """Where a value lies between two others on a logarithmic scale, from 0 to 1."""
    return min(1.0, max(0.0, math.log(max(value, 1.0) / low) / math.log(high / low)))


def _blend(one: float, other: float, share: float) -> float:
    return float(one * (other / one) ** share)
