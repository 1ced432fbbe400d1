"""What all our pictures have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FAINT", "INK", "tidy_axes"]

INK = "#22252b"
FAINT = "#8a8f98"


def tidy_axes(ax: Axes) -> None:
    """Draw no more of the axes than needed."""
    ax.tick_params(colors=FAINT, labelsize=8, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#c9ccd1")
