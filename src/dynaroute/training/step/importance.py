"""How much an instance counts in an update, if sizes vary."""

from __future__ import annotations

from torch import Tensor

from dynaroute.batch import InstanceBatch

__all__ = ["weigh_sizes"]

_USUAL_CUSTOMERS = 100


def weigh_sizes(exponent: float, batch: InstanceBatch) -> Tensor | float:
    """Compute the (B,) factors by which instances count: (n / 100) ^ exponent.

    Gradients of large instances are about as noisy as those of small ones, but take much longer. So it is better to
    draw few large instances and to let each count more: for given parts of small and large ones in the aim of an
    update, the noise is least if an instance counts in proportion to the square root of its time
    (docs/training-log.md, "Fewer large instances that count more").

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
