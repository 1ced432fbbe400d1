"""Checking output paths."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from dynaroute.base.errors import FileError, OptionError, Where

__all__ = ["list_files", "list_model_files", "refuse_filled_folder", "refuse_missing_folder", "refuse_overwriting"]

MODEL_FILES = ("config.json", "model.safetensors", "README.md")


def refuse_overwriting(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[Path | None]) -> None:
    """Raise if an output file is also an input, or is written twice, under any path or link.

    Raises
    ------
    OptionError
        The error names the option and the file.
    """
    read = {_identify(path): path for path in inputs if path is not None}
    written: dict[tuple[object, ...], str] = {}
    for option, path in outputs:
        if path is None:
            continue
        place, identity = Where(file=str(path), field=option), _identify(path)
        if identity in read:
            message = f"this would replace {read[identity]}, which is an input."
            raise OptionError(message, where=place, remedy="Name another file to write.")
        if identity in written:
            message = f"{written[identity]} writes to the same file."
            raise OptionError(message, where=place, remedy="Name different files.")
        written[identity] = option


def _identify(path: Path) -> tuple[object, ...]:
    """Return an identity shared by all names of a file, following links, whether or not it exists."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino
    except (OSError, ValueError):  # ValueError: a NUL character in the path
        target = Path(os.path.realpath(path)) if "\0" not in str(path) else path
    # these systems ignore differences in case and in the encoding of accents
    folds = sys.platform in ("darwin", "win32")
    name = unicodedata.normalize("NFC", target.name).casefold() if folds else target.name
    try:
        folder = target.parent.stat()
        return folder.st_dev, folder.st_ino, name
    except (OSError, ValueError):
        return str(target.parent), name


def list_files(*places: str | Path | None) -> list[Path]:
    """List given files, and all files in given folders; None and missing paths are ignored."""
    paths = [Path(place) for place in places if place is not None and "\0" not in str(place)]
    return [path for place in paths for path in (sorted(place.iterdir()) if place.is_dir() else [place])]


def list_model_files(model: str | None) -> list[Path]:
    """List a model's files, by name or folder; for auto, those of all shipped models."""
    from dynaroute.weights import find_model, shipped_models

    names = [] if model in (None, "savings") else list(shipped_models()) if model == "auto" else [str(model)]
    return [find_model(name) / file for name in names for file in MODEL_FILES]


def refuse_missing_folder(path: Path) -> None:
    """Raise if the path's folder does not exist, before any work is done."""
    if not path.parent.is_dir():
        raise FileError("its folder does not exist.", where=Where(file=str(path)), remedy="Create the folder first.")


def refuse_filled_folder(folder: Path) -> None:
    """Raise if the folder is not empty, to protect its content."""
    place = Where(file=str(folder))
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError("the folder is not empty.", where=place, remedy="Name a new one.")
    if folder.exists() and not folder.is_dir():
        raise FileError("this is a file, not a folder.", where=place, remedy="Name a new folder.")
