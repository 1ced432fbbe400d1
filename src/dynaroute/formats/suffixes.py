"""Which suffix means which format."""

from __future__ import annotations

from pathlib import Path

from dynaroute.errors import FormatError, UnsupportedError

__all__ = [
    "INSTANCE_SUFFIXES",
    "SET_SUFFIXES",
    "SOLUTION_SUFFIXES",
    "WRITABLE_INSTANCE_SUFFIXES",
    "WRITABLE_SET_SUFFIXES",
    "require_suffix",
    "suffix_of",
]

INSTANCE_SUFFIXES = (".vrp", ".csv", ".json", ".npz", ".pkl")
SET_SUFFIXES = (".json", ".npz", ".pkl")
SOLUTION_SUFFIXES = (".sol", ".json")
WRITABLE_INSTANCE_SUFFIXES = (".vrp", ".csv", ".json", ".npz")
WRITABLE_SET_SUFFIXES = (".json", ".npz")


def suffix_of(path: Path) -> str:
    """The suffix in small letters, with its dot."""
    return path.suffix.lower()


def require_suffix(path: Path, known: tuple[str, ...], content: str) -> str:
    """Return the suffix if it is one of the known ones.

    Parameters
    ----------
    path
        The file.
    known
        Suffixes that will do.
    content
        What the file should hold, for the message: "an instance", "a solution".

    Raises
    ------
    FormatError
        If no format of ours has that suffix.
    UnsupportedError
        If one has, but not for this content or not for writing.
    """
    suffix = suffix_of(path)
    if suffix in known:
        return suffix
    remedy = f"Use one of {', '.join(known)}."
    if suffix in INSTANCE_SUFFIXES or suffix in SOLUTION_SUFFIXES:
        raise UnsupportedError(f"a {suffix} file is not one for {content}.", remedy=remedy)
    shown = f"the suffix {suffix!r} is unknown" if suffix else "the file name has no suffix"
    raise FormatError(f"{shown}, so {content} cannot be expected there.", remedy=remedy)
