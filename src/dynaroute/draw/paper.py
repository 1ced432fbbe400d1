"""The arrays that every distribution draws; the paper's distribution, and the published test sets drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError, OptionError
from dynaroute.base.vocabulary import Rounding
from dynaroute.problem.instance import LARGEST_INTEGER, Instance

LARGEST_SET = 10**8  # customers in one call: about 2.5 GB of arrays
LARGEST_PAPER_DEMAND = 9
_USUAL_SIZES = (10, 20, 50, 100, 200, 500, 1000)
_USUAL_CAPACITIES = (20, 30, 40, 50, 70, 100, 150)


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
            raise InstanceError.about("demands", message, "Give one row per instance.")
        count, size = self.demands.shape
        shapes = {"depot": (count, 2), "locations": (count, size, 2), "capacity": (count,)}
        for field, shape in shapes.items():
            found = getattr(self, field).shape
            if found != shape:
                raise InstanceError.about(
                    field,
                    f"the shape is {found}, but {count} instances of {size} customers need {shape}.",
                    "Give one row per instance.",
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


def usual_capacity(size: int) -> int:
    """Return the usual capacity for n customers with demands 1 to 9: 30, 40, 50 for n = 20, 50, 100.

    Sizes 10, 20, 50, 100, 200, 500 and 1000 have capacities 20, 30, 40, 50, 70, 100 and 150, as in the literature.
    Sizes in between are interpolated and rounded. Below 10 customers the capacity is 20; above 1000 it grows by 1 for
    every 10 customers.
    """
    refuse_below_one(size, "size")
    if size > _USUAL_SIZES[-1]:
        return _USUAL_CAPACITIES[-1] + (size - _USUAL_SIZES[-1]) // 10
    return round(float(np.interp(size, _USUAL_SIZES, _USUAL_CAPACITIES)))


def draw_paper_set(
    size: int, count: int, generator: np.random.Generator, capacity: int | None = None
) -> InstanceArrays:
    """Draw instances from the paper's distribution: places uniform in the unit square, demands uniform in 1 to 9.

    Parameters
    ----------
    size
        Number of customers of each problem.
    count
        Number of problems.
    generator
        Source of randomness; the same state gives the same problems.
    capacity
        Capacity of a vehicle; `usual_capacity` of the size if None.
    """
    held = _check_set(size, count, capacity)
    return InstanceArrays(
        depot=generator.random((count, 2)),
        locations=generator.random((count, size, 2)),
        demands=generator.integers(1, LARGEST_PAPER_DEMAND, (count, size), endpoint=True),
        capacity=np.full(count, held),
    )


@dataclass(frozen=True)
class PublishedSet:
    """Size and capacity of a published test set.

    Attributes
    ----------
    count
        Number of instances, drawn at once.
    capacity
        What one vehicle holds.
    """

    count: int
    capacity: int


PUBLISHED_SETS = {
    20: PublishedSet(10_000, 30),
    50: PublishedSet(10_000, 40),
    100: PublishedSet(10_000, 50),
    200: PublishedSet(128, 80),
    500: PublishedSet(128, 100),
    1000: PublishedSet(100, 200),
}


def published_set(size: int) -> PublishedSet:
    """Return count and capacity of the published set of this size, or usual values for other sizes."""
    return PUBLISHED_SETS.get(size) or PublishedSet(PUBLISHED_SETS[100].count, usual_capacity(size))


def draw_published_set(
    size: int, count: int | None = None, seed: int = 1234, capacity: int | None = None
) -> InstanceArrays:
    """Draw a published test set exactly, with numpy's legacy generator.

    The defaults give the test sets: 10,000 instances of n = 20, 50, 100; 128 of n = 200 and 500; 100 of n = 1000. Seed
    4321 gives the validation sets. All rows are drawn at once, so a smaller count gives different instances, not the
    first ones of the set.

    Parameters
    ----------
    size
        Number of customers of each problem.
    count
        Number of instances; that of the published set if None.
    seed
        Seed of the legacy generator, 0 to 2**32 - 1.
    capacity
        Capacity of a vehicle; that of the published set if None.
    """
    refuse_below_one(size, "size")
    usual = published_set(size)
    count = usual.count if count is None else count
    held = _check_set(size, count, usual.capacity if capacity is None else capacity)
    refuse_seed(seed)
    random = np.random.RandomState(seed)  # the published sets were drawn with this old generator
    depot = random.uniform(size=(count, 2))
    locations = random.uniform(size=(count, size, 2))
    demands = random.randint(1, LARGEST_PAPER_DEMAND + 1, (count, size)).astype(np.int64)
    return InstanceArrays(depot, locations, demands, np.full(count, held))


def refuse_seed(seed: int) -> None:
    """Raise if numpy's legacy generator does not take a seed."""
    if not 0 <= seed < 2**32:
        raise OptionError.about("seed", f"the seed {seed} is out of range.", "Use 0 to 4294967295 for a published set.")


def _check_set(size: int, count: int, capacity: int | None) -> int:
    """Check size and count of a paper set and return its capacity."""
    refuse_below_one(size, "size")
    refuse_large_set(size, count)
    if capacity is None:
        return usual_capacity(size)
    if not LARGEST_PAPER_DEMAND <= capacity <= LARGEST_INTEGER:
        raise OptionError.about(
            "capacity",
            f"the capacity {capacity} is not between {LARGEST_PAPER_DEMAND} and {LARGEST_INTEGER}.",
            f"Demands are up to {LARGEST_PAPER_DEMAND}, and a vehicle must hold each of them.",
        )
    return capacity
