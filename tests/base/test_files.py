from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynaroute.base.errors import FileError, FormatError
from dynaroute.base.files import read_bytes, remove_unfinished, write_bytes
from dynaroute.base.limits import LARGEST_FILE


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_of_over_a_gigabyte_is_refused_by_its_size_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "huge.vrp"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)  # sparse: takes no room
    monkeypatch.setattr("os.open", lambda *_: pytest.fail("the file was read"))

    with pytest.raises(FileError, match="bytes") as caught:
        read_bytes(path)

    assert caught.value.remedy


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    with pytest.raises(FormatError, match="empty"):
        read_bytes(tmp_path / "empty")


def test_a_file_inside_a_file_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(FileError, match="no such file"):
        read_bytes(tmp_path / "file" / "inside.vrp")


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_an_impossible_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError):
        read_bytes(tmp_path / name)
    with pytest.raises(FileError):
        write_bytes(tmp_path / name, b"content")


def test_no_permission_to_read_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.vrp"
    path.write_text("x")

    def refuse(*_: object) -> int:  # permissions do not stop the superuser, whom tests may run as
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)

    with pytest.raises(FileError, match="permission") as caught:
        read_bytes(path)

    assert caught.value.remedy


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_bytes(tmp_path / "file", b"content")

    assert read_bytes(tmp_path / "file") == b"content"
    assert names_in(tmp_path) == ["file"]


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="absent") as caught:
        write_bytes(tmp_path / "absent" / "file", b"content")

    assert "Create" in caught.value.remedy
    assert names_in(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(FileError, match="folder"):
        write_bytes(tmp_path / "folder", b"content")


@pytest.mark.parametrize("interruption", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    step: str, interruption: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupt(*arguments: object) -> None:
        raise interruption

    monkeypatch.setattr(*((os, "fsync", interrupt) if step == "fsync" else (Path, "replace", interrupt)))

    with pytest.raises(KeyboardInterrupt if isinstance(interruption, KeyboardInterrupt) else FileError):
        write_bytes(path, b"new")

    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)

    write_bytes(path, b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")

    write_bytes(tmp_path / "ours", b"")

    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(FileError, match="permission"):
        write_bytes(path, b"new")

    assert path.read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")

    write_bytes(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_killed_writer_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    killed_when_all_is_written = (
        "import os, sys\nfrom pathlib import Path\nfrom dynaroute.base.files import write_bytes\n"
        "os.fsync = lambda descriptor: os._exit(9)\nwrite_bytes(Path(sys.argv[1]), b'new')\n"
    )

    ended = subprocess.run([sys.executable, "-c", killed_when_all_is_written, str(path)], check=False)

    assert ended.returncode == 9
    assert path.read_bytes() == b"old"


def leave_unfinished(folder: Path) -> Path:
    """Make a file as a killed writer leaves it."""
    path = folder / ".dynaroute-0123456789abcdef.tmp"
    path.write_bytes(b"half of it")
    return path


def test_what_a_killed_writer_left_is_removed_with_the_next_file(tmp_path: Path) -> None:
    unfinished = leave_unfinished(tmp_path)
    (tmp_path / ".dynaroute-notes.txt").write_bytes(b"of somebody else")

    write_bytes(tmp_path / "file", b"new")

    assert not unfinished.exists()
    assert names_in(tmp_path) == [".dynaroute-notes.txt", "file"]


def test_file_that_a_living_process_writes_is_not_removed(tmp_path: Path) -> None:
    waits_before_the_end = (
        "import os, sys\nfrom pathlib import Path\nfrom dynaroute.base.files import write_bytes\n"
        "usual = os.fsync\n"
        "def wait(descriptor):\n    print('written', flush=True)\n    input()\n    usual(descriptor)\n"
        "os.fsync = wait\nwrite_bytes(Path(sys.argv[1]), b'of the living')\n"
    )
    command = [sys.executable, "-c", waits_before_the_end, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"

        remove_unfinished(tmp_path)
        during = names_in(tmp_path)
        writer.communicate("\n")

    assert len(during) == 1
    assert (tmp_path / "file").read_bytes() == b"of the living"
    assert names_in(tmp_path) == ["file"]


def test_file_that_another_machine_took_for_a_leftover_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, removed = os.fsync, list[str]()

    def remove_the_first(descriptor: int) -> None:
        if not removed:
            removed.extend(names_in(tmp_path))
            (tmp_path / removed[0]).unlink()
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", remove_the_first)

    write_bytes(tmp_path / "file", b"new")

    assert removed
    assert (tmp_path / "file").read_bytes() == b"new"


def test_two_writers_of_one_file_do_not_share_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, names = tmp_path / "file", set[str]()
    usual = os.fsync

    def note_names(descriptor: int) -> None:
        names.update(names_in(tmp_path))
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", note_names)
    write_bytes(path, b"one")
    write_bytes(path, b"other")

    assert len(names - {"file"}) == 2


def test_a_folder_that_must_not_be_written_to_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> int:  # permissions do not stop the superuser, whom tests may run as
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(FileError, match="Permission denied") as caught:
        write_bytes(tmp_path / "file", b"content")

    assert caught.value.where.file == str(tmp_path / "file")
    assert caught.value.remedy


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(FileError, match="a device or a pipe"):
        write_bytes(tmp_path / "pipe", b"content")
