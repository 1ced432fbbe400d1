"""Which of the shipped models suits an instance, from what the instance looks like."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.instance import Instance
from dynaroute.weights import GENERALIST, find_model, nearest_shipped_model, shipped_models

__all__ = ["NO_MODEL", "ModelChoice", "choose_model", "describe_purpose", "looks_uniform"]

NO_MODEL = "savings"
_NEAR = 0.25  # a specialist's sizes: so far from the one it was trained on, as a part of it
_LIKE_ROUTES = 1.4  # a specialist's route lengths: at most so many times longer or shorter
_SQUARE = 0.6  # the short side of the customers' bounding box over the long one
_MARGIN = 0.15  # how far outside that box the depot may be, in long sides
_DOUBT = 2.0  # deviations from what chance gives; a specialist's loss on what it does not know is the greater one
# so few customers tell little: on clustered and mixed ones that only this admits, amd-20 was better than amd, too
_DOUBT_OF_FEW, _FEW = 3.0, 38
_IN_A_CELL = 2.5  # customers in a cell of the grid, on average
_PAPER_DEMAND = 5.0  # mean of 1 to 9


class ModelChoice(NamedTuple):
    """A model, and why it.

    Attributes
    ----------
    name
        Of a shipped model, or savings where none suits.
    reason
        In a few words.
    """

    name: str
    reason: str


def choose_model(instance: Instance) -> ModelChoice:
    """The shipped model for an instance, without trying any.

    Where the generalist ships it gets every instance but those that look like what a specialist was trained on: the
    size within a quarter, customers a route within a factor of 1.4, straight-line distances, and customers spread as
    evenly over a square as chance spreads them (`looks_uniform`). Where it does not, the nearest size is chosen.

    Parameters
    ----------
    instance
        Any.
    """
    if instance.coordinates is None:
        return ModelChoice(NO_MODEL, "there are no coordinates for a policy to read")
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
    """What instances a shipped model is chosen for.

    Parameters
    ----------
    name
        Of the model.
    """
    size = shipped_models()[name]
    if name == GENERALIST:
        return "all others"
    if size is None:
        return "none: by name alone"
    if GENERALIST not in shipped_models():
        return f"sizes nearest to {size}"
    return f"uniform, {math.ceil((1 - _NEAR) * size)} to {math.floor((1 + _NEAR) * size)}"


def _find_difference(instance: Instance, specialist: str) -> str:
    """What tells an instance from those of a specialist's training; nothing if it looks like them."""
    size = shipped_models()[specialist]
    assert size is not None  # or it would not be the nearest
    if abs(instance.size - size) > _NEAR * size:
        return f"{instance.size} customers are not near {size}"
    if instance.distances is not None or instance.metric != "euclidean":
        return "distances are not plain straight lines"
    demands = instance.demands[1:]
    if not demands.any():
        return "nobody wants anything"
    held = instance.capacity / float(demands.mean())
    usual = _read_capacity(find_model(specialist)) / _PAPER_DEMAND
    if not usual / _LIKE_ROUTES <= held <= usual * _LIKE_ROUTES:
        return f"{held:.3g} customers a route, not about {usual:.3g}"
    assert instance.coordinates is not None  # or no model would be chosen
    return "" if looks_uniform(instance.coordinates) else "customers are not spread evenly over a square"


@cache  # asked for every instance of a set
def _read_capacity(folder: Path) -> float:
    """What a vehicle held in a model's training; the usual capacity of its size where the card does not say."""
    from dynaroute.distributions import usual_capacity

    card = json.loads((folder / "config.json").read_text(encoding="utf-8"))["card"]
    return float(card["capacity"] or usual_capacity(card["size"]))


def looks_uniform(coordinates: NDArray[np.float64]) -> bool:
    """Whether customers might have been spread over a square by chance, with the depot among them.

    Two classical tests, each at two deviations (three for few customers): the mean distance to the nearest customer,
    edges included (Clark and Evans 1954, Donnelly 1978), which clusters bring down and grids bring up; and the numbers
    of customers in cells of a grid, which are more uneven where there are clusters among others. Of uniform instances
    of 100 customers 92 % pass, of the X set's clustered ones none, and of its mixed ones 1 %; the fewer customers, the
    less can be told.

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
    """Deviations of the mean distance to the nearest from that of chance."""
    count = len(places)
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))  # (n, n)
    np.fill_diagonal(apart, np.inf)
    # the points' own box is a little smaller than the one they were drawn from
    grown = (count + 1) / (count - 1)
    area, perimeter = short * long * grown**2, 2 * (short + long) * grown
    expected = 0.5 * math.sqrt(area / count) + (0.0514 + 0.041 / math.sqrt(count)) * perimeter / count
    deviation = math.sqrt(0.0703 * area / count**2 + 0.037 * perimeter * math.sqrt(area / count**5))
    return (float(apart.min(axis=1).mean()) - expected) / deviation


def _score_cells(places: NDArray[np.float64]) -> float:
    """Deviations of the numbers in cells of the unit square from those of chance: chi square, made normal."""
    count = len(places)
    side = max(2, int(math.sqrt(count / _IN_A_CELL)))
    cell = np.minimum((places * side).astype(np.int64), side - 1) @ np.array([side, 1])
    found, expected, freedom = np.bincount(cell, minlength=side**2), count / side**2, side**2 - 1
    chi_square = float(((found - expected) ** 2).sum() / expected)
    spread = 2 / (9 * freedom)  # Wilson and Hilferty 1931
    return float(((chi_square / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
