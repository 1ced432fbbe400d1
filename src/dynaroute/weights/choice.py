"""Choosing the shipped model that suits an instance."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.instance import Instance
from dynaroute.weights import GENERALIST, nearest_shipped_model, read_card, shipped_models

NO_MODEL = "savings"
_NEAR = 0.25  # largest relative difference from a specialist's training size
_LIKE_ROUTES = 1.4  # largest factor between route lengths and those of a specialist's training
_SQUARE = 0.6  # least ratio of the sides of the customers' bounding box
_MARGIN = 0.15  # how far outside that box the depot may be, relative to its long side
_DOUBT = 2.0  # standard deviations from chance; strict, because a specialist loses more on unfamiliar instances
# few customers tell little; amd-20 also beat amd on the clustered and mixed ones that only this admits
_DOUBT_OF_FEW, _FEW = 3.0, 38
_CUSTOMERS_PER_CELL = 2.5  # mean number of customers per grid cell
_PAPER_DEMAND = 5.0  # mean of 1 to 9


class ModelChoice(NamedTuple):
    """A model, and the reason for choosing it.

    Attributes
    ----------
    name
        A shipped model, or savings if none suits.
    reason
        A short explanation.
    """

    name: str
    reason: str


def choose_model(instance: Instance) -> ModelChoice:
    """Choose the shipped model for an instance, without trying any.

    The generalist gets every instance except those that look like a specialist's training: size within 25 %, customers
    per route within a factor of 1.4, straight-line distances, and customers spread evenly over a square
    (`looks_uniform`). If no generalist ships, the specialist of the nearest size is chosen.
    """
    if instance.coordinates is None:
        return ModelChoice(NO_MODEL, "there are no coordinates, which policies need")
    nearest = nearest_shipped_model(instance.size)
    if GENERALIST not in shipped_models():
        if nearest is None:
            return ModelChoice(NO_MODEL, "no trained model ships with this version")
        return ModelChoice(nearest, f"trained on {shipped_models()[nearest]} customers, the nearest size")
    if nearest is None:
        return ModelChoice(GENERALIST, "the one model for all sizes and kinds")
    if difference := _find_difference(instance, nearest):
        return ModelChoice(GENERALIST, f"for all sizes and kinds: {difference}")
    return ModelChoice(nearest, f"uniform customers, near the {shipped_models()[nearest]} it was trained on")


def describe_purpose(name: str) -> str:
    """Describe the instances a shipped model is chosen for, or is meant for if it is only used by name."""
    size = shipped_models()[name]
    if name == GENERALIST:
        return "all others"
    if size is None:
        kind = str(read_card(name).get("distribution", "")).partition(":")[0]
        return f"{kind}, by name" if kind else "only by name"
    if GENERALIST not in shipped_models():
        return f"sizes nearest to {size}"
    return f"uniform, {math.ceil((1 - _NEAR) * size)} to {math.floor((1 + _NEAR) * size)}"


def _find_difference(instance: Instance, specialist: str) -> str:
    """Describe how an instance differs from a specialist's training; empty if it does not."""
    size = shipped_models()[specialist]
    assert size is not None  # the nearest model has a size
    if abs(instance.size - size) > _NEAR * size:
        return f"{instance.size} customers are not near {size}"
    if instance.distances is not None or instance.metric != "euclidean":
        return "distances are not plain straight lines"
    demands = instance.demands[1:]
    if not demands.any():
        return "all demands are 0"
    held = instance.capacity / float(demands.mean())
    usual = _read_capacity(specialist) / _PAPER_DEMAND
    if not usual / _LIKE_ROUTES <= held <= usual * _LIKE_ROUTES:
        return f"{held:.3g} customers per route, not about {usual:.3g}"
    assert instance.coordinates is not None  # checked before a model is chosen
    return "" if looks_uniform(instance.coordinates) else "customers are not spread evenly over a square"


@cache  # asked for every instance of a set
def _read_capacity(name: str) -> float:
    """Read the capacity in a model's training; the usual one of its size if the card has none."""
    from dynaroute.draw import usual_capacity

    card = read_card(name)
    return float(card["capacity"] or usual_capacity(card["size"]))


def looks_uniform(coordinates: NDArray[np.float64]) -> bool:
    """Whether customers look uniformly random in a square, with the depot among them.

    Two classical tests, each at two standard deviations (three for few customers). The first is the mean distance to
    the nearest customer, corrected for edges (Clark and Evans 1954, Donnelly 1978): clusters lower it, grids raise it.
    The second is the number of customers per grid cell, which clusters make uneven. Of uniform instances of 100
    customers 92 % pass; of the X set's clustered ones none, and of its mixed ones 1 %. With fewer customers the tests
    are weaker.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first.
    """
    places = coordinates[1:]
    low, high = places.min(axis=0), places.max(axis=0)
    short, long = sorted((high - low).tolist())
    if len(places) < 2 or long == 0 or short < _SQUARE * long:
        return False
    if (np.maximum(low - coordinates[0], coordinates[0] - high) > _MARGIN * long).any():
        return False
    doubt = _DOUBT_OF_FEW if len(places) < _FEW else _DOUBT
    return abs(_score_nearest(places, short, long)) <= doubt and _score_cells((places - low) / (high - low)) <= doubt


def _score_nearest(places: NDArray[np.float64], short: float, long: float) -> float:
    """Score the mean distance to the nearest customer, in standard deviations from chance."""
    count = len(places)
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))  # (n, n)
    np.fill_diagonal(apart, np.inf)
    # the points' bounding box is slightly smaller than the square they were drawn from
    grown = (count + 1) / (count - 1)
    area, perimeter = short * long * grown**2, 2 * (short + long) * grown
    expected = 0.5 * math.sqrt(area / count) + (0.0514 + 0.041 / math.sqrt(count)) * perimeter / count
    deviation = math.sqrt(0.0703 * area / count**2 + 0.037 * perimeter * math.sqrt(area / count**5))
    return (float(apart.min(axis=1).mean()) - expected) / deviation


def _score_cells(places: NDArray[np.float64]) -> float:
    """Score the numbers of customers per cell, in standard deviations from chance: chi square, made normal."""
    count = len(places)
    side = max(2, int(math.sqrt(count / _CUSTOMERS_PER_CELL)))
    cell = np.minimum((places * side).astype(np.int64), side - 1) @ np.array([side, 1])
    found, expected, freedom = np.bincount(cell, minlength=side**2), count / side**2, side**2 - 1
    chi_square = float(((found - expected) ** 2).sum() / expected)
    spread = 2 / (9 * freedom)  # Wilson and Hilferty 1931
    return float(((chi_square / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
