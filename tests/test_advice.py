"""Advice in messages: a command or an option that a message names exists, and following it mends the fault."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from openpyxl import Workbook

import dynaroute
from dynaroute.cli.app import app

TESTS = Path(__file__).parent
for folder in ("cli", "formats/tables"):  # their helpers and their corpus of tables
    sys.path.append(str(TESTS / folder))
from command_line import invoke, save  # noqa: E402
from test_corpus import READ, REFUSED, File  # noqa: E402

SOURCES = Path(dynaroute.__file__).parent
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = {
    name: {option for parameter in command.params for option in parameter.opts} for name, command in COMMANDS.items()
}
OF_THE_PROGRAM = {"--limits", "--help"}
FOREIGN = {"--query-gpu", "--std", "--fmad", "--gpu-architecture"}  # of other programs that are called
DECLARING = {"Option", "Where", "_option", "_text_option", "add_argument", "option", "switch"}  # functions
NAMED_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
NAMED_COMMAND = re.compile(r"\bdynaroute ([a-z]+(?:-[a-z]+)?)\b(?! pages)")
COMMAND_LINE = re.compile(r"\bdynaroute ([a-z]+)\b([^.;,]*)")
WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
ADVISED = re.compile(rf"--(?P<option>columns|ignore|format|speed) (?P<value>{WORD})")


def list_messages() -> Iterator[tuple[str, str]]:
    """Every text of the sources that names an option or a command: its file and itself; no declarations, no prose."""
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2] in DECLARING:
                skipped |= {id(node) for node in ast.walk(call)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
            if is_text and (NAMED_OPTION.search(node.value) or NAMED_COMMAND.search(node.value)):  # type: ignore[attr-defined]
                yield str(path.relative_to(SOURCES)), node.value  # type: ignore[attr-defined]


MESSAGES = sorted(set(list_messages()))


def test_messages_with_advice_are_found() -> None:
    assert len(MESSAGES) > 60
    assert any("--columns x=lon,y=lat" in message for _, message in MESSAGES)


@pytest.mark.parametrize(("file", "message"), MESSAGES)
def test_options_and_commands_that_a_message_names_exist(file: str, message: str) -> None:
    named = set(NAMED_OPTION.findall(message)) - FOREIGN - OF_THE_PROGRAM

    assert set(NAMED_COMMAND.findall(message)) <= set(COMMANDS), file
    assert named <= set().union(*OPTIONS.values()), file
    for command, rest in COMMAND_LINE.findall(message):
        assert set(NAMED_OPTION.findall(rest)) <= OPTIONS[command], file


def follow(*arguments: str | Path) -> list[str]:
    """Run a command and do what its messages say, every alternative; returns what remained at each end."""
    result = invoke(*arguments)
    ends = []
    for advised in list_alternatives(result.stderr):
        changed = [*arguments]
        for option, value in advised:
            if option != "--ignore" and option in changed:
                changed[changed.index(option) + 1] = value
            else:
                changed += [option, value]
        after = invoke(*changed)
        fault = result.stderr.splitlines()[-1]
        assert fault not in after.stderr, f"{advised} changed nothing"
        assert "field --columns" not in after.stderr and "field --ignore" not in after.stderr, after.stderr
        ends += follow(*changed) if list_alternatives(after.stderr) else [after.stderr if after.exit_code else ""]
    return ends


def list_alternatives(told: str) -> list[list[tuple[str, str]]]:
    """The options that a message advises: all columns to ignore together, and each other one alone."""
    found = [(f"--{match['option']}", match["value"].rstrip(".,)")) for match in ADVISED.finditer(told)]
    plain = [(option, shlex.split(value)[0]) for option, value in found]
    ignored = [pair for pair in plain if pair[0] == "--ignore"]
    return [*([ignored] if ignored else []), *([pair] for pair in plain if pair[0] != "--ignore")]


def save_corpus_file(folder: Path, file: File) -> tuple[str | Path, ...]:
    content = file.content() if callable(file.content) else file.content
    path = folder / f"file{file.suffix or ('.csv' if isinstance(content, str) else '.xlsx')}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    options = [text for name, value in file.options.items() if isinstance(value, str) for text in (f"--{name}", value)]
    return path, *options, *(() if file.given is None else ("--capacity", str(file.given)))


@pytest.mark.parametrize(
    "path", [path for kind in ("faulty", "faulty_fleets", "odd") for path in sorted((TESTS / "data" / kind).iterdir())]
)
def test_advice_about_a_faulty_file_is_right(path: Path) -> None:
    follow("info", path)


@pytest.mark.parametrize("name", [*READ, *REFUSED])
def test_advice_about_an_odd_table_is_right(name: str, tmp_path: Path) -> None:
    follow("info", *save_corpus_file(tmp_path, (READ | REFUSED)[name]))


def save_book(folder: Path, **sheets: list[list[object]]) -> Path:
    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    workbook.save(folder / "week.xlsx")
    return folder / "week.xlsx"


COVER: list[list[object]] = [["Wochenplan", "KW 12"], ["Tag", "Fahrer"], ["Mo", "Kim"]]
STOPS: list[list[object]] = [["Kunde", "Lat", "Lon", "Menge (kg)", "Paletten"], ["Depot", 53.5, 10, 0, 0]]
STOPS += [["A", 53.6, 10.1, 50, 3], ["B", 53.7, 10.2, 70, 4]]
TEXTS = {
    "two amounts": "Kunde;x;y;Menge (kg);Paletten\nDepot;0;0;0;0\nA;1;1;50;3\n",
    "two amounts with an apostrophe": "id;x;y;poids d'envoi;colis d'envoi\nDepot;0;0;0;0\nA;1;1;50;3\n",
    "headings with commas": 'id;x;y;"Menge, kg";"Gewicht, brutto"\nDepot;0;0;0;0\nA;1;1;50;3\n',
    "an unknown amount": "id;x;y;Mng\nDepot;0;0;0\nA;1;1;50\n",
    "unknown headings throughout": "id;Ost-W;Nord-W;Mng\nDepot;0;0;0\nA;1;1;50\n",
    "deliveries and pickups": "id,x,y,delivery,pickup\n0,0,0,,\nA,1,1,5,3\n",
    "degrees": "id;x;y;demand\n0;9.9912;53.5511;0\nA;9.9915;53.5612;5\nB;10.0123;53.5713;7\nC;10.0223;53.5813;1\n",
    "a house number": "id;x;y;house\n0;0;0;\nA;1;1;12 Main Street\n",
    "two windows in four columns": "id;x;y;demand;Fenster 1 von;Fenster 1 bis;Fenster 2 von;Fenster 2 bis\n"
    "0;0;0;0;;;;\nA;1;1;5;08:00;10:00;14:00;16:00\n",
    "a window and another": "id;x;y;demand;window;Öffnungszeiten\n0;0;0;0;;\nA;1;1;5;08:00-10:00;09:00-17:00\n",
    "two rows of headings": "id;Ort;;Mng;Gew\n;Breite;Länge;kg;Prio\n0;53,5;10;0;\nA;53,6;10,1;5;3\n",
    "headings that shells read": 'id;x;y;demand;Prio $HOME & "A"\n0;0;0;0;\nA;1;1;5;3\n',
}


@pytest.mark.parametrize("name", TEXTS)
def test_following_the_advice_about_a_table_ends_well(name: str, tmp_path: Path) -> None:
    path = save(tmp_path, "stops.csv", TEXTS[name])
    ends = follow("info", path, "--capacity", "500", "--speed", "40km/h")

    assert not any("error" in end for end in ends)


@pytest.mark.parametrize("first", ["Deckblatt", "Artikel"])
def test_advice_about_a_sheet_is_followed_on_that_sheet(first: str, tmp_path: Path) -> None:
    others: dict[str, list[list[object]]] = {
        "Deckblatt": COVER,
        "Artikel": [["Artikel", "Menge (kg)"], ["Milch", 3]],
    }
    week = save_book(tmp_path, **{first: others[first], "Montag": STOPS, "Dienstag": STOPS})
    refusal = invoke("info", week, "--capacity", "500")

    assert "--columns 'Menge (kg)=demand'" in refusal.stderr
    assert follow("info", week, "--capacity", "500") == [""]


@pytest.mark.parametrize("has_cover", [True, False])
def test_advice_is_about_the_sheet_with_places_where_another_one_lists_vehicles(
    has_cover: bool, tmp_path: Path
) -> None:
    vans: list[list[object]] = [["Fahrzeug", "Anzahl", "Kapazität"], ["Van", 2, 500]]
    stops: list[list[object]] = [["Kunde", "Lat", "Lon", "Lfg (kg)"], *(row[:4] for row in STOPS[1:])]
    week = save_book(tmp_path, **({"Deckblatt": COVER} if has_cover else {}), Fuhrpark=vans, Touren=stops)
    refusal = invoke("info", week, "--capacity", "500")

    assert "--columns 'Lfg (kg)=demand'" in refusal.stderr
    assert follow("info", week, "--capacity", "500") == ["", ""]  # its meaning is told, or each stop counts as 1


def test_a_second_capacity_can_be_ignored(tmp_path: Path) -> None:
    vans = save(tmp_path, "vans.csv", "name;Kapazität;Nutzlast\nvan;9;4\n")
    stops = save(tmp_path, "stops.csv", "id,x,y,demand\n0,0,0,0\nA,1,1,1\n")

    assert follow("info", stops, "--vehicles", vans) == [""]


def name_sheet(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    week: list[str | Path] = ["info", save_book(folder, Mo=STOPS[:1], Di=STOPS), "--columns", "Paletten=demand"]
    return [*week, "--capacity", "99"], ["--sheet", "Di"]


def name_matrix(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    stops = save(folder, "stops.csv", "id;Straße;Menge\nDepot;Kai 1;\nA;Weg 2;5\n")
    legs = save(folder, "legs.csv", "from,to,distance\nDepot,A,5\n")
    return ["info", stops, "--capacity", "9"], ["--matrix", legs]


def name_vehicles(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    rows: list[list[object]] = [["id", "x", "y", "demand"], ["Depot", 0, 0, 0], ["A", 1, 1, 5]]
    week = save_book(folder, Stops=rows, Vans=[["name", "capacity"], ["van", 9]])
    return ["info", week], ["--vehicles", f"{week}#Vans"]


def name_capacity(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    return ["info", save(folder, "stops.csv", "id,x,y,demand\n0,0,0,0\nA,1,1,5\n")], ["--capacity", "50"]


def name_speed(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    stops = save(folder, "stops.csv", "# capacity: 9\nid,x,y,demand,window\n0,0,0,0,\nA,1,1,5,08:00-9:00\n")
    return ["info", stops], ["--speed", "40km/h"]


def name_trace(folder: Path) -> tuple[list[str | Path], list[str | Path]]:
    stops = save(folder, "stops.csv", "# capacity: 9\nid,x,y,demand\n0,0,0,0\nA,1,1,5\n")
    command: list[str | Path] = ["solve", stops, "--model", "savings", "--improve", "none"]
    return [*command, "--trace", folder / "cost.csv"], ["--improve", "search", "--time-limit", "0.1"]


@pytest.mark.parametrize(
    ("arrange", "advice"),
    [
        (name_sheet, "--sheet NAME"),
        (name_matrix, "--matrix"),
        (name_vehicles, "--vehicles FILE#SHEET"),
        (name_capacity, "--capacity"),
        (name_speed, "--speed 40km/h"),
        (name_trace, "--time-limit"),
    ],
)
def test_an_option_that_is_named_without_a_value_mends_the_fault(
    arrange: Callable[[Path], tuple[list[str | Path], list[str | Path]]], advice: str, tmp_path: Path
) -> None:
    command, options = arrange(tmp_path)
    told = invoke(*command).stderr

    assert advice in told
    assert invoke(*command, *options).exit_code == 0
