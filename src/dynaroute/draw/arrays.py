"""InstanceArrays, which every distribution draws, and the checks of sizes that all share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError, OptionError, Where
from dynaroute.base.vocabulary import Rounding
from dynaroute.problem.instance import Instance

__all__ = ["LARGEST_SET", "InstanceArrays", "refuse_below_one", "refuse_large_set"]

LARGEST_SET = 10**8  # customers in one call: about 2.5 GB of arrays


@dataclass(frozen=True, eq=False)
class InstanceArrays:
    """N instances of the same size n as arrays.

    Parameters
    ----------
    depot
        (N, 2) positions.
    locations
        (N, n, 2) positions of the customers.
    demands
        (N, n) whole numbers.
    capacity
        (N,) whole numbers.
    rounding
        How the length of each leg is rounded, in all instances.

    Raises
    ------
    InstanceError
        If the shapes do not match. Values are checked later, when instances are made.
    """

    depot: NDArray[np.float64]
    locations: NDArray[np.float64]
    demands: NDArray[np.int64]
    capacity: NDArray[np.int64]
    rounding: Rounding = "none"

    def __post_init__(self) -> None:
        if self.demands.ndim != 2:
            message = f"demands have shape {self.demands.shape}, not (instances, customers)."
            raise InstanceError(message, where=Where(field="demands"), remedy="Give one row per instance.")
        count, size = self.demands.shape
        shapes = {"depot": (count, 2), "locations": (count, size, 2), "capacity": (count,)}
        for field, shape in shapes.items():
            found = getattr(self, field).shape
            if found != shape:
                raise InstanceError(
                    f"the shape is {found}, but {count} instances of {size} customers need {shape}.",
                    where=Where(field=field),
                    remedy="Give one row per instance.",
                )

    def __len__(self) -> int:
        return len(self.demands)

    @property
    def size(self) -> int:
        """Number of customers of each instance."""
        return int(self.demands.shape[1])

    def instances(self) -> list[Instance]:
        """Make an `Instance` of each row, in order."""
        coordinates = np.concatenate([self.depot[:, None, :], self.locations], axis=1)
        demands = np.pad(self.demands, ((0, 0), (1, 0)))
        return [
            Instance(positions, amounts, capacity, rounding=self.rounding)
            for positions, amounts, capacity in zip(coordinates, demands, self.capacity.tolist(), strict=True)
        ]


def refuse_large_set(size: int, count: int) -> None:
    """Raise if so many instances of this size need too much memory, or if there are none."""
    refuse_below_one(count, "count")
    if size * count > LARGEST_SET:
        raise OptionError.about(
            "count",
            f"{count} instances of {size} customers have more than {LARGEST_SET} customers in total.",
            "Draw several smaller sets.",
        )


def refuse_below_one(value: int, field: str) -> None:
    """Raise if a number is below 1."""
    if value < 1:
        raise OptionError.about(field, f"it is {value}.", "Use 1 or more.")
