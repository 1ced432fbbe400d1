from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from command_line import assert_refused, invoke, invoke_json

from dynaroute import draw as distributions
from dynaroute import read, read_set
from dynaroute.base import vocabulary


def test_published_set_is_the_published_one_draw_for_draw(tmp_path: Path) -> None:
    arguments = ("--size", "20", "--count", "10000", "--seed", "1234", "--published")

    assert invoke("generate", *arguments, "--out", tmp_path / "t.npz").exit_code == 0

    with np.load(tmp_path / "t.npz") as arrays:
        assert arrays["depot"][0] == pytest.approx([0.19151945, 0.62210877])
        assert arrays["demand"][0][:10].tolist() == [5, 3, 5, 8, 5, 1, 8, 4, 2, 3]
        assert arrays["demand"].sum() == 999780
        assert set(arrays["capacity"].tolist()) == {30}


def test_published_set_of_a_larger_size_comes_whole(tmp_path: Path) -> None:
    document = invoke_json("generate", "--size", "200", "--published", "--out", tmp_path / "u200.npz")

    assert (document["count"], document["capacity"]) == (128, {"smallest": 80, "largest": 80})
    assert sum(int(instance.demands.sum()) for instance in read_set(tmp_path / "u200.npz")) == 128084


def test_part_of_a_published_set_is_another_draw_and_a_note_says_so(tmp_path: Path) -> None:
    result = invoke("generate", "--size", "20", "--count", "100", "--published", "--out", tmp_path / "t.npz")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: ")
    assert "different instances" in result.stderr


def test_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        invoke("generate", "--size", "9", "--count", "2", "--seed", seed, "--out", tmp_path / f"{name}.json")

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").read_bytes() != (tmp_path / "c.json").read_bytes()


def test_single_instance_is_called_after_its_file(tmp_path: Path) -> None:
    document = invoke_json("generate", "--size", "7", "--capacity", "33", "--out", tmp_path / "mine.vrp")

    instance = read(tmp_path / "mine.vrp")
    assert (instance.name, instance.size, instance.capacity) == ("mine", 7, 33)
    assert document == {
        "out": str(tmp_path / "mine.vrp"),
        "count": 1,
        "size": 7,
        "seed": 1234,
        "capacity": {"smallest": 33, "largest": 33},
    }


def test_options_of_the_x_set_draw_in_its_manner(tmp_path: Path) -> None:
    options = ("--customers", "clustered", "--depot", "corner", "--demand", "50-100", "--route-length", "4")

    assert invoke("generate", "--size", "30", *options, "--out", tmp_path / "x.vrp").exit_code == 0

    instance = read(tmp_path / "x.vrp")
    assert instance.rounding == "nearest"
    assert instance.coordinates is not None
    assert instance.coordinates[0].tolist() == [0, 0]
    assert instance.demands[1:].min() >= 50
    assert instance.minimum_routes == 8


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (vocabulary.CustomerPositions, distributions.CustomerPositions),
        (vocabulary.DepotPosition, distributions.DepotPosition),
        (vocabulary.DemandKind, distributions.DemandKind),
    ],
)
def test_choices_are_those_of_the_distributions(here: object, there: object) -> None:
    assert get_args(here) == get_args(there)


@pytest.mark.parametrize("option", [("--published",), ("--capacity", "40")])
def test_options_that_exclude_each_other_are_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    result = invoke("generate", "--size", "20", "--depot", "corner", *option, "--out", tmp_path / "a.vrp")

    assert_refused(result, option[0])
    assert not (tmp_path / "a.vrp").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        "--size 0 --out a.vrp",
        "--size ten --out a.vrp",
        "--size 10 --count -1 --out a.vrp",
        "--size 10 --seed -1 --out a.vrp",
        "--size 10 --capacity 8 --out a.vrp",
        "--size 10 --customers square --out a.vrp",
        "--size 10 --out a.xyz",
        "--size 10 --count 2 --out a.vrp",
        "--size 10 --out none/a.vrp",
        "--size 1000000 --count 1000000 --out a.npz",
        "--size 10",
        "--out a.vrp",
    ],
)
def test_senseless_options_exit_with_two_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)

    result = invoke("generate", *arguments.split())

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr
    assert list(tmp_path.iterdir()) == []


def test_many_instances_go_into_one_set(tmp_path: Path) -> None:
    invoke("generate", "--size", "50", "--count", "4", "--out", tmp_path / "a.npz")

    assert [instance.size for instance in read_set(tmp_path / "a.npz")] == [50] * 4


# RouteFinder's variants


def test_a_published_variant_is_routefinders_file(tmp_path: Path) -> None:
    arguments = ("--published", "--variant", "vrptw", "--size", "100", "--count", "1000", "--seed", "1234")

    document = invoke_json("generate", *arguments, "--out", tmp_path / "tw.npz")

    assert (document["count"], document["capacity"]) == (1000, {"smallest": 50, "largest": 50})
    with np.load(tmp_path / "tw.npz") as arrays:
        assert arrays["locs"].shape == (1000, 101, 2)
        assert arrays["time_windows"][0, 0] == pytest.approx([0, 4.6])


def test_a_variant_can_be_written_in_other_formats(tmp_path: Path) -> None:
    result = invoke(
        "generate", "--published", "--variant", "OVRPL", "--size", "9", "--count", "2", "--out", tmp_path / "a.json"
    )

    assert "different instances" in result.stderr
    assert [instance.fleet[0].end for instance in read_set(tmp_path / "a.json")] == ["open", "open"]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--variant", "vrptw"], "--variant"),
        (["--published", "--variant", "vrpx"], "--variant"),
        (["--published", "--variant", "vrptw", "--capacity", "40"], "--capacity"),
        (["--published", "--variant", "vrptw", "--time-windows"], "--time-windows"),
        (["--published", "--variant", "vrptw", "--customers", "clustered"], "--customers"),
    ],
)
def test_a_variant_takes_no_other_distribution(tmp_path: Path, words: list[str], field: str) -> None:
    assert_refused(invoke("generate", "--size", "9", *words, "--out", tmp_path / "a.npz"), f"field {field}:")
