"""Places that a command should not write to."""

from __future__ import annotations

from pathlib import Path

from dynaroute.errors import FileError, Where

__all__ = ["refuse_filled_folder", "refuse_missing_folder"]


def refuse_missing_folder(path: Path) -> None:
    """Refuse a path whose folder is not there, before any work is done for it."""
    if not path.parent.is_dir():
        raise FileError("its folder does not exist.", where=Where(file=str(path)), remedy="Make the folder first.")


def refuse_filled_folder(folder: Path) -> None:
    """Refuse a folder that holds anything: what is there may be dear to someone."""
    place = Where(file=str(folder))
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError("the folder is not empty.", where=place, remedy="Name a new one.")
    if folder.exists() and not folder.is_dir():
        raise FileError("this is a file, not a folder.", where=place, remedy="Name a new folder.")
