from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from policies import draw_instances

from dynaroute.base.errors import DynarouteError, FileError, FormatError
from dynaroute.formats import write, write_set
from dynaroute.formats.collection import find_best_costs, hash_collection, read_best_costs, read_collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, instance in zip(("b", "a"), draw_instances(4, 6), strict=True):
        write(instance, tmp_path / f"{name}.vrp")
    (tmp_path / "notes.txt").write_text("not an instance")
    return tmp_path


def test_a_folder_is_read_in_the_order_of_its_names(folder: Path) -> None:
    collection = read_collection(folder)
    assert collection.names == ["a", "b"]
    assert [instance.size for instance in collection.instances] == [6, 4]
    assert collection.is_by_name


def test_a_set_is_read_whole(tmp_path: Path) -> None:
    write(draw_instances(4, 6), tmp_path / "set.json")
    assert [instance.size for instance in read_collection(tmp_path / "set.json").instances] == [4, 6]


def test_a_folder_with_one_set_is_that_set(tmp_path: Path) -> None:
    write(draw_instances(4, 6), tmp_path / "set.json")
    (tmp_path / "optimum.csv").write_text("name,optimum\nfirst,3\nsecond,4\n")
    collection = read_collection(tmp_path)
    assert [instance.size for instance in collection.instances] == [4, 6]
    table = find_best_costs(tmp_path)
    assert table is not None
    assert read_best_costs(table, collection) == (["first", "second"], [3.0, 4.0])


def test_a_folder_may_hold_files_of_all_formats_and_sets(tmp_path: Path) -> None:
    one, other, third, *several = draw_instances(4, 5, 6, 7, 8)
    for instance, name in ((one, "a.csv"), (other, "b.json"), (third, "c.vrp")):
        write(instance, tmp_path / name)
    assert [each.size for each in read_collection(tmp_path).instances] == [4, 5, 6]
    assert read_collection(tmp_path).is_by_name
    write_set(several, tmp_path / "d.json")
    (tmp_path / "best.csv").write_text("name,optimum\n")
    collection = read_collection(tmp_path)
    assert [each.size for each in collection.instances] == [4, 5, 6, 7, 8]
    assert not collection.is_by_name


def test_a_digest_changes_with_any_content_or_name(folder: Path) -> None:
    before = hash_collection(folder)
    (folder / "notes.txt").write_text("other notes")
    assert hash_collection(folder) == before
    (folder / "a.vrp").write_text((folder / "a.vrp").read_text() + "\n")
    changed = hash_collection(folder)
    (folder / "a.vrp").rename(folder / "c.vrp")
    assert len({before, changed, hash_collection(folder)}) == 3


def test_costs_of_a_folder_are_found_by_name(folder: Path) -> None:
    assert find_best_costs(folder) is None
    table = folder / "best.csv"
    table.write_text("name,optimum,routes\nb,12.5,3\nz,1,1\na,7,2\n")
    assert find_best_costs(folder) == table
    assert read_best_costs(table, read_collection(folder)) == (["a", "b"], [7.0, 12.5])


def test_costs_of_a_set_stand_in_its_order(tmp_path: Path) -> None:
    instances = [replace(each, name=name) for each, name in zip(draw_instances(4, 6), "ab", strict=True)]
    write(instances, tmp_path / "set.json")
    table = tmp_path / "costs.csv"
    table.write_text("name,best_known_cost\na,3\nb,4\n")
    collection = read_collection(tmp_path / "set.json")
    assert read_best_costs(table, collection) == (["a", "b"], [3.0, 4.0])
    table.write_text("name,best_known_cost\nb,3\na,4\n")
    with pytest.raises(FormatError, match="this row is for b, but the instance here is a"):
        read_best_costs(table, collection)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no columns name"),
        ("name,best_known_cost\na,3\n", "no cost for b"),
        ("name,best_known_cost\na,three\nb,4\n", "line 2"),
        ("name,best_known_cost\na,0\nb,4\n", "the cost is 0"),
        ("name,best_known_cost\na\nb,4\n", "line 2"),
    ],
)
def test_a_table_that_does_not_fit_is_told(folder: Path, text: str, message: str) -> None:
    table = folder / "best.csv"
    table.write_text(text)
    with pytest.raises(DynarouteError, match=message) as caught:
        read_best_costs(table, read_collection(folder))
    assert caught.value.where.file == str(table)


def test_a_table_of_another_length_than_the_set_is_told(tmp_path: Path) -> None:
    write(draw_instances(4, 6), tmp_path / "set.json")
    table = tmp_path / "costs.csv"
    table.write_text("name,best_known_cost\n,3\n")
    with pytest.raises(FormatError, match="1 costs for 2 instances"):
        read_best_costs(table, read_collection(tmp_path / "set.json"))


def test_a_folder_without_instances_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no instance files"):
        read_collection(tmp_path)
