from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from dynaroute.base.errors import FileError, InputWarning, ModelError
from dynaroute.training.run.state import load_checkpoint, require_unchanged, save_checkpoint

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


STATE = {
    "step": 3,
    "trajectories": 96,
    "best_length": 4.5,
    "policy": {"weights": torch.arange(4.0)},
    "rates": [1, (2,)],
}


@pytest.mark.parametrize(
    "change",
    [
        {"best_length": 1.0},
        {"trajectories": 0},
        {"step": 3.0},
        {"rates": [1, (3,)]},
        {"policy": {"weights": torch.arange(4)}},
        {"policy": {"weights": torch.arange(4.0).reshape(2, 2)}},
        {"policy": {"other": torch.arange(4.0)}},
        {"more": 1},
        {"checksum": None},
    ],
    ids=str,
)
def test_a_changed_checkpoint_is_told(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint(STATE, path)
    torch.save({**torch.load(path, weights_only=True), **change}, path)
    with pytest.raises(ModelError, match="changed after it was written") as caught:
        require_unchanged(load_checkpoint(path, CPU))
    assert "best.pt" in caught.value.remedy


def test_a_checkpoint_that_is_only_saved_again_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint(STATE, path)
    torch.save(torch.load(path, weights_only=True), path)
    contents = load_checkpoint(path, CPU)
    require_unchanged(contents)
    assert contents["best_length"] == 4.5


def test_a_checkpoint_without_a_checksum_is_read_with_a_note(tmp_path: Path) -> None:
    torch.save({"version": 1, **STATE}, tmp_path / "last.pt")
    contents = load_checkpoint(tmp_path / "last.pt", CPU)
    with pytest.warns(InputWarning, match="no checksum"):
        require_unchanged(contents)
    assert contents["step"] == 3
