from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from batches import draw, write_input

from dynaroute.base.errors import DynarouteError, FileError, FormatError
from dynaroute.formats import write
from dynaroute.scale.input.opening import open_source
from dynaroute.scale.rows import Block


def test_the_rows_of_a_set_travel_with_their_blocks(tmp_path: Path) -> None:
    write(draw(4), tmp_path / "set.npz")
    source = open_source(str(tmp_path / "set.npz"))
    block = source.prepare(Block(1, 3))
    sent = pickle.loads(pickle.dumps(source))
    assert len(sent) == 4
    assert [row.instance for row in sent.read(block)] == draw(4)[1:3]
    assert [row.id for row in sent.read(block)] == ["set-2", "set-3"]


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for name, instance in zip("cab", draw(3), strict=True):
        write(instance, tmp_path / f"{name}.vrp")
    source = open_source(str(tmp_path))
    assert [row.id for row in source.read(source.prepare(Block(0, 3)))] == ["a", "b", "c"]


def test_sets_in_a_folder_have_a_row_for_each_instance(tmp_path: Path) -> None:
    write(draw(2), tmp_path / "a.npz")
    write(draw(1)[0], tmp_path / "b.vrp")
    source = open_source(str(tmp_path))
    assert [row.id for row in source.read(Block(0, 3))] == ["a-1", "a-2", "b"]


def test_a_file_that_cannot_be_read_is_the_error_of_its_row(tmp_path: Path) -> None:
    write(draw(1)[0], tmp_path / "a.vrp")
    (tmp_path / "b.vrp").write_text("nothing of the kind")
    right, faulty = open_source(str(tmp_path)).read(Block(0, 2))
    assert right.instance is not None
    assert faulty.id == "b"
    assert "b.vrp" in faulty.error


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for suffix in (".vrp", ".json"):
        write(draw(1)[0], tmp_path / f"a{suffix}")
    with pytest.raises(FormatError, match=r"a\.json and a\.vrp would have the same id, 'a'"):
        open_source(str(tmp_path))


def test_the_digest_of_a_folder_changes_with_any_file(tmp_path: Path) -> None:
    for name, instance in zip("ab", draw(2), strict=True):
        write(instance, tmp_path / f"{name}.vrp")
    before = open_source(str(tmp_path)).digest
    write(draw(1, seed=3)[0], tmp_path / "b.vrp")
    assert open_source(str(tmp_path)).digest != before


def test_parquet_and_instance_files_in_one_folder_are_refused(tmp_path: Path) -> None:
    write_input(tmp_path, 1)
    write(draw(1)[0], tmp_path / "a.vrp")
    with pytest.raises(FormatError, match="both Parquet files and instance files"):
        open_source(str(tmp_path))


def test_a_folder_without_instances_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("nothing here")
    with pytest.raises(FileError, match="no instance file"):
        open_source(str(tmp_path))


@pytest.mark.parametrize("address", ["nowhere", "nowhere.parquet", "weird://place/set.parquet"])
def test_what_is_not_there_is_refused_by_name(address: str) -> None:
    with pytest.raises(DynarouteError, match=address):
        open_source(address)
