"""Warnings about input that was read although it is odd."""

from __future__ import annotations

import warnings

from dynaroute.errors import InputWarning

__all__ = ["warn_of_input"]


def warn_of_input(source: str, message: str) -> None:
    """Warn that something in the input was ignored or put right.

    Parameters
    ----------
    source
        The file's path, or "" where there is no file.
    message
        One sentence.
    """
    warnings.warn(f"{source}: {message}" if source else message, InputWarning, stacklevel=3)
