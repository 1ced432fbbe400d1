"""Instances from raw arrays, as the set files hold them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.errors import InstanceError, Where
from dynaroute.formats.numbers import Quantities, scale_quantities
from dynaroute.instance import Instance

__all__ = ["instance_from_arrays"]


def instance_from_arrays(
    coordinates: NDArray[np.float64], demands: NDArray[Any], capacity: NDArray[Any], name: str
) -> Instance:
    """Make one instance; demands and capacity may be whole numbers or decimals stored as floats.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first.
    demands
        (n,) integers or floats, one a customer.
    capacity
        () integer or float.
    name
        Label of the instance.

    Raises
    ------
    InstanceError
        If these cannot be a problem; the field is one of `Instance`.
    """
    with_depot = np.concatenate([np.zeros(1, dtype=demands.dtype), demands])
    if _is_whole(with_depot) and _is_whole(capacity):
        return Instance(coordinates, with_depot, capacity.item(), name)
    quantities = _scale_floats(with_depot, capacity)
    return Instance(coordinates, np.array(quantities.demands), quantities.capacity, name, demand_scale=quantities.scale)


def _is_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" or bool((values == np.floor(values)).all())


def _scale_floats(demands: NDArray[Any], capacity: NDArray[Any]) -> Quantities:
    """Scale floats exactly by the decimals they are written with: the float nearest to 0.1 means 0.1."""
    for field, values in (("demands", demands), ("capacity", capacity.reshape(1))):
        if not np.isfinite(values).all():
            node = int(np.argmin(np.isfinite(values)))
            raise InstanceError(
                "a value is not finite.", where=Where(field=field, customer=node or None), remedy="Give plain numbers."
            )
    return scale_quantities(
        [Decimal(str(demand)) for demand in demands],
        Decimal(str(capacity[()])),
    )
