from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, assert_refused, invoke, invoke_json, save

from dynaroute import read, read_set, read_solution


@pytest.mark.parametrize("suffix", [".vrp", ".json"])
def test_instance_is_the_same_in_another_format(tmp_path: Path, suffix: str) -> None:
    source, target = save(tmp_path, "a.vrp", INSTANCE), tmp_path / f"b{suffix}"

    assert invoke("convert", source, target).exit_code == 0

    assert read(target) == read(source)


def test_solution_goes_to_json_and_back(tmp_path: Path) -> None:
    source = save(tmp_path, "a.sol", RIGHT_SOLUTION)

    document = invoke_json("convert", source, tmp_path / "a.json")
    assert invoke("convert", tmp_path / "a.json", tmp_path / "b.sol").exit_code == 0

    assert document["kind"] == "solution"
    assert json.loads((tmp_path / "a.json").read_text())["routes"] == [[1, 2], [3]]
    assert read_solution(tmp_path / "b.sol") == read_solution(source)


def test_set_goes_to_another_set_format(tmp_path: Path) -> None:
    invoke("generate", "--size", "5", "--count", "3", "--out", tmp_path / "a.npz")

    document = invoke_json("convert", tmp_path / "a.npz", tmp_path / "a.json")

    assert document == {"in": str(tmp_path / "a.npz"), "out": str(tmp_path / "a.json"), "kind": "instance", "count": 3}
    assert read_set(tmp_path / "a.json") == read_set(tmp_path / "a.npz")


def test_set_does_not_fit_a_format_for_one(tmp_path: Path) -> None:
    invoke("generate", "--size", "5", "--count", "3", "--out", tmp_path / "a.npz")

    assert_refused(invoke("convert", tmp_path / "a.npz", tmp_path / "a.vrp"), "a.vrp")
    assert not (tmp_path / "a.vrp").exists()


def test_instance_is_not_a_solution(tmp_path: Path) -> None:
    assert_refused(invoke("convert", save(tmp_path, "a.vrp", INSTANCE), tmp_path / "a.sol"), "a.sol")
    assert not (tmp_path / "a.sol").exists()


def test_capacity_option_completes_a_csv_file(tmp_path: Path) -> None:
    source = save(tmp_path, "a.csv", "id,x,y,demand\ndepot,0,0,0\none,3,4,2\n")

    assert_refused(invoke("convert", source, tmp_path / "a.json"), "a.csv", "capacity")
    assert invoke("convert", source, tmp_path / "a.json", "--capacity", "5").exit_code == 0
    assert read(tmp_path / "a.json").capacity == 5


def test_file_is_not_converted_onto_itself(tmp_path: Path) -> None:
    source = save(tmp_path, "a.vrp", INSTANCE)

    assert_refused(invoke("convert", source, tmp_path / "." / "a.vrp"), "a.vrp", "an input", "Name another file")
    assert source.read_text() == INSTANCE


def test_faulty_source_leaves_an_old_target_as_it_was(tmp_path: Path) -> None:
    target = save(tmp_path, "b.json", "old")

    assert_refused(invoke("convert", save(tmp_path, "a.vrp", INSTANCE[:60]), target), "a.vrp")
    assert target.read_text() == "old"


def test_note_about_odd_input_stays_out_of_the_json(tmp_path: Path) -> None:
    source = save(tmp_path, "a.csv", "# capacity: 5\nid,x,y,demand,colour\ndepot,0,0,0,red\none,3,4,2,blue\n")

    result = invoke("convert", source, tmp_path / "a.json", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["count"] == 1
    assert result.stderr.startswith("note: ")
    assert "colour" in result.stderr
    assert result.stderr.count("\n") == 1
