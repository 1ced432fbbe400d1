from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dynaroute.base.errors import FileError
from dynaroute.training.files import hold_folder, replace_file


def test_what_was_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(Path, "unlink", fail)  # as on a disk that has become read-only
    with pytest.raises(FileError, match="Read-only") as caught:
        replace_file(path, b"new")
    assert caught.value.where.file == str(path)
    assert path.read_bytes() == b"old"


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold_folder(tmp_path), pytest.raises(FileError, match="another process"), hold_folder(tmp_path):
        pass
    with hold_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_had_not_finished_is_removed_when_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / ".dynaroute-0123456789abcdef.tmp").write_bytes(b"half of a checkpoint")
    with hold_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []
