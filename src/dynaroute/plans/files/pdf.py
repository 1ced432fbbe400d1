"""Plans as PDF: a separate sheet for each driver, below one with the customers that are not served."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.plans.files.languages import name_route
from dynaroute.plans.files.links import SERVICES, list_links
from dynaroute.plans.files.sheet import (
    SheetColumn,
    describe_further,
    list_sheet_columns,
    list_sheet_rows,
    list_unserved_cells,
    list_unserved_columns,
)
from dynaroute.plans.files.sketch import PlanSketch, sketch_plan
from dynaroute.plans.files.words import describe_plan, describe_route
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop
from dynaroute.plotting.style import RED
from dynaroute.problem.unserved import count_unserved

if TYPE_CHECKING:
    from fpdf import FPDF

_FONT = "DejaVu"
_INK, _GREY, _FAINT = (28, 31, 36), (74, 79, 87), (140, 145, 152)
_PADDING = 0.8  # millimetres around the text of a cell
_SPARE = 1.5  # extra millimetres, so that a text that just fits is not broken
_WIDEST_WORD = 34.0  # millimetres; longer words are broken
_MAP_WIDTH = 0.7  # of the page
_MAP_EDGE, _LINE = 8.0, 5.0  # millimetres below a map, and of a line of text
_SMALLEST_MAP = 0.4  # of its usual size
_QR, _QR_STEP = 30.0, 34.0  # millimetres
_LONGEST_CELL = 200  # characters
_POINTS = 72 / 25.4  # per millimetre
_NO_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # the same plan makes the same file


def format_pdf(plan: Plan) -> bytes:
    """Write the sheets of all drivers: list, small map, load."""
    from fpdf import FPDF
    from fpdf.fonts import TTFFont

    logging.getLogger("fpdf").setLevel(logging.ERROR)  # characters that the font lacks become boxes, without a warning
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    document = FPDF(format="A4")
    document.set_creation_date(_NO_DATE)
    document.set_title(plan.instance.name or "Plan")
    document.set_margin(14)
    document.set_auto_page_break(True, margin=14)
    for style, file in (("", "DejaVuSans.ttf"), ("B", "DejaVuSans-Bold.ttf")):
        document.add_font(_FONT, style, _font_folder() / file)
    try:
        if plan.unserved or plan.faults:
            _add_warnings(document, plan)
        for route in plan.routes:
            _add_sheet(document, plan, route)
        return bytes(document.output())
    finally:
        for font in document.fonts.values():
            if isinstance(font, TTFFont):
                font.ttfont.close()  # fpdf2 leaves their files open


def _font_folder() -> Path:
    """The folder of matplotlib's fonts, which have Latin, Greek and Cyrillic letters."""
    from matplotlib import get_data_path

    return Path(get_data_path()) / "fonts" / "ttf"


def _add_warnings(document: FPDF, plan: Plan) -> None:
    """Add the customers that are not served, with the reasons, and the faults of the routes."""
    heading = count_unserved(len(plan.unserved)) if plan.unserved else "Faults of this plan"
    _begin_page(document, plan, heading, describe_plan(plan), _colour(RED))
    if plan.unserved:
        rows = [(list_unserved_cells(plan, left_out), left_out.stop) for left_out in plan.unserved]
        _add_table(document, plan, list_unserved_columns(plan), rows)
        document.ln(3)
        _add_map(document, plan)
    document.set_font(_FONT, "", 10)
    for fault in plan.faults:
        document.multi_cell(0, 5, fault, new_x="LMARGIN", new_y="NEXT")


def _begin_page(document: FPDF, plan: Plan, heading: str, facts: str, colour: tuple[int, int, int] = _INK) -> None:
    document.add_page()
    document.set_text_color(*colour)
    document.set_font(_FONT, "B", 16)
    document.multi_cell(0, 8, heading, new_x="LMARGIN", new_y="NEXT", align="LEFT")
    document.set_text_color(*_INK)
    document.set_font(_FONT, "", 10)
    document.multi_cell(0, 5, " · ".join(filter(None, (plan.instance.name, facts))), new_x="LMARGIN", new_y="NEXT")
    document.ln(2)


def _add_sheet(document: FPDF, plan: Plan, route: PlannedRoute) -> None:
    _begin_page(document, plan, name_route(plan, route), describe_route(plan, route))
    columns, rows = list_sheet_columns(plan), list_sheet_rows(plan, route)
    parts = list_links(plan, route, SERVICES[0]) if plan.has_degrees else []
    room = document.h - document.b_margin - document.get_y() - _measure_table(document, plan, columns, rows)
    top = document.get_y()
    _add_map(document, plan, (route.number,), room - _MAP_EDGE - _LINE * len(parts))
    for number, (_, _, address) in enumerate(parts[: int((document.get_y() - top) // _QR_STEP)]):
        _draw_qr(document, address, top + number * _QR_STEP)
    _add_table(document, plan, columns, rows)
    _add_links(document, parts, route)


def _add_map(document: FPDF, plan: Plan, routes: tuple[int, ...] | None = None, room: float | None = None) -> None:
    """Add a map of some routes, or of all; nothing without coordinates. It is smaller if that saves a page."""
    sketch = sketch_plan(plan, routes, width=_MAP_WIDTH * document.epw * _POINTS)
    if sketch is None:
        return
    share = 1.0 if room is None else room * _POINTS / sketch.height
    if _SMALLEST_MAP <= share < 1.0:
        sketch = sketch_plan(plan, routes, width=share * _MAP_WIDTH * document.epw * _POINTS) or sketch
    if document.get_y() + sketch.height / _POINTS > document.h - document.b_margin:
        document.add_page()
    _draw(document, sketch)


def _draw_qr(document: FPDF, address: str, top: float) -> None:
    """Draw a QR code of a link at the right edge of the page, for the driver's telephone."""
    import segno

    code = list(segno.make(address, error="l").matrix)
    size = _QR / len(code)
    left = document.w - document.r_margin - _QR
    document.set_fill_color(*_INK)
    for row, line in enumerate(code):
        for column, is_dark in enumerate(line):
            if is_dark:
                document.rect(left + column * size, top + row * size, size, size, style="F")


def _measure_table(
    document: FPDF,
    plan: Plan,
    columns: Sequence[SheetColumn],
    rows: Sequence[tuple[list[str], PlannedStop | None]],
) -> float:
    """Estimate the height of a table in millimetres."""
    document.set_font(_FONT, "", 9)
    cells = [[column.heading for column in columns], *(list(map(_cut, each)) for each, _ in rows)]
    widths = _fit_columns(document, cells, [column.is_number for column in columns])
    lines = sum(
        max(
            math.ceil(document.get_string_width(cell) / (width - 2 * _PADDING))
            for cell, width in zip(each, widths, strict=True)
        )
        or 1
        for each in cells
    )
    further = sum(stop is not None and bool(describe_further(plan, stop)) for _, stop in rows)
    return _LINE * (lines + further) + 2 * _PADDING * (len(cells) + further)


def _add_table(
    document: FPDF, plan: Plan, columns: Sequence[SheetColumn], places: Sequence[tuple[list[str], PlannedStop | None]]
) -> None:
    """Add a list of places, each with its cells."""
    from fpdf.enums import CellBordersLayout
    from fpdf.fonts import FontFace

    rows = [[column.heading for column in columns], *([_cut(cell) for cell in cells] for cells, _ in places)]
    align = ["RIGHT" if column.is_number else "LEFT" for column in columns]
    document.set_font(_FONT, "", 9)
    document.set_draw_color(*_FAINT)
    document.set_fill_color(255, 255, 255)
    settings: dict[str, Any] = {
        "col_widths": _fit_columns(document, rows, [column.is_number for column in columns]),
        "text_align": tuple(align),
        "v_align": "TOP",
        "line_height": 5,
        "padding": _PADDING,
    }
    with document.table(headings_style=FontFace(emphasis="BOLD"), **settings) as table:
        for cells, stop in zip(rows, (None, *(stop for _, stop in places)), strict=True):
            row = table.row()
            for cell in cells:
                row.cell(cell, border=CellBordersLayout.TOP)
            if stop is not None and (further := describe_further(plan, stop)):
                row = table.row(style=FontFace(color=_GREY, size_pt=8))
                row.cell("", border=CellBordersLayout.NONE)
                row.cell(_cut(further), colspan=len(columns) - 1, border=CellBordersLayout.NONE)


def _fit_columns(document: FPDF, rows: Sequence[Sequence[str]], are_numbers: Sequence[bool]) -> list[float]:
    """Choose widths of columns: numbers and words are not broken; texts share the remaining width by length."""
    least, most = [], []
    for cells, is_number in zip(zip(*rows, strict=True), are_numbers, strict=True):
        edge = 2 * _PADDING + _SPARE
        document.set_font(style="B")  # headings are bold
        heading = document.get_string_width(cells[0])
        document.set_font(style="")
        whole = max([heading, *map(document.get_string_width, cells)])
        words = [word for cell in cells[1:] for word in cell.split()]
        longest = max([heading, *(min(document.get_string_width(word), _WIDEST_WORD) for word in words)])
        least.append(edge + (whole if is_number else longest))
        most.append(edge + whole)
    spare = document.epw - sum(least)
    wanted = sum(most) - sum(least)
    if spare <= 0 or wanted <= 0:
        return [width * document.epw / sum(least) for width in least]
    return [low + (high - low) * spare / wanted for low, high in zip(least, most, strict=True)]


def _cut(text: str) -> str:
    """Shorten very long texts, because a row must fit on a page."""
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"


def _add_links(document: FPDF, parts: Sequence[tuple[int, int, str]], route: PlannedRoute) -> None:
    """Add links to a map service, one for each part of a route."""
    if not parts:
        return
    document.ln(2)
    document.set_font(_FONT, "", 8)
    document.set_text_color(29, 79, 145)
    for first, last, address in parts:
        text = f"{SERVICES[0].name}: {'depot' if first == 0 else f'stop {first}'} to "
        text += "depot" if route.end is not None and last == route.end.number else f"stop {last}"
        document.cell(text=text, link=address, new_x="LMARGIN", new_y="NEXT", h=4.5)


def _draw(document: FPDF, sketch: PlanSketch) -> None:
    """Draw the map at the cursor, and move the cursor below it."""
    left, top = document.l_margin, document.get_y()

    def millimetres(point: tuple[float, float]) -> tuple[float, float]:
        return left + point[0] / _POINTS, top + point[1] / _POINTS

    document.set_line_width(0.2)
    document.set_draw_color(*_FAINT)
    document.rect(left, top, sketch.width / _POINTS, sketch.height / _POINTS)
    document.set_fill_color(201, 204, 209)
    for other in sketch.others:
        _dot(document, millimetres(other), 0.7, "F")
    document.set_draw_color(*_colour(RED))
    document.set_line_width(0.6)
    for left_out in sketch.unserved:
        _dot(document, millimetres(left_out), 1.6, "D")
    for route in sketch.routes:
        colour = _colour(route.colour)
        document.set_draw_color(*colour)
        document.set_line_width(0.6)
        document.polyline([millimetres(point) for point in route.line])
        document.set_fill_color(*colour)
        for x, y, dx, dy in route.arrows:
            corners = [(x + 4 * dx, y + 4 * dy), (x - 4 * dx - 3 * dy, y - 4 * dy + 3 * dx)]
            corners.append((x - 4 * dx + 3 * dy, y - 4 * dy - 3 * dx))
            document.polygon([millimetres(corner) for corner in corners], style="F")
        document.set_fill_color(255, 255, 255)
        document.set_font(_FONT, "", 6.5)
        for point, text in route.labels:
            x, y = millimetres(point)
            _dot(document, (x, y), 2.0, "DF")
            document.text(x - document.get_string_width(text) / 2, y + 0.8, text)
    x, y = millimetres(sketch.depot)
    document.set_fill_color(*_INK)
    document.rect(x - 1.8, y - 1.8, 3.6, 3.6, style="F")
    if sketch.scale is not None:
        x, y = millimetres((8, sketch.height - 8))
        document.set_draw_color(*_INK)
        document.set_line_width(0.3)
        end = x + sketch.scale.width / _POINTS
        document.polyline([(x, y - 1.2), (x, y), (end, y), (end, y - 1.2)])
        document.set_font(_FONT, "", 7)
        document.text(end + 1.5, y, sketch.scale.text)
    document.set_y(top + sketch.height / _POINTS + 4)


def _dot(document: FPDF, place: tuple[float, float], radius: float, style: str) -> None:
    document.circle(x=place[0], y=place[1], radius=radius, style=style)


def _colour(name: str) -> tuple[int, int, int]:
    """Convert #rrggbb to three numbers."""
    red, green, blue = (int(name[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue
