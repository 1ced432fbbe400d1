"""How much an instance counts in an update, if sizes vary."""

from __future__ import annotations

from torch import Tensor

from dynaroute.batch import InstanceBatch

__all__ = ["weigh_sizes"]

_USUAL_CUSTOMERS = 100


def weigh_sizes(exponent: float, batch: InstanceBatch) -> Tensor | float:
    """Compute the (B,) factors by which instances count: (n / 100) ^ exponent.

    A gradient is about as noisy for large instances as for small ones, but takes much longer. If what is learned from
    each group of instances shall weigh a given amount, the noise for a given time is least where an instance counts in
    proportion to the square root of its time, and large ones are drawn accordingly rarely (docs/training-log.md,
    "Fewer large instances that count more").

    Parameters
    ----------
    exponent
        0: all count the same. 1: an instance counts in proportion to its customers.
    batch
        The instances.
    """
    if exponent == 0:
        return 1.0
    factors: Tensor = (batch.sizes / _USUAL_CUSTOMERS) ** exponent
    return factors
