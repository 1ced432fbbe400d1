"""A small SVG picture of places and routes for notebooks, without any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Place = tuple[float, float]

_WIDTH, _MARGIN = 320, 10
_MOST_PLACES = 3000  # above this only every k-th customer and leg is drawn, to keep notebooks fast
# distinguishable for colour-blind people too
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5500", "#777777")


@dataclass(frozen=True)
class Sketch:
    """A caption and a picture for notebooks.

    Attributes
    ----------
    words
        The caption.
    picture
        SVG; empty if there is nothing to draw.
    """

    words: str
    picture: str

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return f"<div>{escape(self.words)}<br>{self.picture}</div>"


def draw_sketch(places: Sequence[Place] | None, routes: Sequence[Sequence[int]] = ()) -> str:
    """Draw places and routes as SVG; empty if places are unknown.

    Parameters
    ----------
    places
        (x, y) of the depot and of customers 1 to n; y grows upwards.
    routes
        Sequences of customers; each is drawn from the depot and back.
    """
    if not places:
        return ""
    left, low = min(x for x, _ in places), min(y for _, y in places)
    extent = max(max(x for x, _ in places) - left, max(y for _, y in places) - low) or 1.0
    factor = (_WIDTH - 2 * _MARGIN) / extent
    height = 2 * _MARGIN + factor * (max(y for _, y in places) - low)
    drawn = [(_MARGIN + factor * (x - left), height - _MARGIN - factor * (y - low)) for x, y in places]
    step = -(-len(places) // _MOST_PLACES)
    parts = [
        _draw_route([drawn[0], *(drawn[stop] for stop in route[::step]), drawn[0]], number)
        for number, route in enumerate(routes)
    ]
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#333"/>' for x, y in drawn[1::step]]
    x, y = drawn[0]
    parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="#000"/>')
    size = f'width="{_WIDTH}" height="{height:.0f}" viewBox="0 0 {_WIDTH} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="background:#fff">{"".join(parts)}</svg>'


def _draw_route(points: Sequence[Place], number: int) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{line}" fill="none" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="1.5"/>'
