"""How maps are drawn: where nodes are, the colours of routes, and the style of figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import UnsupportedError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DrawnPlane(NamedTuple):
    """Positions as drawn, and the ratio of a unit of y to a unit of x."""

    points: NDArray[np.float64]
    aspect: float
    labels: tuple[str, str]


def project(instance: Instance) -> DrawnPlane:
    """Project positions onto a map.

    Raises
    ------
    UnsupportedError
        If the instance has no coordinates.
    """
    if instance.coordinates is None:
        raise UnsupportedError.about(
            "coordinates",
            "the instance has distances but no coordinates, so there is nothing to draw.",
            "Add coordinates (in a .vrp file: NODE_COORD_SECTION or DISPLAY_DATA_SECTION).",
        )
    if instance.metric == "euclidean":
        return DrawnPlane(instance.coordinates, 1.0, ("x", "y"))
    latitudes, longitudes = instance.coordinates[:, 0], instance.coordinates[:, 1]
    if np.ptp(longitudes) > 180:  # keep places on both sides of the date line together
        longitudes = longitudes % 360
    middle = math.radians(float(latitudes.min() + latitudes.max()) / 2)
    aspect = 1 / max(math.cos(middle), 0.05)  # near the poles every flat map is distorted
    return DrawnPlane(np.column_stack([longitudes, latitudes]), aspect, ("longitude", "latitude"))


def round_down(length: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not larger."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(step * power for step in (1, 2, 5) if step * power <= length * (1 + 1e-9))


def show_scale(metres: float) -> str:
    """Write a length in metres or kilometres."""
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"


GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
INK = "#22252b"
FAINT = "#8a8f98"
RED = "#cc3311"  # of what is wrong
FIGURE_INCHES = (7.0, 7.0)


def colour_routes(instance: Instance, solution: Solution) -> list[str]:
    """Return each route's colour, the same in all plots of a solution."""
    if instance.coordinates is None:
        return ["#4477aa"] * len(solution.routes)
    return _route_colours(project(instance).points, solution)


def _route_colours(points: NDArray[np.float64], solution: Solution) -> list[str]:
    """Give neighbouring routes clearly different colours.

    Routes are taken in order of direction from the depot, and each turns the hue by the golden angle. So any few in a
    row, and thus neighbours, are far apart on the colour circle.
    """
    centres = [points[list(route)].mean(axis=0) - points[0] for route in solution.routes]
    directions = [math.atan2(centre[1], centre[0]) for centre in centres]
    colours = [""] * len(centres)
    for rank, number in enumerate(sorted(range(len(centres)), key=lambda number: directions[number])):
        # hues nearly repeat after 13, 21 and 34 turns, so four levels of lightness separate those routes
        lightness = (0.64, 0.46, 0.73, 0.55)[rank % 4]
        colours[number] = _oklch(lightness, 0.15, 0.6 + rank * GOLDEN_ANGLE)
    return colours


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """Convert a colour of Ottosson's perceptual space Oklab, in polar form, to sRGB."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _encode(min(max(part, 0.0), 1.0))):02x}" for part in linear)


def _encode(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def tidy_axes(ax: Axes) -> None:
    """Remove what is not needed from the axes."""
    ax.tick_params(colors=FAINT, labelsize=8, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#c9ccd1")
