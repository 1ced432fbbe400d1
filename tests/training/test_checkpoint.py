from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch

from dynaroute.errors import FileError, ModelError
from dynaroute.training.checkpoint import load_checkpoint, save_checkpoint

CPU = torch.device("cpu")


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    save_checkpoint({"step": 3, "weights": torch.arange(4.0)}, tmp_path / "last.pt")
    state = load_checkpoint(tmp_path / "last.pt", CPU)
    assert state["step"] == 3
    assert torch.equal(state["weights"], torch.arange(4.0))
    assert [path.name for path in tmp_path.iterdir()] == ["last.pt"]


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint({"step": 3}, path)

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match="No space left") as caught:
        save_checkpoint({"step": 4}, path)
    assert "the option resume" in caught.value.remedy
    assert load_checkpoint(path, CPU)["step"] == 3
    assert [file.name for file in tmp_path.iterdir()] == ["last.pt"]


def test_a_vanished_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="gone"):
        save_checkpoint({"step": 4}, tmp_path / "gone" / "last.pt")


def test_a_missing_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no checkpoint"):
        load_checkpoint(tmp_path / "last.pt", CPU)


@pytest.mark.parametrize("keep", [0, 10, 500], ids=["empty", "a few bytes", "half"])
def test_a_damaged_checkpoint_is_told(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint({"weights": torch.arange(100.0)}, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match="damaged"):
        load_checkpoint(path, CPU)


def test_a_changed_bit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint({"weights": torch.full((1000,), 1.5)}, path)
    contents = bytearray(path.read_bytes())
    place = contents.index(torch.full((2,), 1.5).numpy().tobytes())
    contents[place] ^= 1
    path.write_bytes(contents)
    with pytest.raises(ModelError, match="damaged"):
        load_checkpoint(path, CPU)


def test_another_version_is_told(tmp_path: Path) -> None:
    torch.save({"version": 99}, tmp_path / "last.pt")
    with pytest.raises(ModelError, match="version"):
        load_checkpoint(tmp_path / "last.pt", CPU)
