from __future__ import annotations

from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, assert_refused, invoke, invoke_json, save
from policies import draw_instances, make_policy

from dynaroute import write
from dynaroute.model import ModelCard
from dynaroute.weights import shipped_models

pytestmark = pytest.mark.usefixtures("shelf")


def test_instance_is_described(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)

    assert invoke_json("info", path) == {
        "file": str(path),
        "kind": "instance",
        "name": "small",
        "customers": 3,
        "named_customers": False,
        "capacity": 10,
        "demand": {"smallest": 2, "largest": 9, "total": 18},
        "minimum_routes": 2,
        "fleet": "unlimited",
        "distances": "euclidean",
        "rounding": "nearest",
        "bounds": {"x": {"smallest": -1, "largest": 3}, "y": {"smallest": 0, "largest": 4}},
        "model": {"name": "savings", "reason": "no trained model ships with this version"},
    }


def test_the_model_that_would_be_chosen_is_told_with_the_reason(tmp_path: Path, shelf: Path) -> None:
    make_policy(card=ModelCard("amd-20", 20, 30)).save_pretrained(shelf / "amd-20")
    make_policy(card=ModelCard("amd", 500)).save_pretrained(shelf / "amd")
    shipped_models.cache_clear()
    result = invoke("info", save(tmp_path, "a.vrp", INSTANCE))
    assert "amd (for all sizes and kinds: 3 customers are not near 20)" in result.stdout
    write(draw_instances(3, 60), tmp_path / "set.json")
    assert invoke_json("info", tmp_path / "set.json")["models"] == {"amd": 2}


def test_description_in_words_says_that_the_fleet_is_unlimited(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "a.vrp", INSTANCE))

    assert result.exit_code == 0
    assert "at least 2; the fleet is unlimited" in result.stdout
    assert "straight lines, rounded to the nearest integer" in result.stdout
    assert "2 to 9, 18 in total" in result.stdout


def test_set_is_summed_up(tmp_path: Path) -> None:
    invoke("generate", "--size", "20", "--count", "5", "--out", tmp_path / "a.npz")

    document = invoke_json("info", tmp_path / "a.npz")

    assert (document["kind"], document["count"]) == ("set", 5)
    assert document["customers"] == {"smallest": 20, "largest": 20}
    assert document["capacity"] == {"smallest": 30, "largest": 30}
    assert 1 <= document["demand"]["smallest"] < document["demand"]["largest"] <= 9
    assert "set of 5 instances" in invoke("info", tmp_path / "a.npz").stdout


def test_decimal_demands_are_shown_as_in_the_file(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", "# capacity: 2.5\nid,x,y,demand\ndepot,0,0,0\none,3,4,1.5\ntwo,0,1,2\n")

    document = invoke_json("info", path)

    assert document["capacity"] == 2.5
    assert document["demand"] == {"smallest": 1.5, "largest": 2, "total": 3.5}
    assert document["named_customers"] is True


def test_matrix_has_no_bounds(tmp_path: Path) -> None:
    text = (
        "NAME : m\nTYPE : CVRP\nDIMENSION : 2\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : LOWER_ROW\n"
        "CAPACITY : 5\nEDGE_WEIGHT_SECTION\n7\nDEMAND_SECTION\n1 0\n2 3\nDEPOT_SECTION\n1\n-1\nEOF\n"
    )
    path = save(tmp_path, "m.vrp", text)

    document = invoke_json("info", path)

    assert (document["distances"], document["bounds"]) == ("matrix", None)
    assert "from a matrix" in invoke("info", path).stdout


@pytest.mark.parametrize("suffix", [".sol", ".json"])
def test_solution_is_described(tmp_path: Path, suffix: str) -> None:
    invoke("convert", save(tmp_path, "a.sol", RIGHT_SOLUTION), tmp_path / f"b{suffix}")

    document = invoke_json("info", tmp_path / f"b{suffix}")

    assert document == {
        "file": str(tmp_path / f"b{suffix}"),
        "kind": "solution",
        "routes": 2,
        "visits": 3,
        "stated_cost": 14,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("empty.vrp", ""), ("words.json", "hello"), ("number.json", "3"), ("odd.xyz", "x"), ("cut.vrp", INSTANCE[:90])],
)
def test_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    assert_refused(invoke("info", save(tmp_path, name, text)), name)


def test_folder_is_refused(tmp_path: Path) -> None:
    assert_refused(invoke("info", tmp_path), str(tmp_path))


def test_benchmark_instance_is_described(shared_data: Path) -> None:
    document = invoke_json("info", shared_data / "X" / "X-n101-k25.vrp")

    assert (document["customers"], document["capacity"], document["minimum_routes"]) == (100, 206, 25)
