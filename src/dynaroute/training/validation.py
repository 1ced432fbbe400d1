"""The greedy length on sets drawn as the published ones are: what models are chosen by."""

from __future__ import annotations

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.distributions import draw_published_set
from dynaroute.model import Policy
from dynaroute.training.baselines import evaluating

__all__ = ["VALIDATION_SEED", "measure_greedy_length"]

VALIDATION_SEED = 4321  # models are chosen on this set, and reported on that of 1234


def measure_greedy_length(
    policy: Policy, size: int, seed: int, count: int = 10_000, capacity: int | None = None
) -> float:
    """Mean greedy length on instances drawn as the published sets are.

    Parameters
    ----------
    policy
        The policy.
    size
        Customers.
    seed
        Of the set.
    count
        How many instances; the published sets have 10,000.
    capacity
        Of vehicles; the usual one for the size if None.
    """
    drawn = draw_published_set(size, count, seed, capacity)
    batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity).to(policy.device)
    with evaluating(policy):
        return float(construct(policy, batch, Greedy()).lengths(batch).mean())
