"""Options of reading tables, the standard input, and errors for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, execute, invoke, invoke_json, save
from openpyxl import Workbook
from typer.testing import CliRunner

from dynaroute.cli.app import app

STOPS = "Kunde;Breitengrad;Längengrad;Mng\nDepot;53,5;10,0;\nA;53,6;10,1;1.234,5\nB;53,7;10,2;3,5 kg\n"
MATRIX = ";Depot;A;B\nDepot;0;5;6\nA;5;0;4\nB;6;4;0\n"
COLUMNS = ("--columns", "Mng=demand")


def save_workbook(folder: Path) -> Path:
    workbook = Workbook()
    for name, count in (("Mon", 1), ("Tue", 2)):
        sheet = workbook.create_sheet(name)
        for row in [("id", "x", "y", "demand"), ("Depot", 0, 0, 0), *((f"{name}{n}", n, n, 5) for n in range(count))]:
            sheet.append(row)
    matrix = workbook.create_sheet("Legs")
    for legs in ((0, 5), (5, 0)):
        matrix.append(legs)
    workbook.save(folder / "stops.xlsx")
    return folder / "stops.xlsx"


def send(text: str, *arguments: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), input=text.encode())


@pytest.mark.parametrize(
    ("written", "meant"),
    [("1500,5", 1500.5), ("1500.5", 1500.5), ("1.500,5", 1500.5), ("1,6 t", 1600), ("2000 kg", 2000)],
)
def test_a_capacity_is_understood_as_people_write_it(written: str, meant: float, tmp_path: Path) -> None:
    document = invoke_json("info", save(tmp_path, "a.csv", STOPS), "--capacity", written, *COLUMNS)

    assert document["capacity"] == meant


@pytest.mark.parametrize(
    ("written", "words"), [("1,234", "could mean 1234 or 1.234"), ("much", "not a number"), ("nan", "nan")]
)
def test_a_capacity_that_is_none_is_refused_in_our_words(written: str, words: str, tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "a.csv", "id,x,y,demand\n0,0,0,0\n1,1,1,1\n"), "--capacity", written)

    assert result.exit_code == 2
    assert "--capacity" in result.stderr
    assert words in result.stderr


def test_a_capacity_below_0_is_an_option_too(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "a.csv", "id,x,y,demand\n0,0,0,0\n1,1,1,1\n"), "--capacity", "-5")

    assert result.exit_code == 2
    assert "the capacity is -5" in result.stderr


@pytest.mark.parametrize("command", ["info", "solve", "convert", "plot", "check"])
def test_every_command_that_reads_takes_the_options(command: str, tmp_path: Path) -> None:
    workbook = save_workbook(tmp_path)
    more: dict[str, tuple[str | Path, ...]] = {
        "solve": ("--fast",),
        "convert": (tmp_path / "out.json",),
        "plot": ("--out", tmp_path / "out.png"),
        "check": (save(tmp_path, "a.sol", "Route #1: 1\nCost 10\n"),),
    }
    options = ("--sheet", "Mon", "--capacity", "10", "--matrix", f"{workbook}#Legs", "--columns", "id=id")
    result = invoke(command, workbook, *more.get(command, ()), *options)

    assert result.exit_code == 0, result.stderr


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    workbook = save_workbook(tmp_path)

    assert invoke_json("info", workbook, "--capacity", "10")["customers"] == 1
    assert invoke_json("info", workbook, "--capacity", "10", "--sheet", "Tue")["customers"] == 2


def test_an_unknown_sheet_is_blamed_on_the_option(tmp_path: Path) -> None:
    result = invoke("info", save_workbook(tmp_path), "--capacity", "10", "--sheet", "Wed")

    assert result.exit_code == 2
    assert "--sheet" in result.stderr
    assert "Mon, Tue, Legs" in result.stderr


def test_the_standard_input_is_a_file_like_others(tmp_path: Path) -> None:
    result = send(STOPS, "solve", "-", "--format", "csv", "--capacity", "2000", *COLUMNS, "--fast", "--json")

    assert result.exit_code == 0, result.stderr
    assert [item["instance"] for item in json.loads(result.stdout)] == ["stdin"]


def test_the_standard_input_of_a_process_is_read() -> None:
    result = execute("info", "-", "--format", "csv", "--json", input="# capacity: 9\nx,y,demand\n0,0,0\n1,1,1\n")

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["customers"] == 1


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("x,y,demand\n", (), "--format csv"),
        ("", ("--format", "csv"), "empty"),
        ("x,y,demand\n", ("--format", "doc"), "unknown"),
        ("x,y\n", ("--format", "csv"), "standard input"),
    ],
)
def test_a_standard_input_that_cannot_be_read_is_refused(text: str, options: tuple[str, ...], words: str) -> None:
    result = send(text, "info", "-", *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_format_goes_before_the_suffix(tmp_path: Path) -> None:
    path = save(tmp_path, "export.dat", "# capacity: 9\nx,y,demand\n0,0,0\n1,1,1\n")

    assert invoke("info", path).exit_code == 2
    assert invoke_json("info", path, "--format", "csv")["customers"] == 1


def test_options_of_tables_are_refused_elsewhere(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    for option in ("--columns", "--sheet", "--matrix", "--durations", "--capacity"):
        result = invoke("info", path, option, "5")
        assert result.exit_code == 2
        assert option in result.stderr


def test_a_matrix_is_not_overwritten(tmp_path: Path) -> None:
    stops, matrix = save(tmp_path, "a.csv", STOPS), save(tmp_path, "m.csv", MATRIX)
    result = invoke("convert", stops, matrix, "--matrix", matrix, "--capacity", "2000", *COLUMNS)

    assert result.exit_code == 2
    assert matrix.read_text() == MATRIX


def test_an_error_is_an_object_for_programs(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", "# capacity: 9\nKunde;x;y;Menge\n0;0;0;0\n1;1;1;many\n")
    result = invoke("solve", path, "--json")

    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(result.stderr) == {
        "code": "format",
        "message": "'many' is not a number.",
        "where": {"file": str(path), "line": 4, "field": "Menge", "customer": None},
        "remedy": "Write a single number without words, such as 12, 3.5, 1234.5 or 3,5 kg.",
    }


def test_each_of_several_errors_is_an_object_in_a_line(tmp_path: Path) -> None:
    result = invoke("solve", tmp_path / "a.csv", tmp_path / "b.csv", "--json")

    assert (result.exit_code, result.stdout) == (2, "")
    assert [json.loads(line)["where"]["file"][-5:] for line in result.stderr.splitlines()] == ["a.csv", "b.csv"]


@pytest.mark.parametrize("arguments", [("solve",), ("solve", "a.vrp", "--nonsense"), ("generate", "--size", "x")])
def test_wrong_arguments_are_an_object_too(arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments, "--json")

    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(result.stderr)["code"] == "option"


def test_notes_do_not_disturb_the_object(tmp_path: Path) -> None:
    text = "Liste\n\nKunde;x;y;Menge\n0;0;0;0\n1;1;1;5,5\n"
    result = invoke("info", save(tmp_path, "a.csv", text), "--json")

    assert json.loads(result.stderr)["where"]["field"] == "capacity"


def test_notes_are_told_where_all_is_well(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "a.csv", STOPS), "--capacity", "2000", *COLUMNS, "--json")

    assert result.exit_code == 0
    assert "note: " in result.stderr


def test_a_wrong_solution_is_no_error(tmp_path: Path) -> None:
    solution = save(tmp_path, "a.sol", RIGHT_SOLUTION.replace("14", "15"))
    result = invoke("check", save(tmp_path, "a.vrp", INSTANCE), solution, "--json")

    assert (result.exit_code, result.stderr) == (1, "")
    assert json.loads(result.stdout)["ok"] is False


@pytest.mark.parametrize("command", ["solve", "info", "convert", "check"])
def test_a_command_alone_shows_an_example(command: str) -> None:
    result = invoke(command)

    assert result.exit_code == 2
    assert f"For example: dynaroute {command}" in " ".join(result.stderr.replace("│", " ").split())


def test_what_excel_keeps_beside_an_open_workbook_is_no_instance(tmp_path: Path) -> None:
    save_workbook(tmp_path)
    save(tmp_path, "~$stops.xlsx", "Kim")

    assert invoke("solve", tmp_path, "--capacity", "10", "--fast").exit_code == 0


def test_columns_that_a_format_does_not_hold_are_named(tmp_path: Path) -> None:
    stops = save(tmp_path, "a.csv", "# capacity: 9\nx,y,demand,name\n0,0,0,Depot\n1,1,1,Meyer\n")
    result = invoke("convert", stops, tmp_path / "a.vrp")

    assert result.exit_code == 0
    assert "a .vrp file does not hold the columns name" in result.stderr
