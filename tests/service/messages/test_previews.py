"""Looking at a table before it is read, and reading it with the options of that look."""

from __future__ import annotations

import io
from typing import Any

import pytest
from openpyxl import Workbook
from test_reading import LIMITS, make_form

from dynaroute.base.errors import DynarouteError, FormatError, OptionError
from dynaroute.service.messages.file_schemas import PreviewResponse
from dynaroute.service.messages.previews import preview_table
from dynaroute.service.messages.reading import Problem, read_problem, read_table_file
from dynaroute.service.messages.request_schemas import FileOptions, QueryOptions

SHEETS: dict[str, list[tuple[Any, ...]]] = {
    "Hinweise": [("Bitte vor 6 Uhr drucken",)],
    "Fahrzeuge": [("Typ", "Anzahl", "Kapazität"), ("Sprinter", 2, 900), ("Caddy", 1, 300)],
    "Montag": [
        ("Kunde", "Breitengrad", "Längengrad", "Menge", "Gewicht (kg)"),
        ("Depot", 53.5, 10.0, 0, 0),
        ("A", 53.6, 10.1, 5, 120),
        ("B", 53.7, 10.2, 7, 80),
    ],
}


def make_workbook() -> bytes:
    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in SHEETS.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def look(content: bytes, name: str = "orders.xlsx", **options: Any) -> PreviewResponse:
    body, content_type = make_form((f'name="file"; filename="{name}"', content))
    return preview_table(read_table_file(body, content_type, FileOptions(**options), LIMITS))


def read(content: bytes, name: str = "orders.xlsx", **options: Any) -> Problem:
    body, content_type = make_form((f'name="file"; filename="{name}"', content))
    return read_problem(body, content_type, QueryOptions(**options), LIMITS)


def meanings(preview: PreviewResponse) -> dict[str, str | None]:
    return {column.heading: column.meaning for column in preview.columns}


def test_sheets_are_told_apart_and_the_one_with_stops_is_shown() -> None:
    preview = look(make_workbook(), ignore=["Gewicht (kg)"])

    assert [(sheet.name, sheet.kind) for sheet in preview.sheets] == [
        ("Hinweise", "other"),
        ("Fahrzeuge", "vehicles"),
        ("Montag", "stops"),
    ]
    assert (preview.sheet, preview.count, preview.rows[1]) == ("Montag", 3, ["A", "53.6", "10.1", "5", "120"])
    assert meanings(preview) == {
        "Kunde": "id",
        "Breitengrad": "lat",
        "Längengrad": "lon",
        "Menge": "demand",
        "Gewicht (kg)": None,
    }


def test_meanings_that_the_user_gives_are_shown_and_read() -> None:
    options: dict[str, Any] = {"columns": "E=demand,A=id", "capacity": 500.0}
    assert meanings(look(make_workbook(), **options))["Gewicht (kg)"] == "demand"
    assert read(make_workbook(), **options).instance.demands.tolist() == [0, 120, 80]


def test_two_columns_of_one_meaning_are_told_as_the_problem() -> None:
    preview = look(make_workbook())

    assert preview.problem is not None and "could all be the demand" in preview.problem
    assert preview.columns[3].heading == "Menge"


def test_named_sheet_is_shown() -> None:
    preview = look(make_workbook(), sheet="fahrzeuge")

    assert meanings(preview) == {"Typ": "name", "Anzahl": "count", "Kapazität": "capacity"}


def test_text_table_has_one_sheet_without_a_name() -> None:
    preview = look(b"# capacity: 9\nx;y;demand\n0;0;0\n1;2;3\n", "tour.csv")

    assert [(sheet.name, sheet.kind) for sheet in preview.sheets] == [("", "stops")]
    assert preview.line == 2


def test_dimensions_of_loads_are_meanings_of_their_own() -> None:
    content = b"id,x,y,demand kg,Pal,note\nd,0,0,0,0,\nA,1,1,3,1,\n"
    shown = look(content, "orders.csv", columns="Pal=demand pallets")
    assert [column.meaning for column in shown.columns] == ["id", "x", "y", "demand kg", "demand pallets", None]
    assert {"demand", "demand kg", "demand pallets"} <= set(shown.meanings)


def test_vehicles_of_another_sheet_are_used() -> None:
    problem = read(make_workbook(), vehicles_sheet="Fahrzeuge", columns="E=demand", speed="36 km/h")

    assert [(kind.name, kind.count, kind.capacity) for kind in problem.instance.fleet] == [
        ("Sprinter", 2, 900),
        ("Caddy", 1, 300),
    ]
    assert problem.instance.speed == 10


def test_detour_lengthens_distances() -> None:
    plain = read(make_workbook(), columns="E=demand", capacity=500.0).instance
    longer = read(make_workbook(), columns="E=demand", capacity=500.0, detour=1.5).instance

    assert longer.unit == "m"
    assert longer.distance_matrix[0, 1] == pytest.approx(1.5 * plain.distance_matrix[0, 1], abs=0.1)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("tour.csv", b"x,y,demand\n0,0,0\n1,2,3\n", {"sheet": "Montag", "capacity": 9}),
        ("tour.json", b"{}", {"columns": "a=demand"}),
        ("tour.json", b"{}", {"speed": "30km/h"}),
        ("tour.csv", b"x,y,demand\n0,0,0\n1,2,3\n", {"speed": "30", "capacity": 9}),
    ],
)
def test_options_that_do_not_apply_are_refused(name: str, content: bytes, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        read(content, name, **options)


def test_unknown_sheet_and_other_files_are_refused() -> None:
    with pytest.raises(FormatError, match="no sheet"):
        look(make_workbook(), sheet="Dienstag")
    with pytest.raises(DynarouteError, match="no table"):
        look(b"NAME : x", "a.vrp")


@pytest.mark.parametrize("text", ["[]", "null", '{"customers": []}', "name,x,y,demand", "\n\n"])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match=r"no table|empty"):
        look(text.encode(), "orders.csv")
