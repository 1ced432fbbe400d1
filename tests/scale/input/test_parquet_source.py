from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import change_column, draw, read_out, run, write_input

from dynaroute.base.errors import DynarouteError, FileError, FormatError, UnsupportedError
from dynaroute.formats import write
from dynaroute.scale.input.opening import open_source
from dynaroute.scale.input.parquet_source import ParquetSource
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow


def open_parquet(path: Path) -> ParquetSource:
    source = open_source(str(path))
    assert isinstance(source, ParquetSource)
    return source


def begin_with(letter: str, cells: list[str]) -> list[str]:
    return [f"{letter}{cell}" for cell in cells]


def damage(file: Path, column: int) -> None:
    """Write zeros into a column of the second row group, which begins with the fifth row."""
    pq.write_table(pq.read_table(file), file, row_group_size=4, use_dictionary=False, write_page_checksum=True)
    chunk = pq.ParquetFile(file).metadata.row_group(1).column(column)
    content = bytearray(file.read_bytes())
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    content[middle : middle + 8] = bytes(8)
    file.write_bytes(content)


def ids(rows: list[InputRow]) -> list[str]:
    return [row.id for row in rows]


def test_rows_are_the_instances_that_were_written(tmp_path: Path) -> None:
    source = open_parquet(write_input(tmp_path, 5))
    rows = source.read(Block(0, 5))
    assert [row.instance for row in rows] == draw(5)
    assert [(row.number, row.id) for row in rows] == [(0, "1"), (1, "2"), (2, "3"), (3, "4"), (4, "5")]


@pytest.mark.parametrize("row_group", [1, 4, 100])
def test_blocks_are_read_in_any_order_whatever_the_row_groups(tmp_path: Path, row_group: int) -> None:
    file = write_input(tmp_path, 25)
    pq.write_table(pq.read_table(file), file, row_group_size=row_group)
    source = open_parquet(file)
    for block in (Block(0, 3), Block(3, 11), Block(20, 25), Block(2, 9), Block(2, 9), Block(9, 10), Block(0, 25)):
        assert ids(source.read(block)) == [str(number + 1) for number in range(block.first, block.end)]


def test_a_block_may_reach_over_several_files(tmp_path: Path) -> None:
    for name, count in (("a", 3), ("b", 2), ("c", 4)):
        write(draw(count), tmp_path / f"{name}.parquet")
        change_column(tmp_path / f"{name}.parquet", "id", partial(begin_with, name))
    source = open_parquet(tmp_path)
    assert len(source) == 9
    assert ids(source.read(Block(2, 7))) == ["a3", "b1", "b2", "c1", "c2"]


def test_files_that_begin_with_an_underscore_or_a_dot_are_left_out(tmp_path: Path) -> None:
    write_input(tmp_path, 2)
    for name in ("_summary.json", ".hidden.parquet"):
        (tmp_path / name).write_text("something else")
    assert len(open_parquet(tmp_path)) == 2


def test_a_source_that_was_sent_reads_the_same_rows(tmp_path: Path) -> None:
    source = open_parquet(write_input(tmp_path, 5))
    source.read(Block(0, 2))
    assert ids(pickle.loads(pickle.dumps(source)).read(Block(1, 4))) == ["2", "3", "4"]


def test_rows_without_an_id_are_called_by_their_numbers(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    change_column(file, "id", lambda cells: ["a", None, "c"])
    assert ids(open_parquet(file).read(Block(0, 3))) == ["a", "1", "c"]
    pq.write_table(pq.read_table(file).drop_columns("id"), file)
    assert ids(open_parquet(file).read(Block(0, 3))) == ["0", "1", "2"]


def test_whole_numbers_are_ids_too(tmp_path: Path) -> None:
    file = write_input(tmp_path, 2)
    change_column(file, "id", lambda cells: [70, 5])
    assert ids(open_parquet(file).read(Block(0, 2))) == ["70", "5"]


def test_a_faulty_row_tells_why_and_the_others_are_read(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    change_column(file, "demands", lambda cells: [cells[0], [0, 99, 1, 1, 1, 1, 1], cells[2]])
    before, faulty, after = open_parquet(file).read(Block(0, 3))
    assert before.instance is not None and after.instance is not None
    assert faulty.instance is None
    assert "in.parquet, field demands, customer 1" in faulty.error


@pytest.mark.parametrize("cell", [None, [], [1], [None] * 7, [0, 1, 1, 1, 1, 1, 1, 1, 1]])
def test_demands_that_are_not_one_a_customer_are_the_row_s_error(tmp_path: Path, cell: object) -> None:
    file = write_input(tmp_path, 2)
    change_column(file, "demands", lambda cells: [cells[0], cell])
    assert "field demands" in open_parquet(file).read(Block(0, 2))[1].error


@pytest.mark.parametrize("cell", [[], [[1.0]], [[1.0, 2.0, 3.0]] * 7, [[None, 1.0]] * 7, [[1.0, 2.0]] * 3])
def test_coordinates_that_are_no_pairs_are_the_row_s_error(tmp_path: Path, cell: object) -> None:
    file = write_input(tmp_path, 2)
    change_column(file, "coordinates", lambda cells: [cells[0], cell])
    before, faulty = open_parquet(file).read(Block(0, 2))
    assert before.instance is not None
    assert faulty.error


def test_an_id_that_comes_twice_is_refused_by_name(tmp_path: Path) -> None:
    file = write_input(tmp_path, 4)
    change_column(file, "id", lambda cells: ["a", "b", "c", "b"])
    with pytest.raises(FormatError, match=r"rows 1 and 3 have the same id, 'b'"):
        open_source(str(file))


def test_a_file_that_is_cut_off_is_refused_by_name(tmp_path: Path) -> None:
    write_input(tmp_path, 4)
    cut = tmp_path / "x.parquet"
    cut.write_bytes((tmp_path / "in.parquet").read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"x\.parquet: this is not a valid Parquet file"):
        open_source(str(tmp_path))


def test_a_line_that_is_down_is_no_fault_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = StoragePlace(f"memory://{tmp_path.name}")
    store.make()
    store.write("in.parquet", write_input(tmp_path, 8).read_bytes())
    source = open_source(store.address)

    def fail(*_: object) -> None:
        raise OSError("connection reset")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", fail)
    with pytest.raises(FileError, match="connection reset"):
        source.read(Block(0, 8))


def test_rows_whose_ids_are_damaged_are_named_by_their_numbers_and_carry_the_error(tmp_path: Path) -> None:
    file = write_input(tmp_path, 12)
    damage(file, column=0)
    rows = open_parquet(file).read(Block(0, 12))
    assert ids(rows[:4]) == ["1", "2", "3", "4"]
    assert ids(rows[4:8]) == [f"row {number} (id damaged)" for number in range(4, 8)]
    assert ids(rows[8:]) == ["9", "10", "11", "12"]
    assert ["cannot be read" in row.error for row in rows] == [False] * 4 + [True] * 4 + [False] * 4


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_damaged_page_of_a_file_without_ids_is_the_error_of_its_rows(tmp_path: Path, column: int) -> None:
    file = write_input(tmp_path, 12)
    pq.write_table(pq.read_table(file).drop_columns("id"), file)
    damage(file, column)
    rows = open_parquet(file).read(Block(0, 12))
    assert ids(rows) == [str(number) for number in range(12)]
    assert ["cannot be read" in row.error for row in rows] == [False] * 4 + [True] * 4 + [False] * 4


def test_a_batch_goes_on_beside_damaged_ids(tmp_path: Path) -> None:
    file = write_input(tmp_path, 12)
    damage(file, column=0)
    assert run(file, tmp_path / "out", block=3).tally.failed == 4
    assert [outcome.error is None for outcome in read_out(tmp_path / "out")] == [True] * 4 + [False] * 4 + [True] * 4


def test_a_lost_connection_is_no_damage_of_the_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = StoragePlace(f"memory://{tmp_path.name}")
    store.make()
    file = write_input(tmp_path, 12)
    damage(file, column=0)
    store.write("in.parquet", file.read_bytes())
    source = open_source(store.address)
    assert isinstance(source, ParquetSource)

    def fail(*_: object) -> None:
        raise FileError("connection reset")

    monkeypatch.setattr(StoragePlace, "require", fail)
    with pytest.raises(FileError, match="connection reset"):
        list(source.read_ids())


def test_a_row_beyond_the_limits_is_refused_as_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "in.parquet"
    write([draw(1, size=5)[0], draw(1, size=9)[0], draw(1, size=6)[0]], file)
    source = open_parquet(file)
    monkeypatch.setattr("dynaroute.base.limits.LARGEST_CONTENT", 1_700)  # bytes
    rows = source.read(Block(0, 3))
    assert ["more than the limit" in row.error for row in rows] == [False, True, False]
    assert "dynaroute --limits 10" in rows[1].error


def make_text_invalid(file: Path, text: bytes) -> None:
    """Write a byte that is no UTF-8 into a text, where no checksum finds it."""
    pq.write_table(pq.read_table(file), file, compression="none", use_dictionary=False)
    content = file.read_bytes()
    assert text in content
    file.write_bytes(content.replace(text, b"\xff" + text[1:], 1))


def test_an_id_that_is_not_utf_8_is_shown_with_escapes(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    change_column(file, "id", lambda cells: begin_with("id", cells))
    make_text_invalid(file, b"id2")
    assert ids(open_parquet(file).read(Block(0, 3))) == ["id1", "\\xffd2", "id3"]


def test_names_that_are_not_utf_8_are_the_error_of_their_row(tmp_path: Path) -> None:
    file = tmp_path / "in.parquet"
    write(
        [
            replace(each, customer_names=tuple(f"{number}x{stop}" for stop in range(6)))
            for number, each in enumerate(draw(3))
        ],
        file,
    )
    make_text_invalid(file, b"1x4")
    rows = open_parquet(file).read(Block(0, 3))
    assert ["customer_names: a text is not in UTF-8" in row.error for row in rows] == [False, True, False]


def test_pages_that_are_damaged_are_the_error_of_their_rows(tmp_path: Path) -> None:
    file = write_input(tmp_path, 8)
    damage(file, column=1)
    rows = open_parquet(file).read(Block(2, 8))
    assert ids(rows) == [str(number) for number in range(3, 9)]
    assert ["cannot be read" in row.error for row in rows] == [False, False, True, True, True, True]


@pytest.mark.parametrize(("column", "cells"), [("demands", ["4"]), ("coordinates", [7.5]), ("capacity", ["many"])])
def test_a_column_of_another_type_is_refused_by_name(tmp_path: Path, column: str, cells: list[object]) -> None:
    file = write_input(tmp_path, 1)
    change_column(file, column, lambda _: cells)
    with pytest.raises(FormatError, match=f"in.parquet, field {column}: this column has the type"):
        open_source(str(file))


@pytest.mark.parametrize("column", ["demands", "coordinates", "capacity"])
def test_a_column_that_is_missing_is_refused_by_name(tmp_path: Path, column: str) -> None:
    file = write_input(tmp_path, 1)
    pq.write_table(pq.read_table(file).drop_columns(column), file)
    with pytest.raises(FormatError, match=f"there is no column {column}"):
        open_source(str(file))


def test_other_columns_are_told_of(tmp_path: Path) -> None:
    file = write_input(tmp_path, 2)
    pq.write_table(pq.read_table(file).append_column("colour", pa.array(["red", "blue"])), file)
    with pytest.warns(UserWarning, match="ignored the columns colour"):
        assert len(open_source(str(file))) == 2


def test_a_column_that_looks_like_a_constraint_is_refused_before_anything_is_solved(tmp_path: Path) -> None:
    file = write_input(tmp_path, 2)
    pq.write_table(pq.read_table(file).append_column("distance_limit", pa.array([math.inf, 3.0])), file)
    with pytest.raises(UnsupportedError, match=r"in\.parquet, field distance_limit"):
        open_source(str(file))


def test_the_digest_changes_with_any_number(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    before = open_source(str(file)).digest
    assert open_source(str(file)).digest == before
    change_column(file, "capacity", lambda cells: [*cells[:-1], cells[-1] + 1])
    assert open_source(str(file)).digest != before


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    file = write_input(tmp_path, 1)
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    with pytest.raises(DynarouteError, match="there are no rows"):
        open_source(str(file))
