"""A matrix of distances and travel times between points on roads, as a service gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, Where
from dynaroute.problem.lengths import great_circle

Line = list[tuple[float, float]]  # latitudes and longitudes along a way

_NEAR, _FARTHEST = 250.0, 1_000.0  # metres from a stop to its point on a road


@dataclass(frozen=True)
class RoadMatrix:
    """Legs between points.

    Attributes
    ----------
    distances, durations
        Metres and seconds from row to column, or None; nan where there is no way.
    points
        Latitude and longitude of each point, or None if they are not known.
    notes
        What the user should know about it.
    """

    distances: NDArray[np.float64] | None
    durations: NDArray[np.float64] | None
    points: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of points."""
        given = self.distances if self.distances is not None else self.durations
        return 0 if given is None else len(given)

    def sort(
        self, names: Sequence[str], lines: Sequence[int], places: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Put the legs in the order of the nodes, and check that points belong to stops and all legs exist.

        Parameters
        ----------
        names
            What the nodes are called in messages.
        lines
            The line of each node in its file: the points are in their order.
        places
            Latitudes and longitudes of the nodes, if known.

        Raises
        ------
        FormatError
            If there is another number of points, a point is far from its stop, or a leg has no way.
        """
        if self.size != len(names):
            raise FormatError(
                f"the matrix has {self.size} points, but there are {len(names)} stops including the depot.",
                where=Where(field="matrix"),
                remedy="Ask for the matrix of all stops, in the order of their rows.",
            )
        by_line = np.argsort(np.argsort(np.asarray(lines), kind="stable"), kind="stable")
        orders = [by_line, np.arange(len(names))]
        if self.points is not None and places is not None:
            fits = [order for order in orders if not self._find_strays(order, places)]
            if not fits:
                raise self._describe_stray(by_line, places, names)
            orders = fits
        order = orders[0]
        for legs in (self.distances, self.durations):
            if legs is not None:
                _refuse_gaps(legs[np.ix_(order, order)], names)
        sorted_legs = [
            None if legs is None else np.where(np.eye(self.size, dtype=bool), 0.0, legs[np.ix_(order, order)])
            for legs in (self.distances, self.durations)
        ]
        return sorted_legs[0], sorted_legs[1]

    def _find_strays(self, order: NDArray[np.intp], places: NDArray[np.float64]) -> list[int]:
        """Find nodes whose point is far away, or much nearer to another node."""
        assert self.points is not None
        points = self.points[order]
        between = great_circle(points[:, None, :], places[None, :, :])
        own = np.diagonal(between)
        is_wrong = (own > _FARTHEST) | ((own > _NEAR) & (between.min(axis=1) < own / 2))
        return [int(node) for node in np.flatnonzero(is_wrong)]

    def _describe_stray(
        self, order: NDArray[np.intp], places: NDArray[np.float64], names: Sequence[str]
    ) -> FormatError:
        assert self.points is not None
        node = self._find_strays(order, places)[0]
        metres = float(great_circle(self.points[order[node]], places[node]))
        return FormatError(
            f"point {order[node] + 1} of the matrix is {metres / 1000:,.1f} km away from {names[node]}.",
            where=Where(field="matrix"),
            remedy="Ask for the matrix of these stops, in the order of their rows; or move the stop to a road.",
        )


def _refuse_gaps(legs: NDArray[np.float64], names: Sequence[str]) -> None:
    gaps = np.argwhere(np.isnan(legs) & ~np.eye(len(legs), dtype=bool))
    if not len(gaps):
        return
    start, end = gaps[0]
    more = f", and {len(gaps) - 1:,} more legs are missing" if len(gaps) > 1 else ""
    raise FormatError(
        f"there is no way from {names[start]} to {names[end]}{more}.",
        where=Where(field="matrix"),
        remedy="Check their positions (an island, a pedestrian zone?), or leave out the stop.",
    )
