"""Whatever is written reads back the same, in every format that can hold it, and is refused by name in the others."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_instance
from strategies import instances, solutions_of

from dynaroute.base.errors import DynarouteError, FileError, FormatError, InstanceError, UnsupportedError
from dynaroute.formats import (
    WRITABLE_INSTANCE_SUFFIXES,
    WRITABLE_SET_SUFFIXES,
    read,
    read_set,
    read_solution,
    write,
)
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

INSTANCE = make_instance([[0, 0], [3, 4]], [0, 4], 10, "pair")


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder of its own for each example that hypothesis draws."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def obstacle(instance: Instance, suffix: str) -> str | None:
    """The field that a format cannot hold, from what each format is, not from how it is written."""
    is_globe, is_named = instance.metric == "great_circle", instance.customer_names is not None
    obstacles = {
        ".json": [],
        ".parquet": [],
        ".csv": [("distances", instance.distances is not None)],
        ".vrp": [("customer_names", is_named), ("metric", is_globe)],
        ".txt": [("vehicles", True)],
        ".npz": [
            ("distances", instance.distances is not None),
            ("customer_names", is_named),
            ("metric", is_globe),
            ("rounding", instance.rounding != "none"),
        ],
    }
    return next((field for field, is_there in obstacles[suffix] if is_there), None)


@pytest.mark.filterwarnings("ignore:.*km away:dynaroute.base.errors.InputWarning")  # places all over the globe
@pytest.mark.parametrize("suffix", WRITABLE_INSTANCE_SUFFIXES)
@given(instance=instances())
def test_an_instance_reads_back_equal_or_is_refused_by_name(suffix: str, instance: Instance) -> None:
    field = obstacle(instance, suffix)
    with new_folder() as folder:
        path = folder / f"instance{suffix}"
        if field is not None:
            with pytest.raises(UnsupportedError) as caught:
                write(instance, path)
            assert caught.value.where.field == field
            assert caught.value.where.file == str(path)
            assert ".json" in caught.value.remedy
            assert list(folder.iterdir()) == []
            return
        write(instance, path)
        again = read(path)
    assert again == instance
    assert again.name == ("instance-1" if suffix == ".npz" else instance.name or again.name)


@pytest.mark.parametrize("suffix", [".vrp", ".npz"])
@given(instance=instances(placements=st.just("plane"), roundings=st.just("none"), named=st.just(False)))
def test_a_plain_instance_is_held_by_every_format(suffix: str, instance: Instance) -> None:
    with new_folder() as folder:
        write(instance, folder / f"instance{suffix}")
        assert read(folder / f"instance{suffix}") == instance


@given(st.lists(instances(), min_size=1, max_size=4))
def test_a_set_of_anything_survives_json(problems: list[Instance]) -> None:
    with new_folder() as folder:
        write(problems, folder / "set.json")
        assert read_set(folder / "set.json") == problems


@given(st.data(), st.integers(1, 6))
def test_a_set_of_one_size_survives_npz(data: st.DataObject, size: int) -> None:
    plain = instances(sizes=st.just(size), placements=st.just("plane"), roundings=st.just("none"), named=st.just(False))
    problems = data.draw(st.lists(plain, min_size=1, max_size=4))
    with new_folder() as folder:
        write(problems, folder / "set.npz")
        assert read_set(folder / "set.npz") == problems


@pytest.mark.parametrize("suffix", [".sol", ".json"])
@given(st.data())
def test_a_solution_and_its_cost_survive(suffix: str, data: st.DataObject) -> None:
    instance = data.draw(instances())
    routes = data.draw(solutions_of(instance)).routes
    solution = Solution(routes, Solution(routes).cost(instance))
    with new_folder() as folder:
        write(solution, folder / f"solution{suffix}")
        again = read_solution(folder / f"solution{suffix}")
    assert again == solution
    assert check(instance, again) == []


@pytest.mark.parametrize("suffix", [".vrp", ".csv"])
def test_several_instances_are_refused_with_formats_that_hold_them(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="one instance") as caught:
        write([INSTANCE, INSTANCE], tmp_path / f"set{suffix}")

    assert all(known in caught.value.remedy for known in WRITABLE_SET_SUFFIXES)


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE_INSTANCE_SUFFIXES if suffix != ".txt"])
def test_a_list_of_one_is_held_by_every_format(suffix: str, tmp_path: Path) -> None:
    write([INSTANCE], tmp_path / f"one{suffix}")

    assert read(tmp_path / f"one{suffix}") == INSTANCE


def test_no_instance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InstanceError, match="no instance"):
        write([], tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["a.pkl", "a.sol", "a.doc", "a"])
def test_an_instance_in_a_file_of_another_suffix_is_refused_with_the_right_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises((FormatError, UnsupportedError)) as caught:
        write(INSTANCE, tmp_path / name)

    assert all(suffix in caught.value.remedy for suffix in WRITABLE_INSTANCE_SUFFIXES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.vrp", "a.csv", "a.npz", "a.pkl", "a.txt"])
def test_a_solution_in_a_file_of_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DynarouteError) as caught:
        write(Solution(((1,),)), tmp_path / name)

    assert ".sol" in caught.value.remedy


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="absent") as caught:
        write(INSTANCE, tmp_path / "absent" / "a.vrp")

    assert caught.value.where.file == str(tmp_path / "absent" / "a.vrp")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.vrp"
    path.write_text("old")

    with pytest.raises(UnsupportedError):
        write(make_instance([[0, 0], [3, 4]], [0, 4], 10, metric="great_circle"), path)

    assert path.read_text() == "old"
