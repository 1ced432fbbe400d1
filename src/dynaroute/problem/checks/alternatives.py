"""Alternatives: several places or windows of one order, of which one is served; other customers are orders alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError


def list_alternatives(labels: Sequence[str] | None) -> list[list[int]]:
    """List the nodes of each order that has alternatives, in order; those of a shipment are both of its stops.

    Parameters
    ----------
    labels
        `Instance.one_of`.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for node, label in enumerate(labels or ()):
        if label:
            groups[label].append(node)
    return list(groups.values())


def find_unserved(size: int, labels: Sequence[str] | None, served: Collection[int]) -> list[int]:
    """Find the customers on no route; of alternatives the first, and only if none of them is on a route.

    Parameters
    ----------
    size
        Number of customers.
    labels
        `Instance.one_of`.
    served
        The customers on routes.
    """
    if labels is None:
        return [customer for customer in range(1, size + 1) if customer not in served]
    done = {labels[customer] for customer in served if customer <= size} - {""}
    unserved = []
    for customer in range(1, size + 1):
        if customer in served or labels[customer] in done:
            continue
        unserved.append(customer)
        if labels[customer]:
            done.add(labels[customer])
    return unserved


def take_largest(values: Any, labels: Sequence[str] | None) -> Any:
    """Give all alternatives of an order the largest value among them.

    Parameters
    ----------
    values
        (n + 1,) or more, a value for each node; changed in place.
    labels
        `Instance.one_of`.
    """
    for members in list_alternatives(labels):
        values[members] = values[members].max()
    return values


def refuse_split_shipments(labels: Sequence[str] | None, partners: NDArray[np.intp] | None) -> None:
    """Raise if the two stops of a shipment belong to different orders."""
    if labels is None or partners is None:
        return
    for node, partner in enumerate(partners.tolist()):
        if partner and labels[node] != labels[partner]:
            message = f"customer {node} and customer {partner} of the same shipment have different labels."
            remedy = "Give both the same label, or none."
            raise InstanceError.about("one_of", message, remedy, node)
