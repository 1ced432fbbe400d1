"""Building routes: all attempts of a strategy, in chunks that fit in memory, keeping the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.base.errors import ModelError, UnsupportedError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.rules import RULE_WORDS
from dynaroute.construct.choose import Chooser, MostLikely, SolutionBuilder
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import construct_fused, is_supported
from dynaroute.construct.strategies import Strategy
from dynaroute.construct.windows import LARGEST_WHOLE, construct_in_windows
from dynaroute.kernels import kernels_run_on
from dynaroute.model.changes import find_change
from dynaroute.model.policy import Policy

# Attention scores per chunk. On a CPU, chunks that fit its caches were fastest (measured at n = 20 and 100).
_SCORES_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 31}
_TOKENS_AT_ONCE = 1 << 22  # for kernels, which store no scores but about 3.4 KB per node
_SAME_LENGTH = 1e-12  # relative difference of lengths that counts as rounding


def construct(
    policy: Policy,
    batch: InstanceBatch,
    strategy: Strategy,
    generator: torch.Generator | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> RouteBatch:
    """Build routes for every instance, and keep the shortest solution of each.

    Instances of more than a thousand customers are built in windows: see `construct.windows`.

    Parameters
    ----------
    policy
        The policy; its device does the work.
    batch
        The instances, of any sizes.
    strategy
        The attempts to make.
    generator
        Source of the seed for sampling; the same state gives the same routes.
    progress
        Called with the number of instances finished since the last call.

    Returns
    -------
    RouteBatch
        On the batch's device.
    """
    seed = 0 if generator is None else int(torch.randint(2**62, (), generator=generator, device=generator.device))
    is_plain = batch.node_features is None and batch.rules is None  # windows know nothing of either
    is_large = (batch.sizes > LARGEST_WHOLE) & is_plain
    if not is_large.any():
        return _construct_whole(policy, batch, strategy, seed, progress)
    best = RouteBatch.unvisited(batch)
    rows = (~is_large).nonzero()[:, 0]
    if len(rows) > 0:
        best = best.with_rows(rows, _construct_whole(policy, batch[rows], strategy, seed, progress))
    for row in is_large.nonzero():  # (1,) each
        best = best.with_rows(
            row, construct_in_windows(batch[row], lambda windows: _construct_whole(policy, windows, strategy, seed))
        )
        if progress is not None:
            progress(1)
    return best


def _construct_whole(
    policy: Policy,
    batch: InstanceBatch,
    strategy: Strategy,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> RouteBatch:
    """Build routes for every instance as a whole."""
    best = RouteBatch.unvisited(batch)
    # similar sizes together need the least padding
    order = batch.sizes.argsort(stable=True)
    fitting = _Fitting.of(policy)
    for rows in _chunks(batch.sizes[order], fitting, strategy.attempts * strategy.held):
        chosen = order[rows]
        best_here = _construct_best(policy, batch[chosen].to(policy.device), strategy, seed, fitting)
        best = best.with_rows(chosen, best_here)
        if progress is not None:
            progress(len(chosen))
    return best


def construct_once(policy: Policy, batch: InstanceBatch, chooser: Chooser | SolutionBuilder) -> RouteBatch:
    """Build one solution per instance, with kernels if possible, else step by step.

    Parameters
    ----------
    policy
        On the batch's device.
    batch
        The instances.
    chooser
        How the next node is chosen.
    """
    if batch.node_features is not None and find_change(policy) == "":
        raise ModelError.about(
            "node_features",
            "the instances have node features, but this policy does not use them.",
            "Give its encoder an embedding with more columns, or remove the features.",
        )
    refuse_unknown_rules(policy, batch)
    if isinstance(chooser, SolutionBuilder):
        _refuse_several_depots(batch)
        return chooser.build(policy, batch)
    if kernels_run_on(policy.device) and is_supported(policy, chooser):
        return construct_fused(policy, batch, chooser)
    return construct_eagerly(policy, batch, chooser)


def _refuse_several_depots(batch: InstanceBatch) -> None:
    if batch.further_depots is not None:
        message = "these ways of decoding go on from partial routes, which start at the first depot."
        raise UnsupportedError.about("depots", message, "Use greedy decoding, samples or several starts.")


def refuse_unknown_rules(policy: Policy, batch: InstanceBatch) -> None:
    """Raise if instances have rules that the policy does not know.

    Parameters
    ----------
    policy, batch
        The policy, and the instances.
    """
    names = frozenset() if batch.rules is None else batch.rules.names
    if unknown := sorted(names.difference(policy.config.rules)):
        raise UnsupportedError.about(
            "rules",
            f"the instances have {RULE_WORDS[unknown[0]]}, which this policy does not know.",
            f"Use a policy that was trained with the rule {unknown[0]}.",
        )


def _construct_best(
    policy: Policy, batch: InstanceBatch, strategy: Strategy, seed: int, fitting: _Fitting
) -> RouteBatch:
    count = len(batch)
    at_once = max(1, fitting.count(batch.nodes) // (count * strategy.held))
    best = RouteBatch.unvisited(batch)
    best_length = torch.full((count,), torch.inf, dtype=batch.coordinates.dtype, device=batch.device)
    for first in range(0, strategy.attempts, at_once):
        attempts = torch.arange(first, min(first + at_once, strategy.attempts), device=batch.device)
        copies = batch.repeat_each(len(attempts))
        attempt = attempts.repeat(count)
        placed = strategy.place(copies, attempt)
        routes = construct_once(policy, placed, strategy.chooser(placed, attempt, seed))
        lengths = routes.lengths(copies).view(count, -1)  # (B, attempts)
        length = lengths.amin(1)  # (B,)
        # the first of equals, because the reversed tour may differ in the last bit
        winner = (lengths <= length[:, None] * (1 + _SAME_LENGTH)).int().argmax(1)
        rows = torch.arange(count, device=batch.device) * len(attempts) + winner
        best = best.replace_where(length < best_length * (1 - _SAME_LENGTH), routes[rows])
        best_length = torch.minimum(best_length, length)
    return best


class _Fitting(NamedTuple):
    """Memory needs per trajectory, linear or quadratic in its nodes."""

    numbers: int
    power: int

    @classmethod
    def of(cls, policy: Policy) -> _Fitting:
        if kernels_run_on(policy.device) and is_supported(policy, MostLikely()):
            return cls(_TOKENS_AT_ONCE, 1)
        scores = _SCORES_AT_ONCE.get(policy.device.type, _SCORES_AT_ONCE["cpu"])
        return cls(scores // policy.config.heads, 2)

    def count(self, nodes: int) -> int:
        """Count the trajectories of this many nodes that fit."""
        return max(1, self.numbers // int(nodes**self.power))


def _chunks(sizes: Tensor, fitting: _Fitting, attempts: int) -> list[slice]:
    """Cut instances, sorted by size, into chunks that fit with all attempts; at least one instance each."""
    chunks: list[slice] = []
    sorted_sizes = sizes.tolist()
    first = 0
    while first < len(sorted_sizes):
        last = first + 1
        while last < len(sorted_sizes) and (last + 1 - first) * attempts <= fitting.count(sorted_sizes[last] + 1):
            last += 1
        chunks.append(slice(first, last))
        first = last
    return chunks
