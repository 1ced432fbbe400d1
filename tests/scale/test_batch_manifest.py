from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dynaroute.base.errors import FileError, FormatError, OptionError
from dynaroute.scale.manifest import Manifest, Shard
from dynaroute.scale.places import StoragePlace


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "-1/3", "a/b", "1/2/3", "²/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        Shard.parse(text)
    assert caught.value.where.field == "shard"


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize(("rows", "group"), [(100, 8), (3, 1), (5, 256)])
def test_shards_share_all_rows_out_between_groups(count: int, rows: int, group: int) -> None:
    cuts = [Shard(index, count).cut(rows, group) for index in range(1, count + 1)]
    assert cuts[0][0] == 0
    assert cuts[-1][1] == rows
    assert all(before[1] == after[0] for before, after in pairwise(cuts))
    assert all(first % group == 0 or first == rows for first, _ in cuts)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest("in.parquet", "abc", 7, {"seed": 1}, 4, 8, "1/2")
    manifest.write(StoragePlace(str(tmp_path)))
    assert Manifest.read(StoragePlace(str(tmp_path))) == manifest


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no manifest"):
        Manifest.read(StoragePlace(str(tmp_path)))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"surprise": 1}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "_manifest.json").write_text(content)
    with pytest.raises(FormatError, match="not a valid manifest"):
        Manifest.read(StoragePlace(str(tmp_path)))
