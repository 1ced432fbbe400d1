from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from batches import change_column, drop_checksum, run, write_input

from dynaroute.base.errors import FileError, FormatError, InputWarning
from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block

FOUND = [
    RowOutcome("a", 3, ((1, 2), (3,)), 4.5, "greedy", 0.25, "amd-20", 7, None, True, (0, 1)),
    RowOutcome("b", 4, seed=7, error="it cannot be solved."),
]


def parts_in(folder: Path) -> Parts:
    return Parts(StoragePlace(str(folder)))


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    parts_in(tmp_path).write(Block(3, 5), FOUND)
    assert parts_in(tmp_path).read(Block(3, 5)) == FOUND


def test_a_part_without_any_routes_is_written_too(tmp_path: Path) -> None:
    parts_in(tmp_path).write(Block(4, 5), FOUND[1:])
    assert parts_in(tmp_path).read(Block(4, 5)) == FOUND[1:]


def test_nothing_but_the_whole_part_is_left_in_the_folder(tmp_path: Path) -> None:
    parts_in(tmp_path).write(Block(3, 5), FOUND)
    assert [file.name for file in tmp_path.iterdir()] == ["part-000000000003-000000000005.parquet"]


def test_what_is_missing_is_told_from_the_names_of_parts(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    for block in (Block(2, 4), Block(7, 9)):
        parts.write(block, [])
    assert list(parts.find_gaps(0, 12)) == [Block(0, 2), Block(4, 7), Block(9, 12)]
    assert list(parts.find_gaps(2, 9)) == [Block(4, 7)]


def test_parts_of_rows_that_are_not_of_the_run_are_refused(tmp_path: Path) -> None:
    parts_in(tmp_path).write(Block(2, 4), [])
    with pytest.raises(FileError, match="not belong to this run"):
        list(parts_in(tmp_path).find_gaps(0, 3))


def test_parts_that_share_rows_are_refused(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    for block in (Block(0, 4), Block(2, 6)):
        parts.write(block, [])
    with pytest.raises(FileError, match="contains rows of another part"):
        list(parts.find_gaps(0, 6))


def test_a_block_that_is_written_has_a_tally(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    tally = parts.find_tally(Block(3, 5))
    assert tally is not None
    assert (tally.rows, tally.failed) == (2, 1)
    assert parts.find_tally(Block(3, 4)) is None


def test_a_damaged_part_is_refused_by_name(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(FormatError, match=f"{file.name}: this is not a valid part"):
        parts.read(Block(3, 5))


def test_a_part_that_lacks_a_column_is_refused_by_name(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    (file,) = tmp_path.iterdir()
    pq.write_table(pq.read_table(file).drop_columns("checked"), file)
    with pytest.raises(FormatError, match="field checked: this column is missing"):
        parts.read(Block(3, 5))


@pytest.mark.parametrize(
    ("column", "cells"), [("seconds", [0.0, 0.0]), ("method", ["sample", None]), ("id", ["b", "a"])]
)
def test_a_part_that_was_changed_is_refused_by_name(tmp_path: Path, column: str, cells: list[object]) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    (file,) = tmp_path.iterdir()
    change_column(file, column, lambda _: cells)
    with pytest.raises(FormatError, match=f"{file.name}: its checksum does not match its rows"):
        parts.read(Block(3, 5))


def test_a_part_packed_otherwise_is_still_as_it_was_written(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    (file,) = tmp_path.iterdir()
    pq.write_table(pq.read_table(file), file, compression="none", row_group_size=1)
    assert parts.read(Block(3, 5)) == FOUND


def test_a_part_without_a_checksum_is_read_with_a_note(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    parts.write(Block(3, 5), FOUND)
    (file,) = tmp_path.iterdir()
    drop_checksum(file)
    with pytest.warns(InputWarning, match=f"{file.name}: this part has no checksum"):
        assert parts.read(Block(3, 5)) == FOUND


def test_other_libraries_read_the_folder_as_one_table(tmp_path: Path) -> None:
    run(write_input(tmp_path, 5), tmp_path / "out")
    table = ds.dataset(tmp_path / "out").to_table()
    assert sorted(table.column("id").to_pylist()) == ["1", "2", "3", "4", "5"]
    names = ["id", "row", "routes", "cost", "method", "seconds", "model", "seed", "error", "checked", "vehicles"]
    assert table.column_names == names
