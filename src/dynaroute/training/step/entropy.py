"""How much a policy's entropy is worth: the weight of the bonus that keeps it exploring."""

from __future__ import annotations

from torch import Tensor

from dynaroute.batch import InstanceBatch

__all__ = ["spread_entropy", "usual_entropy"]

_MOST = 0.1


def usual_entropy(customers: int) -> float:
    """Compute the weight that served for this many customers, in standard deviations of the samples' lengths.

    A policy has more entropy where it has more choices, and each of them matters less to the whole length. How the
    weights were found: docs/training-log.md, "What entropy is worth".
    """
    return min(_MOST, 3 / customers)


def spread_entropy(weight: float, batch: InstanceBatch) -> Tensor | float:
    """Compute the (B,) weights of instances of several sizes: inversely proportional to size, like the usual ones.

    One weight for all would be worth more than the lengths of large instances: docs/training-log.md, "Entropy and
    size".

    Parameters
    ----------
    weight
        The weight of the largest instances that the batch has room for. Others have 0.1 at most, or this if it is more.
    batch
        The instances.
    """
    if weight == 0:
        return 0.0
    return (weight * (batch.nodes - 1) / batch.sizes).clamp(max=max(weight, _MOST))
