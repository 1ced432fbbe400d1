"""Writing figures to files."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import OptionError, Where
from dynaroute.base.files import write_bytes
from dynaroute.base.vocabulary import join_with_or

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNDATED: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

PICTURE_SUFFIXES = tuple(_UNDATED)


def save_figure(ax: Axes, path: str | Path) -> None:
    """Write the figure of some axes as PNG, SVG or PDF, by suffix.

    The same figure gives the same bytes, and a failed write leaves an existing file untouched.

    Parameters
    ----------
    ax
        Any axes of the figure.
    path
        The file to write.

    Raises
    ------
    OptionError
        If the suffix is not one of `PICTURE_SUFFIXES`.
    FileError
        If the file cannot be written.
    """
    target = check_picture_path(path)
    write_bytes(target, format_figure(ax, target.suffix.lower()))


def format_figure(ax: Axes, suffix: str) -> bytes:
    """Return the figure of some axes as the content of a file with one of `PICTURE_SUFFIXES`."""
    import matplotlib

    figure = ax.get_figure(root=True)
    assert figure is not None  # axes are made by a figure
    picture = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "dynaroute"}), warnings.catch_warnings():
        # a script that the font lacks is drawn as boxes, which is no reason to warn
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(picture, format=suffix[1:], dpi=160, bbox_inches="tight", metadata=_UNDATED[suffix])
    return picture.getvalue()


def check_picture_path(path: str | Path) -> Path:
    """Raise if a file name has no picture suffix, before any work is done.

    Parameters
    ----------
    path
        The file to write later.

    Raises
    ------
    OptionError
        If the suffix is not one of `PICTURE_SUFFIXES`.
    """
    target = Path(path)
    if target.suffix.lower() not in PICTURE_SUFFIXES:
        raise OptionError(
            f"{target.suffix!r} is not a picture format." if target.suffix else "the picture's name has no suffix.",
            where=Where(file=str(path)),
            remedy=f"End the name in {join_with_or(PICTURE_SUFFIXES)}.",
        )
    return target
