"""What a format cannot hold, refused by name."""

from __future__ import annotations

from collections.abc import Mapping

from dynaroute.errors import UnsupportedError, Where

__all__ = ["refuse_what_cannot_be_stored"]


def refuse_what_cannot_be_stored(file: str, obstacles: Mapping[str, tuple[str, bool]]) -> None:
    """Refuse the first thing that is there and cannot be held.

    Parameters
    ----------
    file
        What would be written: "a .npz file".
    obstacles
        By field: the thing in words, and whether it is there.
    """
    for field, (thing, is_there) in obstacles.items():
        if is_there:
            raise UnsupportedError(
                f"{file} cannot hold {thing}.",
                where=Where(field=field),
                remedy="Write a .json file, which holds everything.",
            )
