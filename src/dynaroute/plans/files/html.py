"""Plans as HTML: a printable sheet for each driver, alone or all in one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from dynaroute.base.display import show_length
from dynaroute.plans.files.languages import name_route, say
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
from dynaroute.plans.files.words import describe_load, describe_plan, describe_route, list_warnings
from dynaroute.plans.plan import Plan, PlannedRoute
from dynaroute.plotting.style import RED
from dynaroute.problem.unserved import count_unserved

GENERATOR_MARK = '<meta name="generator" content="Dynaroute">'  # identifies our own pages

_MOST_ON_SHEET = 5  # customers and faults on the sheet of a driver; the others are on a page of their own

_LONG_WORD = re.compile(r"[^\s&;-]{40}(?=[^\s&;-]{3})")

# Nothing is loaded from other servers, and no script runs, whatever a name contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """\
:root { color-scheme: light; font: 15px/1.4 system-ui, sans-serif; color: #1c1f24; background: #fff; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2 { margin: 0; line-height: 1.2; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; align-items: baseline; margin: 0 0 .8rem; }
header p { margin: 0; color: #4a4f57; }
table { width: 100%; border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; border-top: 1px solid #c9ccd1; text-align: left; vertical-align: top; }
.further td { padding-top: 0; border-top: 0; font-size: .9rem; color: #4a4f57; }
thead th { border-bottom: 2px solid #1c1f24; font-size: .85rem; }
.number { text-align: right; white-space: nowrap; }
.done { width: 1.6rem; }
.done span { display: inline-block; width: .9rem; height: .9rem; border: 1.5px solid #1c1f24; border-radius: 2px; }
svg { max-width: 100%; height: auto; border: 1px solid #c9ccd1; border-radius: 4px; }
svg.code { border: 0; }
.links { font-size: .85rem; }
a { color: #1d4f91; }
.warning { margin: 0 0 1rem; padding: .6rem .8rem; border: 2px solid {red}; border-radius: 4px; break-inside: auto; }
.warning h2, .warning p:first-child { font-size: 1.05rem; font-weight: bold; color: {red}; }
.warning p { margin: 0; }
.warning table { margin: .4rem 0 0; }
.sheet { margin-top: 2.5rem; break-before: page; }
body > .sheet:first-child { margin-top: 0; break-before: auto; }
tr, tbody, svg { break-inside: avoid; }
thead { display: table-header-group; }
@media print { body { max-width: none; padding: 0; } @page { margin: 14mm; } .links { display: none; } }
""".replace("{red}", RED)


def format_html_plan(plan: Plan) -> str:
    """Write the whole plan as one file: an overview, and a page for each driver."""
    overview = [
        "<main>",
        f"<header><h1>{escape(_title(plan))}</h1><p>{escape(describe_plan(plan))}</p></header>",
        _warning_table(plan),
        _draw(sketch_plan(plan, width=640.0), "Map of all routes"),
        _overview_table(plan),
        "</main>",
    ]
    return _document(plan, _title(plan), [*overview, *(_sheet(plan, route) for route in plan.routes)])


def format_html_sheet(plan: Plan, route: PlannedRoute) -> str:
    """Write the sheet of one driver, below the first few warnings about the plan."""
    return _document(plan, f"{name_route(plan, route)}, {_title(plan)}", [_warning_lines(plan), _sheet(plan, route)])


def format_html_unserved(plan: Plan) -> str:
    """Write the page that lies on top of the drivers' sheets: the customers that are not served."""
    head = f"<header><h1>{escape(_title(plan))}</h1><p>{escape(describe_plan(plan))}</p></header>"
    return _document(plan, f"Not served, {_title(plan)}", ["<main>", head, _warning_table(plan), "</main>"])


def _document(plan: Plan, title: str, parts: list[str]) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="{plan.instance.language}">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            GENERATOR_MARK,
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}</style></head>",
            "<body>",
            *filter(None, parts),
            "</body></html>",
            "",
        ]
    )


def _title(plan: Plan) -> str:
    return plan.instance.name or "Plan"


def _warning_table(plan: Plan) -> str:
    """List all customers that are not served, with the reasons, and all faults; empty for a plan without either."""
    parts = [f"<p>{escape(fault)}</p>" for fault in plan.faults]
    if plan.unserved:
        rows = [
            _make_rows(
                list_unserved_columns(plan), list_unserved_cells(plan, left_out), describe_further(plan, left_out.stop)
            )
            for left_out in plan.unserved
        ]
        heading = f"<h2>{escape(count_unserved(len(plan.unserved)))}</h2>"
        parts = [heading, _make_table(list_unserved_columns(plan), rows), *parts]
    return _warn(parts)


def _warning_lines(plan: Plan) -> str:
    return _warn([f"<p>{_soften(escape(line))}</p>" for line in list_warnings(plan, _MOST_ON_SHEET)])


def _warn(parts: Sequence[str]) -> str:
    return "\n".join(['<section class="warning">', *parts, "</section>"]) if parts else ""


def _overview_table(plan: Plan) -> str:
    rows = [
        f'<tr><th scope="row"><a href="#route-{route.number}">{escape(name_route(plan, route))}</a></th>'
        f'<td class="number">{len(route.stops)}</td><td class="number">{escape(describe_load(plan, route))}</td>'
        f'<td class="number">{escape(show_length(route.length, plan.instance.unit))}</td></tr>'
        for route in plan.routes
    ]
    head = "".join(
        f'<th scope="col"{cls}>{escape(say(plan, text))}</th>'
        for text, cls in (
            ("Route", ""),
            ("Stops", ' class="number"'),
            ("Load", ' class="number"'),
            ("Distance", ' class="number"'),
        )
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _sheet(plan: Plan, route: PlannedRoute) -> str:
    return "\n".join(
        [
            f'<section class="sheet" id="route-{route.number}">',
            f"<header><h2>{escape(name_route(plan, route))}</h2><p>{escape(_title(plan))}</p>",
            f"<p>{escape(describe_route(plan, route))}</p></header>",
            _draw(sketch_plan(plan, (route.number,), width=480.0), f"Map of {name_route(plan, route)}"),
            _stop_table(plan, route),
            _links(plan, route),
            "</section>",
        ]
    )


def _stop_table(plan: Plan, route: PlannedRoute) -> str:
    columns = list_sheet_columns(plan)
    done = '<td class="done"><span></span></td>'
    rows = [
        _make_rows(columns, cells, "" if stop is None else describe_further(plan, stop), (done, "<td></td>"))
        for cells, stop in list_sheet_rows(plan, route)
    ]
    return _make_table(columns, rows, f'<th scope="col">{escape(say(plan, "Done"))}</th>')


def _make_table(columns: Sequence[SheetColumn], rows: Sequence[str], first_head: str = "") -> str:
    heads = [f'<th scope="col"{_class_of(column)}>{escape(column.heading)}</th>' for column in columns]
    return f"<table><thead><tr>{first_head}{''.join(heads)}</tr></thead>\n" + "\n".join(rows) + "\n</table>"


def _make_rows(
    columns: Sequence[SheetColumn], cells: Sequence[str], further: str, first_cells: tuple[str, str] = ("", "")
) -> str:
    """Make the row of a place, and below it one of further details, if any."""
    pairs = zip(cells, columns, strict=True)
    texts = "".join(f"<td{_class_of(column)}>{_soften(escape(text))}</td>" for text, column in pairs)
    row = f"<tr>{first_cells[0]}{texts}</tr>"
    if further:
        below = f'<td colspan="{len(columns)}">{_soften(escape(further))}</td>'
        row += f'\n<tr class="further">{first_cells[1]}{below}</tr>'
    return f"<tbody>{row}</tbody>"


def _class_of(column: SheetColumn) -> str:
    return ' class="number"' if column.is_number else ""


def _soften(text: str) -> str:
    """Allow breaks in very long words, so that they do not widen the page."""
    return _LONG_WORD.sub("\\g<0><wbr>", text)


def _links(plan: Plan, route: PlannedRoute) -> str:
    if not plan.has_degrees:
        return ""
    lines = []
    for service in SERVICES:
        parts = list_links(plan, route, service)
        anchors = [
            f'<a href="{escape(address)}" rel="noopener noreferrer">'
            f"{'whole route' if len(parts) == 1 else f'{_end(first)} to {_end(last, route)}'}</a>"
            for first, last, address in parts
        ]
        lines.append(f'<p class="links">{escape(service.name)}: {", ".join(anchors)}</p>')
    codes = [_draw_qr(address) for _, _, address in list_links(plan, route, SERVICES[0])]
    return "\n".join([*lines, f'<p class="codes">{"".join(codes)}</p>'])


def _draw_qr(address: str) -> str:
    """Draw a QR code of a link as SVG, for the driver's telephone."""
    import segno

    svg: str = segno.make(address, error="l").svg_inline(scale=2, border=2, omitsize=False)
    return svg.replace("<svg ", '<svg class="code" role="img" aria-label="QR code of the map" ', 1)


def _end(stop: int, route: PlannedRoute | None = None) -> str:
    is_depot = stop == 0 or (route is not None and route.end is not None and stop == route.end.number)
    return "depot" if is_depot else f"stop {stop}"


def _draw(sketch: PlanSketch | None, label: str) -> str:
    """Draw the map as SVG; empty if there is none."""
    if sketch is None:
        return ""
    shapes = [f'<circle cx="{x}" cy="{y}" r="2" fill="#c9ccd1"/>' for x, y in sketch.others]
    shapes += [
        f'<circle cx="{x}" cy="{y}" r="5" fill="none" stroke="{RED}" stroke-width="2"/>' for x, y in sketch.unserved
    ]
    for route in sketch.routes:
        points = " ".join(f"{x},{y}" for x, y in route.line)
        shapes.append(f'<polyline points="{points}" fill="none" stroke="{route.colour}" stroke-width="2"/>')
        shapes += [
            f'<path d="M{x + 4 * dx:.1f} {y + 4 * dy:.1f}L{x - 4 * dx - 3 * dy:.1f} {y - 4 * dy + 3 * dx:.1f}'
            f'L{x - 4 * dx + 3 * dy:.1f} {y - 4 * dy - 3 * dx:.1f}Z" fill="{route.colour}"/>'
            for x, y, dx, dy in route.arrows
        ]
        for (x, y), text in route.labels:
            shapes.append(f'<circle cx="{x}" cy="{y}" r="7" fill="#fff" stroke="{route.colour}" stroke-width="1.5"/>')
            shapes.append(f'<text x="{x}" y="{y + 3}" font-size="8.5" text-anchor="middle">{escape(text)}</text>')
    x, y = sketch.depot
    shapes.append(f'<rect x="{x - 6}" y="{y - 6}" width="12" height="12" rx="2" fill="#1c1f24" stroke="#fff"/>')
    if sketch.scale is not None:
        base = sketch.height - 8
        shapes.append(
            f'<path d="M8 {base - 4}v4h{sketch.scale.width:.1f}v-4" fill="none" stroke="#1c1f24" stroke-width="1.2"/>'
            f'<text x="{14 + sketch.scale.width:.1f}" y="{base}" font-size="9">{escape(sketch.scale.text)}</text>'
        )
    size = (
        f'width="{sketch.width:.0f}" height="{sketch.height:.0f}" viewBox="0 0 {sketch.width:.0f} {sketch.height:.0f}"'
    )
    return f'<svg {size} role="img" aria-label="{escape(label)}" font-family="sans-serif">{"".join(shapes)}</svg>'
