"""RouteFinder's sets: 48 variants of the problem, drawn exactly as its published files were."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.vocabulary import Backhauls
from dynaroute.draw.paper import LARGEST_PAPER_DEMAND, refuse_below_one, refuse_large_set, refuse_seed
from dynaroute.formats.sets.routefinder import make_variants
from dynaroute.problem.instance import Instance

VARIANT_SET_COUNT = 1000  # instances of a published set
_DAY = 4.6  # when the depots close
_LONGEST = 2.8  # largest limit of a route, unless a customer lies further away
_ALMOST_NOTHING = 1e-6
_SHARE_OF_BACKHAULS = 0.2
MOST_DEPOTS = 3  # of the variants with several


@dataclass(frozen=True)
class Variant:
    """Which rules a variant has.

    Attributes
    ----------
    is_open
        Whether routes end at their last customers (O).
    backhauls
        Whether customers whose goods are brought back come last ("last", B) or in any order ("mixed", MB); None if
        there are none.
    has_limit
        Whether the length of a route is limited (L).
    has_windows
        Whether there are time windows and services (TW).
    depots
        Number of depots: 1, or 3 (MD). Routes return to the one where they start.
    """

    is_open: bool = False
    backhauls: Backhauls | None = None
    has_limit: bool = False
    has_windows: bool = False
    depots: int = 1

    @property
    def name(self) -> str:
        """Its name in lower case, such as "mdovrpmbltw"."""
        ends = {None: "", "last": "b", "mixed": "mb"}[self.backhauls] + "l" * self.has_limit + "tw" * self.has_windows
        start = "o" if self.is_open else "" if ends else "c"
        return f"{'md' if self.depots > 1 else ''}{start}vrp{ends}"


_BACKHAULS: tuple[Backhauls | None, ...] = (None, "last", "mixed")
_FLAGS = (False, True)
VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for depots, backhauls, has_limit, has_windows, is_open in product(
        (1, MOST_DEPOTS), _BACKHAULS, _FLAGS, _FLAGS, _FLAGS
    )
    if (variant := Variant(is_open, backhauls, has_limit, has_windows, depots))
}


@dataclass(frozen=True, eq=False)
class VariantSet:
    """Instances of one variant and size, as the arrays of RouteFinder's files.

    Attributes
    ----------
    arrays
        By name, in 32 bits; demands are fractions of the capacity, which is 1.
    capacity
        What a vehicle holds.
    name
        The variant and the size, with which the names of instances begin.
    """

    arrays: Mapping[str, NDArray[Any]]
    capacity: int
    name: str

    def instances(self) -> list[Instance]:
        """Make an `Instance` of each row, in order."""
        whole = {
            key: np.rint(self.arrays[key].astype(np.float64) * self.capacity).astype(np.int64)
            for key in ("demand_linehaul", "demand_backhaul", "vehicle_capacity")
            if key in self.arrays
        }
        return make_variants({**self.arrays, **whole}, self.name)

    def to_npz(self) -> bytes:
        """Write the file that RouteFinder publishes."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.arrays)  # type: ignore[arg-type]  # numpy's stub takes the arrays for flags
        return buffer.getvalue()


def draw_variant_set(variant: Variant, size: int, count: int = VARIANT_SET_COUNT, seed: int = 1234) -> VariantSet:
    """Draw one of RouteFinder's sets exactly, with numpy's legacy generator.

    Its test sets have seed 1234, 1,000 instances, and 50 or 100 customers; its validation sets have seed 4321. All rows
    are drawn at once, so a smaller count gives different instances, not the first ones of the set.

    Parameters
    ----------
    variant
        The rules; `VARIANTS` has them by name.
    size
        Number of customers of each problem.
    count
        Number of instances.
    seed
        Seed of the legacy generator, 0 to 2**32 - 1.
    """
    refuse_below_one(size, "size")
    refuse_large_set(size, count)
    refuse_seed(seed)
    random = np.random.RandomState(seed)  # the published sets were drawn with this old generator
    shape, depots, capacity = (count, size), variant.depots, _capacity(size)
    places = random.uniform(0, 1, (count, depots + size, 2))
    away = np.linalg.norm(places[:, 1:] - places[:, :1], axis=2)  # from the first depot, (N, D - 1 + n)
    arrays: dict[str, NDArray[Any]] = {"locs": places}
    linehaul = _draw_demands(random, shape, capacity)
    if variant.backhauls:
        is_backhaul = random.rand(*shape) < _SHARE_OF_BACKHAULS
        backhaul = np.zeros(shape)
        backhaul[is_backhaul] = _draw_demands(random, int(is_backhaul.sum()), capacity)
        linehaul[is_backhaul] = 0
        arrays["demand_backhaul"] = backhaul
        arrays["backhaul_class"] = np.full((count, 1), {"last": 1, "mixed": 2}[variant.backhauls])
    if variant.has_windows:
        arrays.update(_draw_windows(random, away[:, depots - 1 :], depots))
    if variant.has_limit:
        least = 2 * away.max(axis=1) + _ALMOST_NOTHING
        arrays["distance_limit"] = random.uniform(least, np.maximum(_LONGEST, least + _ALMOST_NOTHING), (count,))[
            :, None
        ]
    arrays.update(demand_linehaul=linehaul, vehicle_capacity=np.ones((count, 1)), speed=np.ones((count, 1)))
    narrow = {key: values.astype(np.float32) for key, values in arrays.items()}
    if variant.is_open:
        narrow["open_route"] = np.ones((count, 1), dtype=bool)
    return VariantSet(narrow, capacity, f"{variant.name}{size}")


def _capacity(size: int) -> int:
    """Return RouteFinder's capacity for demands 1 to 9."""
    if size > 1000:
        return 230 + int((size - 1000) // 33.3)
    return 30 + (size // 5 if size > 20 else 0)


def _draw_demands(random: np.random.RandomState, shape: tuple[int, ...] | int, capacity: int) -> NDArray[np.float32]:
    """Draw demands as fractions of the capacity, divided in 32 bits as published."""
    wholes: NDArray[np.float32] = random.randint(1, LARGEST_PAPER_DEMAND + 1, shape).astype(np.float32)
    return wholes / np.float32(capacity)


def _draw_windows(
    random: np.random.RandomState, away: NDArray[np.float64], depots: int
) -> dict[str, NDArray[np.float64]]:
    """Draw services and windows that a vehicle from the first depot can keep; `away` is each customer's distance."""
    service = 0.15 + (0.18 - 0.15) * random.rand(*away.shape)
    length = 0.18 + (0.2 - 0.18) * random.rand(*away.shape)
    latest = (_DAY - service - length) / away - 1  # latest start, in distances to the depot
    start = (1 + (latest - 1) * random.rand(*away.shape)) * away
    of_depots = np.tile([0, _DAY], (len(away), depots, 1))
    return {
        "time_windows": np.concatenate([of_depots, np.stack([start, start + length], axis=-1)], axis=1),
        "service_time": np.pad(service, ((0, 0), (depots, 0))),
    }
