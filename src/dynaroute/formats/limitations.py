"""Refusing to write what a format cannot hold."""

from __future__ import annotations

from collections.abc import Mapping

from dynaroute.base.errors import UnsupportedError


def refuse_what_cannot_be_stored(file: str, obstacles: Mapping[str, tuple[str, bool]]) -> None:
    """Raise if the instance has something that the format cannot hold.

    Parameters
    ----------
    file
        The kind of file, such as "a .npz file".
    obstacles
        By field: its name in words, and whether the instance has it.
    """
    for field, (thing, is_there) in obstacles.items():
        if is_there:
            raise UnsupportedError.about(
                field, f"{file} cannot hold {thing}.", "Write a .json file, which holds everything."
            )
