from __future__ import annotations

from pathlib import Path

from command_line import INSTANCE, RIGHT_SOLUTION, WRONG_SOLUTION, assert_refused, invoke, invoke_json, save


def test_instance_alone_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"

    result = invoke("plot", save(tmp_path, "a.vrp", INSTANCE), "--out", picture)

    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_tells_what_was_drawn(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", RIGHT_SOLUTION)

    document = invoke_json("plot", instance, solution, "--out", tmp_path / "a.svg")

    assert document == {"out": str(tmp_path / "a.svg"), "customers": 3, "routes": 2}
    assert (tmp_path / "a.svg").exists()


def test_wrong_solution_is_drawn_with_a_note(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", WRONG_SOLUTION)

    result = invoke("plot", instance, solution, "--out", tmp_path / "a.pdf")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: the solution is wrong: ")
    assert (tmp_path / "a.pdf").exists()


def test_solution_of_another_instance_is_refused_by_its_file(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "b.sol", "Route #1: 1 2 3 4\n")

    assert_refused(invoke("plot", instance, solution, "--out", tmp_path / "a.png"), "b.sol", "no customer 4")
    assert not (tmp_path / "a.png").exists()


def test_unknown_picture_format_is_refused(tmp_path: Path) -> None:
    result = invoke("plot", save(tmp_path, "a.vrp", INSTANCE), "--out", tmp_path / "a.bmp")

    assert_refused(result, "a.bmp", ".png, .svg or .pdf")


def test_picture_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    result = invoke("plot", save(tmp_path, "a.vrp", INSTANCE), "--out", tmp_path / "none" / "a.png")

    assert_refused(result, "none", "does not exist")


def test_faulty_instance_leaves_an_old_picture_as_it_was(tmp_path: Path) -> None:
    picture = save(tmp_path, "a.png", "old")

    assert_refused(invoke("plot", save(tmp_path, "a.vrp", INSTANCE[:60]), "--out", picture), "a.vrp")
    assert picture.read_text() == "old"
