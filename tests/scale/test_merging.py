from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from batches import SAVINGS, change_column, drop_checksum, routes_of, run, write_input

from dynaroute.base.errors import DynarouteError, FileError, FormatError, InputWarning, OptionError, SolutionError
from dynaroute.scale.manifest import Manifest, Shard
from dynaroute.scale.merging import Merging
from dynaroute.scale.places import StoragePlace
from dynaroute.solving.options import SolveOptions


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    """The outputs of two shards of one input."""
    file = write_input(tmp_path, 12)
    folders = [str(tmp_path / f"shard-{index}") for index in (1, 2)]
    for index, folder in enumerate(folders, start=1):
        run(file, Path(folder), block=3, shard=Shard(index, 2))
    return folders


def first_part(folder: str) -> Path:
    return min(Path(folder).glob("part-*"))


def test_shards_make_the_output_of_one_run(tmp_path: Path, shards: list[str]) -> None:
    run(tmp_path / "in.parquet", tmp_path / "whole")
    merging = Merging(shards[::-1])
    assert merging.find_wrong() == []
    assert merging.write(str(tmp_path / "out")).tally.rows == 12
    assert routes_of(tmp_path / "out") == routes_of(tmp_path / "whole")


def test_what_was_merged_can_be_merged_again(tmp_path: Path, shards: list[str]) -> None:
    Merging(shards).write(str(tmp_path / "out"))
    assert Manifest.read(StoragePlace(str(tmp_path / "out"))).shard == "1/1"
    assert Merging([str(tmp_path / "out")]).find_wrong() == []


def test_missing_ids_are_refused_by_name(shards: list[str]) -> None:
    with pytest.raises(SolutionError, match=r"the ids '7', '8', '9', '10', '11' and 1 more are missing"):
        Merging(shards[:1])


def test_a_part_that_is_missing_is_refused_by_its_ids(shards: list[str]) -> None:
    first_part(shards[1]).unlink()
    with pytest.raises(SolutionError, match=r"the ids '7', '8', '9' are missing"):
        Merging(shards)


def test_double_ids_are_refused_by_name(shards: list[str]) -> None:
    with pytest.raises(SolutionError, match=r"the id '7' appears twice"):
        Merging([*shards, shards[1]])


def test_a_part_with_an_id_too_many_is_refused(shards: list[str]) -> None:
    part = first_part(shards[0])
    table = pq.read_table(part)
    pq.write_table(table.take([0, 1, 2, 2]), part)
    with pytest.raises(SolutionError, match="expected 3 rows, found 4"):
        Merging(shards).find_wrong()


def test_a_part_with_an_id_too_few_is_refused(shards: list[str]) -> None:
    part = first_part(shards[0])
    pq.write_table(pq.read_table(part).slice(0, 2), part)
    with pytest.raises(SolutionError, match=f"{part.name}: the id '3' is missing"):
        Merging(shards).find_wrong()


def test_a_wrong_row_is_found(shards: list[str]) -> None:
    change_column(first_part(shards[0]), "cost", lambda cells: [cells[0] + 1, *cells[1:]])
    (wrong,) = Merging(shards).find_wrong()
    assert wrong.id == "1"
    assert "stated cost" in wrong.error


def test_a_part_that_was_changed_is_refused_though_its_costs_are_right(shards: list[str]) -> None:
    part = first_part(shards[0])
    change_column(part, "seconds", lambda cells: [0.0] * len(cells))
    with pytest.raises(FormatError, match=f"{part.name}: its checksum does not match"):
        Merging(shards).find_wrong()


def test_parts_without_a_checksum_are_merged_with_a_note(tmp_path: Path, shards: list[str]) -> None:
    drop_checksum(first_part(shards[0]))
    merging = Merging(shards)
    with pytest.warns(InputWarning, match="has no checksum"):
        assert merging.find_wrong() == []
    assert merging.write(str(tmp_path / "out")).tally.rows == 12


def test_rows_with_errors_keep_them(tmp_path: Path) -> None:
    file = write_input(tmp_path, 4)
    change_column(file, "capacity", lambda cells: [None, *cells[1:]])
    run(file, tmp_path / "out")
    merging = Merging([str(tmp_path / "out")])
    assert merging.find_wrong() == []
    assert merging.write(str(tmp_path / "merged")).tally.failed == 1


def test_runs_with_other_options_are_not_merged(tmp_path: Path, shards: list[str]) -> None:
    shutil.rmtree(shards[1])
    run(tmp_path / "in.parquet", Path(shards[1]), SolveOptions(model="savings", seed=1), shard=Shard(2, 2))
    with pytest.raises(OptionError, match="the option seed is 1 here, but 0 in"):
        Merging(shards)


def test_the_input_may_have_moved(tmp_path: Path, shards: list[str]) -> None:
    moved = (tmp_path / "in.parquet").rename(tmp_path / "moved.parquet")
    with pytest.raises(FileError, match="there is no such file"):
        Merging(shards)
    assert Merging(shards, str(moved)).find_wrong() == []


def test_another_input_is_refused(tmp_path: Path, shards: list[str]) -> None:
    write_input(tmp_path, 12, seed=9)
    with pytest.raises(OptionError, match="not the input of these runs"):
        Merging(shards)


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path, shards: list[str]) -> None:
    with pytest.raises(FileError, match="not empty"):
        Merging(shards).write(str(tmp_path))


def test_a_folder_that_no_batch_wrote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match="no manifest"):
        Merging([str(tmp_path)])


def test_a_shard_without_rows_does_no_harm(tmp_path: Path) -> None:
    file = write_input(tmp_path, 2)
    folders = [tmp_path / f"shard-{index}" for index in (1, 2, 3)]
    for index, folder in enumerate(folders, start=1):
        run(file, folder, SAVINGS, shard=Shard(index, 3))
    assert Merging([str(folder) for folder in folders]).find_wrong() == []
