"""Odd and faulty spreadsheets, as planners have them: used rightly, or refused in words that say what to do."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import PatternFill
from openpyxl.worksheet.table import Table
from workbooks import Rows, make_archive, make_workbook, replace_in_archive

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats import read
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.problem.instance import Instance

HEADER = ("id", "lat", "lon", "demand")
DEPOT, A, B, C = ("Depot", 53.5, 10.0, 0), ("A", 53.6, 10.1, 5), ("B", 53.7, 10.2, 7), ("C", 53.8, 10.3, 1)
STOPS = (HEADER, DEPOT, A, B)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
SHEET = "xl/worksheets/sheet1.xml"
CONTENT_TYPES = {"[Content_Types]_xml": "<a/>"}


@dataclass(frozen=True)
class File:
    """A file, how it is read, and what must come of it.

    Attributes
    ----------
    content
        What is in it, or what makes that: workbooks are not made before their test runs.
    given
        The option capacity.
    demands, names, capacity
        Of the customers; as the file writes them.
    notes
        Words that its notes hold, one of each note in their order.
    words
        Words of the refusal, if it is refused.
    """

    content: str | bytes | Callable[[], bytes]
    suffix: str = ""
    given: str | int | None = 100
    options: dict[str, Any] = field(default_factory=dict)
    demands: str = "5 7"
    names: str = "A B"
    capacity: str = "100"
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def read(self, folder: Path) -> Instance:
        content = self.content() if callable(self.content) else self.content
        path = folder / f"file{self.suffix or ('.csv' if isinstance(content, str) else '.xlsx')}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, capacity=self.given, **self.options)


def book(*sheets: Rows | tuple[str, Rows], change: Callable[[Any], None] | None = None, **rest: Any) -> File:
    return File(lambda: make_workbook(*sheets, change=change), **rest)


def with_cell(row: int, column: int, value: object, **rest: Any) -> File:
    """The usual stops with one cell changed; both from 1."""
    rows = [list(cells) for cells in STOPS]
    rows[row - 1][column - 1] = value
    return book(rows, **rest)


def with_column(heading: object, *cells: object, **rest: Any) -> File:
    """The usual stops with a further column."""
    return book([(*row, cell) for row, cell in zip(STOPS, (heading, *cells), strict=False)], **rest)


def german(*amounts: str, heading: str = "Menge", **rest: Any) -> File:
    """A German export with these amounts."""
    stops = zip("AB", ("53,6;10,1", "53,7;10,2"), amounts, strict=False)
    rows = "".join(f"{name};{place};{amount}\n" for name, place, amount in stops)
    return File(f"Kunde;Breitengrad;Längengrad;{heading}\nDepot;53,5;10,0;\n{rows}", **rest)


def hide_row(number: int) -> Callable[[Any], None]:
    return lambda workbook: setattr(workbook.worksheets[0].row_dimensions[number], "hidden", True)


def hide_column(letter: str) -> Callable[[Any], None]:
    return lambda workbook: setattr(workbook.worksheets[0].column_dimensions[letter], "hidden", True)


def hide_sheet(name: str) -> Callable[[Any], None]:
    return lambda workbook: setattr(workbook[name], "sheet_state", "hidden")


def merge(cells: str) -> Callable[[Any], None]:
    return lambda workbook: workbook.worksheets[0].merge_cells(cells)


def style(cell: str, number_format: str) -> Callable[[Any], None]:
    return lambda workbook: setattr(workbook.worksheets[0][cell], "number_format", number_format)


def add_chart(workbook: Any) -> None:
    chart = BarChart()
    chart.add_data(Reference(workbook.worksheets[0], min_col=4, min_row=1, max_row=4))
    workbook.create_chartsheet("Chart", 0).add_chart(chart)


def paint(workbook: Any) -> None:
    for row in workbook.worksheets[0].iter_rows(min_row=1, max_row=200, max_col=8):
        for cell in row:
            cell.fill = PatternFill("solid", "FFFF00")


def fill_values(content: bytes) -> bytes:
    """What a spreadsheet program adds to a formula: its value."""
    return content.replace(b"<v></v>", b"<v>5</v>").replace(b"<v />", b"<v>5</v>").replace(b"<v/>", b"<v>5</v>")


GERMAN_NOTES = ("Kunde as id", "decimal commas")

READ = {
    "plain": book(STOPS),
    "title merged over the columns": book([("Monday",), *STOPS], change=merge("A1:D1"), notes=("line 1 (Monday)",)),
    "titles and blank rows above the header": book(
        [("Plan",), (), ("made by", "Kim"), (), *STOPS], notes=("line 1 (Plan), line 3 (made by)",)
    ),
    "two rows of headings": book(
        [("id", "Koordinaten", None, "Menge"), (None, "Breite", "Länge", "kg"), DEPOT, A, B],
        change=merge("B1:C1"),
        notes=("Breite as lat, Länge as lon, Menge kg as demand",),
    ),
    "dates in a further column": with_column("ordered", None, datetime.date(2024, 5, 3), None, notes=("ordered",)),
    "error in a further column": with_column("phone", None, "#REF!", "1", notes=("phone",)),
    "numbers stored as text": book([HEADER, DEPOT, ("A", "53.6", "10.1", "5"), ("B", "53.7", "10.2", "7")]),
    "numbers stored as German text": book(
        [HEADER, DEPOT, ("A", "53,6", "10,1", "5,5"), ("B", "53,7", "10,2", "7")],
        demands="5.5 7",
        notes=("decimal commas",),
    ),
    "apostrophe before a number": with_cell(3, 4, "'5"),
    "spaces that do not break": book(
        [("id ", "lat\xa0", "\xa0lon", "demand"), DEPOT, ("A", "53.6\xa0", "10.1", "\xa05"), B]
    ),
    "empty columns between": book([[cell for value in row for cell in (value, None)] for row in STOPS]),
    "headings twice in further columns": book(
        [(*HEADER, "phone", "phone"), (*DEPOT, 1, 2), (*A, 3, 4), (*B, 5, 6)], notes=("phone, phone",)
    ),
    "total row": book([*STOPS, (None, None, "Summe", 12)], notes=("line 5 (Summe)",)),
    "total row with a count": book([*STOPS, ("Total (2 stops)", None, None, 12)], notes=("line 5",)),
    "total row without a word": book([*STOPS, (None, None, None, 12)], notes=("line 5 (12)",)),
    "remarks below": book([*STOPS, (), ("as of May",), ("Kim",)], notes=("line 6 (as of May), line 7 (Kim)",)),
    "header that comes again": book([*STOPS, (), HEADER, C], demands="5 7 1", names="A B C", notes=("line 6 (id)",)),
    "another table below": book(
        [*STOPS, (), ("Vans",), ("type", "count", "capacity"), ("Sprinter", 2, 100)],
        notes=("line 6 (Vans)", "line 7 (type)"),
    ),
    "hidden sheet first": book(
        ("Old", STOPS), ("New", [*STOPS, C]), change=hide_sheet("Old"), demands="5 7 1", names="A B C", notes=("'New'",)
    ),
    "cover first": book(("Cover", [("Hello",)]), ("Stops", STOPS), notes=("'Stops'",)),
    "empty sheet first": book(("Empty", []), ("Stops", STOPS), notes=("'Stops'",)),
    "sheet by its name": book(
        ("Mon", STOPS), ("Tue", [*STOPS, C]), options={"sheet": "tue"}, demands="5 7 1", names="A B C"
    ),
    "hidden sheet by its name": book(("Old", STOPS), ("X", []), change=hide_sheet("Old"), options={"sheet": "Old"}),
    "chart sheet": book(STOPS, change=add_chart),
    "table object": book(STOPS, change=lambda book: book.worksheets[0].add_table(Table(displayName="T", ref="A1:D4"))),
    "hidden row": book([*STOPS, C], change=hide_row(3), demands="7 1", names="B C", notes=("hidden rows 3",)),
    "hidden further column": with_column("price", 1, 2, 3, change=hide_column("E"), notes=("hidden columns price",)),
    "hidden column that is needed": book(STOPS, change=hide_column("D"), notes=("used the hidden columns demand",)),
    "last row of a sheet": book(STOPS, change=lambda book: book.worksheets[0].cell(1_048_576, 1, " ")),
    "painted cells": book(STOPS, change=paint),
    "formula with its value": File(
        lambda: replace_in_archive(make_workbook([HEADER, DEPOT, ("A", 53.6, 10.1, "=2+3"), B]), SHEET, fill_values)
    ),
    "last bit of a sum": with_cell(3, 4, 0.1 + 0.2, demands="0.3 7"),
    "customer without demand": with_cell(3, 4, 0, demands="0 7"),
    "ids that are numbers": book([HEADER, (0, *DEPOT[1:]), (1.0, *A[1:]), (2.0, *B[1:])], names=""),
    "ids with a point and zero": File("id,x,y,demand\n0.0,0,0,0\n7.0,1,1,5\n8.0,2,2,7\n", names="7 8", given=100),
    "ids with leading zeros": book([HEADER, ("000", *DEPOT[1:]), ("007", *A[1:]), ("008", *B[1:])], names="007 008"),
    "ids shown with leading zeros": book(
        [HEADER, (0, *DEPOT[1:]), (7, *A[1:]), (8, *B[1:])], change=style("A3", "000"), names="007 8"
    ),
    "degrees with marks": book([HEADER, DEPOT, ("A", "53,6° N", "10° 6' 0\" E", 5), ("B", "53°42'00\"N", "10.2 E", 7)]),
    "both coordinates in a cell": book(
        [("id", "GPS", "demand"), ("Depot", "53.5, 10.0", 0), ("A", "53.6,10.1", 5), ("B", "(53.7; 10.2)", 7)],
        notes=("GPS as position",),
    ),
    "longitude first in a cell": book(
        [("id", "lon/lat", "demand"), ("Depot", "10.0, 53.5", 0), ("A", "10.1, 53.6", 5), ("B", "10.2, 53.7", 7)],
        notes=("lon/lat as position",),
    ),
    "German export": File(
        "\ufeffKd-Nr.;Kunde;Straße;Breitengrad;Längengrad;Menge (kg);Telefon\r\n"
        "0;Lager;Kai 1;53,5;10,0;;\r\nA;Meyer;Weg 2;53,6;10,1;1.234,5;040 1\r\nB;Müller;Weg 3;53,7;10,2;3,5 kg;\r\n",
        given="1.500,5 kg",
        capacity="1500.5",
        demands="1234.5 3.5",
        notes=("Menge (kg) as demand", "decimal commas", "Kunde, Straße, Telefon"),
    ),
    "French export": File(
        "N°;Client;Latitude;Longitude;Quantité\n0;Dépôt;48,85;2,35;\nA;Dupont;48,86;2,36;5\nB;Durand;48,87;2,37;7\n",
        notes=("Quantité as demand", "decimal commas", "Client"),
    ),
    "Spanish export": File(
        "Código;Cliente;Latitud;Longitud;Cantidad\n0;Almacén;40,4;-3,7;0\nA;García;40,5;-3,6;5\nB;Ruiz;40,6;-3,5;7\n",
        notes=("Cantidad as demand", "decimal commas", "Cliente"),
    ),
    "unicode text of Excel": File(
        "Kunde\tBreitengrad\tLängengrad\tMenge\r\nDepot\t53,5\t10,0\t0\r\nA\t53,6\t10,1\t5\r\nB\t53,7\t10,2\t7\r\n".encode(
            "utf-16"
        ),
        suffix=".txt",
        notes=GERMAN_NOTES,
    ),
    "UTF-16 without a mark": File(
        "id\tx\ty\tdemand\r\nDepot\t0\t0\t0\r\nA\t1\t1\t5\r\nB\t2\t2\t7\r\n".encode("utf-16-le"), suffix=".tsv"
    ),
    "Windows-1252": File(german("5", "7").content.encode("cp1252"), suffix=".csv", notes=GERMAN_NOTES),  # type: ignore[union-attr]
    "decimal commas between tabs": File(
        "id\tx\ty\tdemand\n0\t0\t0\t0\nA\t1,5\t2\t5,5\nB\t1\t2\t7\n", demands="5.5 7", notes=("decimal commas",)
    ),
    "bars between cells": File("id|x|y|demand\n0|0|0|0\nA|1|1|5\nB|2|2|7\n"),
    "line ends of old Macs": File("id;x;y;demand\r0;0;0;0\rA;1;1;5\rB;2;2;7\r"),
    "number sign as a heading": File(
        "#;Name;Lat;Lon;Menge\n0;Depot;53,5;10;0\nA;a;53,6;10,1;5\nB;b;53,7;10,2;7\n",
        notes=("# as id", "decimal commas", "Name"),
    ),
    "thousands beside a decimal comma": german(
        "1.234", "2,5", demands="1234 2.5", given=2000, capacity="2000", notes=(*GERMAN_NOTES, "1.234")
    ),
    "thousands between quotes": File(
        'id,x,y,demand\n0,0,0,0\nA,1.5,2,"1,234"\nB,1,2,7\n',
        demands="1234 7",
        given=2000,
        capacity="2000",
        notes=("1,234",),
    ),
    "thousands with spaces": german(
        "1 234,5", "7", demands="1234.5 7", given=2000, capacity="2000", notes=GERMAN_NOTES
    ),
    "thousands of the Swiss": File(
        "id;x;y;demand\n0;0;0;0\nA;1;2;1'234.5\nB;1;2;7\n",
        demands="1234.5 7",
        given=2000,
        capacity="2000",
    ),
    "scientific notation": File("id;x;y;demand\n0;0;0;0\nA;1,5E+02;2;5\nB;1;2;7\n", notes=("decimal commas",)),
    "units of one kind": german("0,05 t", "7 kg", demands="50 7", notes=(*GERMAN_NOTES, "0,05 t to kg")),
    "units in some cells": german("5 kg", "7", notes=(*GERMAN_NOTES, "read 7 and other demands without a unit as kg")),
    "capacity with the separator of the file": german(
        "5,5", "7", demands="5.5 7", given="1.000 kg", capacity="1000", notes=(*GERMAN_NOTES, "in 1.000 as")
    ),
    "capacity in another unit": german(
        "5", "7", heading="Menge (kg)", given="1,5 t", capacity="1500", notes=GERMAN_NOTES
    ),
    "capacity in a line of a sheet": book([("# capacity: 50",), *STOPS], given=None, capacity="50"),
    "capacity beside its word": book([("Kapazität", 50, "kg"), (), *STOPS], given=None, capacity="50"),
    "capacity after its word": book([("Max. load: 50",), (), *STOPS], given=None, capacity="50"),
    "capacity below": book([*STOPS, (), ("Kapazität:", "50 kg")], given=None, capacity="50"),
    "capacity right of the table": book(
        [(*HEADER, None, "Capacity", 80), (*DEPOT, None, None), A, B], given=None, capacity="80"
    ),
    "capacity in a column": with_column("Kapazität", 50, None, None, given=None, capacity="50"),
    "depot last": File("id,x,y,demand\nA,1,1,5\nB,2,2,7\nDepot,0,0,\n", notes=("line 4 (Depot) as the depot",)),
    "depot last, with the name of a town": book(
        [HEADER, A, B, ("Zentrallager Hamburg", 53.5, 10.0, 0)], notes=("line 4 (Zentrallager Hamburg) as the depot",)
    ),
    "windows of two columns in capitals": book(
        [(*HEADER, "TIME_WINDOW_FROM", "TIME_WINDOW_TO"), DEPOT, (*A, "08:00", "12:00"), B],
        options={"fleet": FleetOptions(speed=10.0)},
        notes=("TIME_WINDOW_FROM as earliest, TIME_WINDOW_TO as latest",),
    ),
    "times that may be hours": with_column(
        "earliest",
        None,
        8,
        9,
        options={"fleet": FleetOptions(speed=10.0)},
        notes=("numbers of earliest as seconds",),
    ),
    "depot marked": File("id,x,y,demand,depot\nA,1,1,5,\nB,2,2,7,\nH,0,0,0,x\n", notes=("line 4 (H)",)),
    "depot by its kind": File(
        "id,x,y,demand,Typ\nA,1,1,5,Kunde\nB,2,2,7,Kunde\nH,0,0,0,Lager\n", notes=("line 4 (H)", "Typ as kind")
    ),
    "depot again at the end": File(
        "id,x,y,demand,name\n0,0,0,0,Depot\nA,1,1,5,a\nB,2,2,7,b\n3,0,0,0,Depot\n", notes=("line 5", "name")
    ),
    "customer who ordered twice": File(
        "Kunde;x;y;Menge\nDepot;0;0;\nMeyer;1;1;5\nMeyer;2;2;7\n",
        names="",
        notes=("as demand", "stops are numbered"),
    ),
    "length and width of parcels": File(
        "id;x;y;demand;Länge;Breite\n0;0;0;0;1;2\nA;1;1;5;1;2\nB;2;2;7;1;2\n", notes=("Länge, Breite",)
    ),
    "headings of several words": File(
        "Kunde;GPS Lat;GPS Lon;Anzahl Pakete\nDepot;53,5;10;0\nA;53,6;10,1;5\nB;53,7;10,2;7\n",
        notes=("Anzahl Pakete as demand", "decimal commas"),
    ),
    "headings that say what x and y are": File(
        "Kunde;X (Längengrad);Y (Breitengrad);Menge\nDepot;10;53;0\nA;10;54;5\nB;11;53;7\n",
        notes=("X (Längengrad) as lon",),
    ),
    "heading over two lines": book([("id", "lat", "lon", "Menge\n(kg)"), DEPOT, A, B], notes=("Menge (kg) as demand",)),
    "lines in quotes": File('"id;x;y;demand"\n"0;0;0;0"\n"A;1;1;5"\n"B;2;2;7"\n'),
    "degrees called x and y": File(
        "id;x;y;demand\n0;9.9912;53.5511;0\nA;9.9915;53.5612;5\nB;10.0123;53.5713;7\nC;10.0223;53.5813;1\n",
        demands="5 7 1",
        names="A B C",
        notes=("--columns x=lon,y=lat",),
    ),
    "columns named by the user": book(
        [("K", "Br", "La", "Mg"), DEPOT, A, B], options={"columns": "K=id,Br=lat,La=lon,Mg=demand"}
    ),
    "columns named the other way round": book(
        [("K", "Br", "La", "Mg"), DEPOT, A, B], options={"columns": "id=K,lat=Br,lon=La,demand=Mg"}
    ),
    "columns named by their letters": book(
        [("K", "Br", "La", "Mg"), DEPOT, A, B], options={"columns": "A=id,B=lat,C=lon,D=demand"}
    ),
    "two amounts, one of them named": with_column(
        "Gewicht", 0, 2, 3, options={"columns": "Gewicht=demand"}, demands="2 3", notes=("demand",)
    ),
    "stop on another continent": File(
        "id,lat,lon,demand\n0,53.5,10,0\nA,53.6,10.1,5\nB,53.7,10.2,7\nC,-33.9,151.2,1\n",
        demands="5 7 1",
        names="A B C",
        notes=("(C) is 16,270 km away",),
    ),
    "stop with latitude and longitude exchanged": File(
        "id,lat,lon,demand\n0,53.5,10,0\nA,53.6,10.1,5\nB,53.7,10.2,7\nC,10.1,53.6,1\n",
        demands="5 7 1",
        names="A B C",
        notes=("are its latitude and longitude swapped?",),
    ),
    "stop at zero, zero": File(
        "id,lat,lon,demand\n0,53.5,10,0\nA,53.6,10.1,5\nB,53.7,10.2,7\nC,0,0,1\n",
        demands="5 7 1",
        names="A B C",
        notes=("are they missing?",),
    ),
    "all latitudes and longitudes exchanged": File(
        "Kunde;Breitengrad;Längengrad;Menge\nDepot;10;53;0\nA;10;54;5\nB;11;53;7\n",
        notes=("Kunde as id", "near latitude 10.0, longitude 53.0"),
    ),
    "all latitudes and longitudes exchanged, in English": File(
        "id,lat,lon,demand\n0,9.99,53.55,0\nA,10.02,53.6,5\nB,9.95,53.5,7\n",
        notes=("near latitude 10.0, longitude 53.5",),
    ),
    "all latitudes and longitudes exchanged, in America": File(
        "id,lat,lon,demand\n0,-74.0,40.71,0\nA,-73.9,40.8,5\nB,-74.1,40.6,7\n", notes=("near latitude -74.0",)
    ),
    "tour where exchanged places would be in Europe": File(
        "id,lat,lon,demand\n0,24.71,46.68,0\nA,24.8,46.7,5\nB,24.6,46.6,7\n"
    ),
    "tour on a small island": File("id,lat,lon,demand\n0,37.74,-25.67,0\nA,37.8,-25.5,5\nB,37.85,-25.8,7\n"),
}

REFUSED = {
    "merged positions": book(
        STOPS, change=merge("B3:B4"), words=("line 4", "cell B4", "merged cells B3:B4", "Unmerge")
    ),
    "merged demands": book(STOPS, change=merge("D3:D4"), words=("line 4", "merged cells D3:D4")),
    "date for a demand": with_cell(
        3, 4, datetime.date(2024, 5, 3), words=("cell D3", "is a date", "format the column")
    ),
    "date as text": german("3. Mai", words=("line 3", "is a date")),
    "date in numbers": german("03.05.2024", words=("is a date",)),
    "time for a demand": with_cell(3, 4, datetime.time(8, 30), words=("08:30 is a time",)),
    "error for a demand": with_cell(3, 4, "#N/A", words=("cell D3", "#N/A", "Correct the formula")),
    "error for an id": with_cell(3, 1, "#REF!", words=("cell A3", "#REF!")),
    "percentage": with_cell(3, 4, 0.5, change=style("D3", "0%"), words=("percentage",)),
    "percentage as text": with_cell(3, 4, "50 %", words=("percentage",)),
    "truth": with_cell(3, 4, True, words=("TRUE",)),
    "formula without a value": with_cell(3, 4, "=2+3", words=("cell D3", "formula", "save it")),
    "formula without a value for an id": with_cell(3, 1, '="a"', words=("cell A3", "formula")),
    "formula as text": german("=A1", words=("formula",)),
    "money": german("3,50 €", words=("money",)),
    "unknown unit": german("3 Fass", words=("'3 Fass'", "unit", "heading")),
    "units of two kinds": german("3 kg", "7 Paletten", words=("'7 Paletten'", "not in kg")),
    "capacity of another kind": german("3 kg", given="3 Paletten", words=("capacity", "not in kg")),
    "range": german("5-7 kg", words=("'5-7 kg'", "not a number")),
    "about": german("ca. 5 kg", words=("not a number",)),
    "thousands or decimals": File(
        "id;x;y;demand\n0;0;0;0\nA;1;1;1.234\nB;2;2;7\n", words=("line 3", "could mean 1234 or 1.234", "Write 1234")
    ),
    "commas and points": File(
        "id;x;y;demand\n0;0;0;0\nA;1;2;2,5\nB;1;2;2.5\n", words=("line 4", "decimal point", "line 3", "in the same way")
    ),
    "decimal commas between commas": File("id,x,y,demand\n0,0,0,0\nA,1,5,2,5\n", words=("5 cells", "semicolons")),
    "capacity that may be two": File(
        "id,x,y,demand\n0,0,0,0\nA,1,5,2\n", given="1,234", words=("could mean 1234 or 1.234",)
    ),
    "capacity that may be one": book(STOPS, given="1.000 kg", words=("could mean 1000 or 1,", "Write 1000 or 1.")),
    "units in some cells, and not the same": book(
        [HEADER, DEPOT, ("A", 53.6, 10.1, "1 t"), ("B", 53.7, 10.2, "7 kg"), ("C", 53.8, 10.3, "9")],
        words=("cell D5", "'9' has no unit"),
    ),
    "demand blank": with_cell(3, 4, None, words=("line 3", "cell D3", "missing")),
    "demand unknown": with_cell(3, 4, "n/a", words=("'n/a'", "cell D3")),
    "demand negative": with_cell(3, 4, -3, words=("cell D3", "negative")),
    "position blank": with_cell(3, 2, None, words=("cell B3", "missing")),
    "latitude without its point": File(
        "id;lat;lon;demand\nDepot;53.550.123;9.990.000;0\nA;53.600.000;10.100.000;5\n",
        words=("lost its decimal point",),
    ),
    "longitude in the column of latitudes": with_cell(3, 2, "10° E", words=("not a latitude", "swapped")),
    "longitudes where only latitudes can be": File(
        "id,lat,lon,demand\n0,-118.2,34.05,0\nA,-118.3,34.1,5\n", words=("line 2", "Are the two swapped?")
    ),
    "link for a pair of coordinates": book(
        [("id", "GPS", "demand"), ("Depot", "53.5, 10.0", 0), ("A", "https://maps.example/?q=53.6,10.1", 5)],
        words=("cell B3", "not a pair", "53.55, 9.99"),
    ),
    "no depot": book([HEADER, A, B], words=("cell D2", "depot is 5, not 0", "called Depot", "with an x")),
    "time as a part of a day": with_column(
        "frühestens", None, 1 / 3, words=("cell E3", "fraction of a day", "Format the column as times")
    ),
    "web page called a table": File("<html><table><tr><td>id</td></tr></table></html>", words=("web page", "CSV")),
    "PDF called a table": File("%PDF-1.4\n", words=("PDF",)),
    "JSON called a table": File('{"capacity": 5}', words=("JSON",)),
    "spaces between cells": File(
        "Kunde   Breite  Länge  Menge\nDepot   53,55   9,99    0\n", suffix=".txt", words=("only by spaces", "CSV")
    ),
    "half a pair of coordinates": book(
        [("id", "GPS", "demand"), ("Depot", "53.5, 10.0", 0), ("A", "53,6", 5)], words=("cell B3", "pair")
    ),
    "ids twice": book([HEADER, DEPOT, A, A], words=("line 4", "'A' is used twice, first on line 3")),
    "section titles among the stops": book([HEADER, DEPOT, ("Tour 1",), A], words=("line 3", "'Tour 1'", "delete it")),
    "remark right below the stops": book([*STOPS, ("* fragile",)], words=("line 5", "'* fragile'", "blank row")),
    "stop without a position below a blank row": book(
        [HEADER, DEPOT, A, (), ("Meyer", None, None, None, "Weg 2"), B], words=("line 5", "missing")
    ),
    "word on a line among the stops": File("id,x,y,demand\n0,0,0,0\nMeyer\nA,1,1,5\n", words=("line 3", "1 cells")),
    "sum that is none": book([*STOPS, (None, None, None, 13)], words=("line 5", "only '13'")),
    "hidden depot": book(STOPS, change=hide_row(2), words=("depot is 5",), notes=("hidden rows 2",)),
    "several depots named": File("id,x,y,demand,depot\nL,0,0,0,North\nA,1,1,5,South\n", words=("several depots",)),
    "amounts to pick up": File("id,x,y,demand,collect\n0,0,0,0,\nA,1,1,5,3\n", words=("line 3", "like a pickup")),
    "windows under a heading that says little": with_column(
        "Anlieferung", None, "ab 8 Uhr", "bis 12:00", words=("a time window", "--columns 'Anlieferung=window'")
    ),
    "demand twice": with_column("demand", 1, 2, 3, words=("two columns named demand",)),
    "two columns that may be the demand": book(
        [("id", "lat", "lon", "Menge", "Gewicht"), (*DEPOT, 1), (*A, 2)], words=("Menge and Gewicht", "--columns")
    ),
    "unknown headings": File("Artikel;Preis\nA;3\n", words=("Artikel, Preis", "--columns 'Preis=demand'")),
    "no headings": File("0,0,0,0\n1,1,1,5\n", words=("contains numbers",)),
    "rows and columns exchanged": File(
        "id;Depot;A\nlat;53,5;53,6\nlon;10;10,1\nMenge;0;5\n", words=("first column", "Swap")
    ),
    "addresses alone": File(
        "Name;Straße;PLZ;Menge\nDepot;Kai 1;20457;\nA;Weg 2;20459;5\n", words=("looked up", "--matrix")
    ),
    "place names for positions": File(
        "Name;Standort;Menge\nDepot;Kiel;\nA;Bonn;5\n", words=("x, y are missing", "Standort")
    ),
    "starts and ends": File(
        "id;Start Lat;Start Lon;Ziel Lat;Ziel Lon;Menge\nA;1;2;3;4;5\n", words=("Start Lat and Ziel Lat", "--columns")
    ),
    "only the header": book([HEADER], words=("no row below",)),
    "only the depot": book([HEADER, DEPOT], words=("no customer",)),
    "no capacity": File("id,x,y,demand\n0,0,0,0\nA,1,1,5\n", given=None, words=("'# capacity: 50'",)),
    "no capacity in a workbook": book(STOPS, given=None, words=("missing", "cell", "--vehicles FILE#SHEET")),
    "capacities that differ": with_column("Kapazität", 50, 60, None, given=None, words=("line 3", "'50' and '60'")),
    "unknown column named": book(STOPS, options={"columns": "Menge=demand"}, words=("'Menge'", "id, lat, lon")),
    "unknown meaning": book(STOPS, options={"columns": "id=colour"}, words=("'colour'", "demand")),
    "no meaning": book(STOPS, options={"columns": "demand"}, words=("COLUMN=MEANING",)),
    "unknown sheet": book(("Mon", STOPS), ("Tue", STOPS), options={"sheet": "Wed"}, words=("'Wed'", "Mon, Tue")),
    "sheet of a text": File("id,x,y,demand\n", options={"sheet": "Mon"}, words=("no sheets",)),
    "no sheet with a header": book(("Cover", [("Hello",)]), words=("'Cover'", "Hello"), notes=("Cover (visible)",)),
    "no visible sheet with a header": book(
        ("Old", STOPS), ("Cover", [("Hello",)]), change=hide_sheet("Old"), words=("Hello",), notes=("Old (hidden)",)
    ),
    "empty sheet": book([], words=("empty",), notes=("Sheet1",)),
    "old workbook": File(OLE, words=("old format (.xls)", "save it as")),
    "old workbook by its suffix": File(OLE, suffix=".xls", words=(".xls", "save it as")),
    "password": File(OLE + "EncryptedPackage".encode("utf-16-le"), words=("password",)),
    "OpenDocument": File(
        lambda: make_archive(mimetype="application/vnd.oasis.opendocument.spreadsheet"), words=("OpenDocument",)
    ),
    "OpenDocument by its suffix": File(b"PK", suffix=".ods", words=("OpenDocument", "save it as")),
    "web page called a workbook": File(b"<html><table><tr><td>id</td></tr></table></html>", words=("web page",)),
    "XML of 2003": File(
        b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', words=("2003",)
    ),
    "text called a workbook": File(b"id;x;y;demand\n", words=("call it .csv",)),
    "workbook called a text": File(lambda: make_workbook(STOPS), suffix=".csv", words=("rename it to .xlsx",)),
    "binary workbook": File(lambda: make_archive(xl__workbook_bin=b"\0", **CONTENT_TYPES), words=("(.xlsb)",)),
    "document": File(lambda: make_archive(word__document_xml="<a/>", **CONTENT_TYPES), words=("text document",)),
    "other archive": File(lambda: make_archive(readme="x"), words=("not an Excel workbook",)),
    "cut off": File(lambda: make_workbook(STOPS)[:2000], words=("damaged", "save it anew")),
    "strict workbook": File(
        lambda: replace_in_archive(
            make_workbook(STOPS), "xl/workbook.xml", lambda xml: xml + b"<!-- purl.oclc.org/ooxml/spreadsheetml -->"
        ),
        words=("Strict Open XML",),
    ),
    "entities": File(
        lambda: replace_in_archive(make_workbook(STOPS), SHEET, lambda xml: b'<!DOCTYPE x [<!ENTITY a "b">]>' + xml),
        words=("entities",),
    ),
    "row beyond all sheets": File(
        lambda: replace_in_archive(
            make_workbook(STOPS), SHEET, lambda xml: xml.replace(b'<row r="4"', b'<row r="99999999999"')
        ),
        words=("row 99999999999",),
    ),
    "bomb": File(
        lambda: make_archive(xl__worksheets__sheet1_xml=b" " * 250_000_000, **CONTENT_TYPES), words=("memory", "limit")
    ),
}


def assert_notes(notes: list[str], expected: tuple[str, ...]) -> None:
    assert len(notes) == len(expected), notes
    for note, words in zip(notes, expected, strict=True):
        assert words in note


@pytest.mark.parametrize("name", READ)
def test_an_odd_table_is_used_rightly_and_what_is_left_out_is_named(name: str, tmp_path: Path) -> None:
    file = READ[name]
    with gather_notes() as notes:
        instance = file.read(tmp_path)

    assert " ".join(str(instance.shown_demand(demand)) for demand in instance.demands[1:].tolist()) == file.demands
    assert " ".join(instance.customer_names or ()) == file.names
    assert str(instance.shown_demand(instance.capacity)) == file.capacity
    assert_notes(notes, file.notes)


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_table_is_refused_with_its_place_and_what_to_do(name: str, tmp_path: Path) -> None:
    file = REFUSED[name]
    with gather_notes() as notes, pytest.raises(DynarouteError) as caught:
        file.read(tmp_path)

    for words in file.words:
        assert words in str(caught.value)
    assert caught.value.remedy
    if file.notes:
        assert_notes(notes, file.notes)


def test_positions_are_those_of_the_cells(tmp_path: Path) -> None:
    for name in ("degrees with marks", "both coordinates in a cell", "longitude first in a cell", "plain"):
        with gather_notes():
            instance = READ[name].read(tmp_path)
        assert instance.coordinates is not None
        assert instance.metric == "great_circle"
        assert instance.coordinates.round(9).tolist() == [[53.5, 10.0], [53.6, 10.1], [53.7, 10.2]]


def test_the_depot_is_the_marked_row(tmp_path: Path) -> None:
    for name in ("depot last", "depot marked", "depot by its kind"):
        with gather_notes():
            instance = READ[name].read(tmp_path)
        assert instance.coordinates is not None
        assert instance.coordinates.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_the_depot_keeps_its_name(tmp_path: Path) -> None:
    texts = {"Lager Nord": "Lager Nord", "0": "", "12.5": ""}
    for text, name in texts.items():
        with gather_notes():
            instance = File(f"id,x,y,demand\n{text},0,0,0\nA,1,1,5\nB,2,2,7\n").read(tmp_path)
        assert instance.depot_name == name


def test_further_columns_are_carried_along(tmp_path: Path) -> None:
    with gather_notes():
        instance = READ["German export"].read(tmp_path)
    assert instance.details is not None
    assert instance.details.columns == ("Kunde", "Straße", "Telefon")
    assert instance.details.rows == (("Lager", "Kai 1", ""), ("Meyer", "Weg 2", "040 1"), ("Müller", "Weg 3", ""))
