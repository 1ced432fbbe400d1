"""What all plots look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FAINT", "FIGURE_INCHES", "INK", "RED", "tidy_axes"]

INK = "#22252b"
FAINT = "#8a8f98"
RED = "#cc3311"  # of what is wrong
FIGURE_INCHES = (7.0, 7.0)


def tidy_axes(ax: Axes) -> None:
    """Remove what is not needed from the axes."""
    ax.tick_params(colors=FAINT, labelsize=8, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#c9ccd1")
