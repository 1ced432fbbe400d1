from __future__ import annotations

from pathlib import Path

import pytest

from dynaroute.base.errors import FileError
from dynaroute.cli.shared.output import refuse_filled_folder, refuse_missing_folder


def test_folder_that_is_new_or_empty_may_be_filled(tmp_path: Path) -> None:
    refuse_filled_folder(tmp_path)
    refuse_filled_folder(tmp_path / "new")


def test_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(FileError, match="not empty"):
        refuse_filled_folder(tmp_path)


def test_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(FileError, match="not a folder"):
        refuse_filled_folder(tmp_path / "notes.txt")


def test_place_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    refuse_missing_folder(tmp_path / "a.sol")

    with pytest.raises(FileError, match="does not exist"):
        refuse_missing_folder(tmp_path / "none" / "a.sol")
