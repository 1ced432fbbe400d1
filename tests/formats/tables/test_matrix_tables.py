"""Distances and durations from tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workbooks import make_workbook

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats import read
from dynaroute.problem.instance import Instance

NAMED = "id;demand\nDepot;0\nA;5\nB;7\n"
PLACED = "x;y;demand\n0;0;0\n1;1;5\n2;2;7\n"
MATRIX: list[list[float]] = [[0, 12.5, 3], [12.5, 0, 4], [3, 4, 0]]
SHEET = [("", "Depot", "A", "B"), ("Depot", 0, 12.5, 3), ("A", 12.5, 0, 4), ("B", 3, 4, 0)]

READ = {
    "names in both": ";Depot;A;B\nDepot;0;12,5;3\nA;12,5;0;4\nB;3;4;0\n",
    "names in another order": "from/to;B;Depot;A\nB;0;3;4\nDepot;3;0;12,5\nA;4;12,5;0\n",
    "names in the first row alone": "Depot;A;B\n0;12,5;3\n12,5;0;4\n3;4;0\n",
    "names in the first column alone": "Depot;0;12,5;3\nA;12,5;0;4\nB;3;4;0\n",
    "names in capitals": ";DEPOT;a;b\ndepot;0;12,5;3\na;12,5;0;4\nb;3;4;0\n",
    "depot called otherwise": ";Lager;A;B\nLager;0;12,5;3\nA;12,5;0;4\nB;3;4;0\n",
    "no names": "0;12,5;3\n12,5;0;4\n3;4;0\n",
    "commas": "0,12.5,3\n12.5,0,4\n3,4,0\n",
    "tabs": "0\t12,5\t3\n12,5\t0\t4\n3\t4\t0\n",
    "units": ";Depot;A;B\nDepot;0;12,5 km;3 km\nA;12,5 km;0;4 km\nB;3 km;4 km;0\n",
    "dashes on the diagonal": ";Depot;A;B\nDepot;-;12,5;3\nA;12,5;-;4\nB;3;4;-\n",
    "upper half": ";Depot;A;B\nDepot;;12,5;3\nA;;;4\nB;;;\n",
    "lower half": "0\n12,5;0\n3;4;0\n",
    "a further stop": ";Depot;A;B;C\nDepot;0;12,5;3;1\nA;12,5;0;4;1\nB;3;4;0;1\nC;1;1;1;0\n",
    "a row for each leg": "von;nach;km\nDepot;A;12,5\nA;Depot;12,5\nDepot;B;3\nB;Depot;3\nA;B;4\nB;A;4\n",
    "a row for each pair": "from,to,distance\nDepot,A,12.5\nDepot,B,3\nA,B,4\n",
    "a title": "Entfernungen in km\n\n;Depot;A;B\nDepot;0;12,5;3\nA;12,5;0;4\nB;3;4;0\n",
}
REFUSED = {
    "half, with a gap": (";Depot;A;B\nDepot;0;12,5;3\nA;;0;\nB;;;0\n", "from 'A' to 'B' is missing"),
    "blank cell": (";Depot;A;B\nDepot;0;12,5;3\nA;12,5;0;\nB;3;4;0\n", "from 'A' to 'B' is missing"),
    "stop missing": (";Depot;A;C\nDepot;0;1;3\nA;1;0;4\nC;3;4;0\n", "lack B; found Depot, A, C"),
    "stop twice": (";Depot;A;A\nDepot;0;1;3\nA;1;0;4\nA;3;4;0\n", "'A' appears twice"),
    "too small": ("0;1\n1;0\n", "2 rows and 2 columns, but there are 3"),
    "leg missing": ("from,to,distance\nDepot,A,1\nA,Depot,1\nDepot,B,3\nB,Depot,3\nA,B,4\n", "from 'B' to 'A'"),
    "leg twice": ("from,to,distance\nDepot,A,1\nDepot,A,2\n", "is given twice"),
    "leg to nowhere": ("from,to,distance\nDepot,C,1\n", "'C' is not in the list of stops"),
    "word": ("0;1;x\n3;0;4\n5;6;0\n", "'x' is not a number"),
    "negative": ("0;1;-2\n3;0;4\n5;6;0\n", "negative"),
    "unit of time": ("0;1 kg;2\n3;0;4 km\n5;6;0\n", "not in kg"),
    "nothing": ("\n\n", "no matrix"),
}


def read_with(folder: Path, content: str | bytes, stops: str = NAMED, **options: Any) -> Instance:
    (folder / "stops.csv").write_text(stops)
    file = folder / ("matrix.csv" if isinstance(content, str) else "matrix.xlsx")
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with gather_notes():
        return read(folder / "stops.csv", capacity=100, **(options or {"matrix": file}))


@pytest.mark.parametrize("name", READ)
def test_a_matrix_is_read_in_the_order_of_the_stops(name: str, tmp_path: Path) -> None:
    instance = read_with(tmp_path, READ[name])

    assert instance.distances is not None
    assert instance.coordinates is None
    assert instance.distances.tolist() == MATRIX


@pytest.mark.parametrize(
    ("heading", "cell", "seconds"), [("Fahrzeit (min)", "20", 1200), ("Minuten", "20", 1200), ("Dauer", "20 min", 1200)]
)
def test_durations_are_in_the_unit_that_their_heading_names(
    heading: str, cell: str, seconds: float, tmp_path: Path
) -> None:
    file = tmp_path / "minutes.csv"
    file.write_text(f"von;nach;{heading}\nDepot;A;{cell}\nDepot;B;{cell}\nA;B;{cell}\n")
    instance = read_with(tmp_path, "", stops=f"x;y;{NAMED}".replace("\n", "\n0;0;").rstrip("0;"), durations=file)

    assert instance.durations is not None
    assert instance.durations[0].tolist() == [0, seconds, seconds]


def test_a_title_may_name_the_unit_of_durations(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text(PLACED)
    (tmp_path / "times.csv").write_text("Fahrzeiten in Minuten\n\n0;5;1\n5;0;2\n1;2;0\n")
    instance = read(tmp_path / "stops.csv", capacity=100, durations=tmp_path / "times.csv")

    assert instance.durations is not None
    assert instance.durations[0].tolist() == [0, 300, 60]


def test_the_sheet_of_the_stops_is_not_taken_for_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "stops.xlsx"
    stops = [("id", "demand"), ("Depot", 0), ("A", 5), ("B", 7)]
    path.write_bytes(make_workbook(("Stops", stops), ("km", SHEET)))
    with gather_notes():
        instance = read(path, capacity=100, matrix=path)

    assert instance.distances is not None
    assert instance.distances.tolist() == MATRIX
    path.write_bytes(make_workbook(("Stops", stops)))
    with gather_notes(), pytest.raises(DynarouteError, match="no visible sheet contains a matrix"):
        read(path, capacity=100, matrix=path)


def test_durations_without_a_unit_are_told_to_be_seconds(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text(PLACED)
    (tmp_path / "times.csv").write_text("0;300;60\n300;0;120\n60;120;0\n")
    with gather_notes() as notes:
        read(tmp_path / "stops.csv", capacity=100, durations=tmp_path / "times.csv")

    assert any("as seconds" in note for note in notes)


def test_a_missing_leg_is_asked_for_as_a_row_where_legs_are_rows(tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match="is missing") as caught:
        read_with(tmp_path, "von;nach;km\nDepot;A;1\nA;Depot;1\nDepot;B;3\nB;Depot;3\nA;B;4\n")

    assert caught.value.remedy == "Add a row for it, with its von and nach."


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_matrix_is_refused_by_its_own_file(name: str, tmp_path: Path) -> None:
    text, words = REFUSED[name]
    with pytest.raises(DynarouteError, match=words) as caught:
        read_with(tmp_path, text)

    assert caught.value.where.file == str(tmp_path / "matrix.csv")
    assert caught.value.remedy


@pytest.mark.parametrize("spec", ["#Matrix", "#matrix", ""])
def test_a_sheet_may_hold_it(spec: str, tmp_path: Path) -> None:
    content = make_workbook(("Info", []), ("Matrix", SHEET))
    instance = read_with(tmp_path, content, matrix=f"{tmp_path / 'matrix.xlsx'}{spec}")

    assert instance.distances is not None
    assert instance.distances.tolist() == MATRIX


def test_the_sheet_of_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match="no sheets"):
        read_with(tmp_path, READ["no names"], matrix=f"{tmp_path / 'matrix.csv'}#Matrix")


@pytest.mark.parametrize("first", [0, 1])
def test_stops_without_ids_are_called_by_their_numbers(first: int, tmp_path: Path) -> None:
    numbers = [str(first + node) for node in range(3)]
    rows = [";".join(("", *numbers)), *(";".join((n, *map(str, row))) for n, row in zip(numbers, MATRIX, strict=True))]
    instance = read_with(tmp_path, "\n".join(rows), PLACED)

    assert instance.distances is not None
    assert instance.distances.tolist() == MATRIX
    assert instance.coordinates is not None


def test_both_ways_may_differ(tmp_path: Path) -> None:
    instance = read_with(tmp_path, "0;1;2\n3;0;4\n5;6;0\n")

    assert instance.distances is not None
    assert instance.distances.tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]


def test_durations_have_units_clock_times_or_are_seconds(tmp_path: Path) -> None:
    text = ";Depot;A;B\nDepot;0;10 min;00:20\nA;10 min;0;300\nB;20 min;5 min;0\n"
    stops = "id;x;y;demand\nDepot;0;0;0\nA;1;1;5\nB;2;2;7\n"
    instance = read_with(tmp_path, text, stops, durations=tmp_path / "matrix.csv")

    assert instance.durations is not None
    assert instance.durations.tolist() == [[0, 600, 1200], [600, 0, 300], [1200, 300, 0]]
