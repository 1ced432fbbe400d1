"""How the kernels of this room are compiled.

Numba keeps machine code on disk and renews it when the file of the function changes, not when a file does whose
functions it calls. Whoever edits a kernel that others call deletes `improve/__pycache__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "compiled_in_place"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile a function of plain numbers and arrays when it is first called, and keep the machine code on disk.

    It runs without Python's lock, so that threads work side by side.

    Parameters
    ----------
    function
        What to compile.
    """
    return _compile(function, {})


def compiled_in_place(function: _Function) -> _Function:
    """Compile a function that makes no array and no slice of one: inlined where it is called, without reference counts.

    Counting is atomic, and slow. Without it, one iteration of ruin and recreate takes 2.3 instead of 3.6
    microseconds.

    Parameters
    ----------
    function
        What to compile. It may call others of its kind only.
    """
    return _compile(function, {"forceinline": True, "_nrt": False})


def _compile(function: _Function, options: dict[str, Any]) -> _Function:
    try:
        return cast(_Function, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))
    except RuntimeError:  # there is no folder to keep it in: neither beside the source nor in the user's home
        return cast(_Function, numba.njit(nogil=True, error_model="numpy", **options)(function))
