"""Plans as HTML: a printable sheet for each driver, alone or all in one file."""

from __future__ import annotations

import re
from html import escape

from dynaroute.display import show_length
from dynaroute.plans.links import SERVICES, list_links
from dynaroute.plans.plan import Plan, PlannedRoute
from dynaroute.plans.sheet import describe_further, list_sheet_cells, list_sheet_columns
from dynaroute.plans.sketch import Sketch, sketch_plan
from dynaroute.plans.words import describe_load, describe_plan, describe_route

__all__ = ["GENERATOR_MARK", "format_html_plan", "format_html_sheet"]

GENERATOR_MARK = '<meta name="generator" content="Dynaroute">'  # identifies our own pages

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
.links { font-size: .85rem; }
a { color: #1d4f91; }
.sheet { margin-top: 2.5rem; break-before: page; }
body > .sheet:first-child { margin-top: 0; break-before: auto; }
tr, tbody, svg { break-inside: avoid; }
thead { display: table-header-group; }
@media print { body { max-width: none; padding: 0; } @page { margin: 14mm; } .links { display: none; } }
"""


def format_html_plan(plan: Plan) -> str:
    """Write the whole plan as one file: an overview, and a page for each driver."""
    overview = [
        "<main>",
        f"<header><h1>{escape(_title(plan))}</h1><p>{escape(describe_plan(plan))}</p></header>",
        _draw(sketch_plan(plan, width=640.0), "Map of all routes"),
        _overview_table(plan),
        "</main>",
    ]
    return _document(_title(plan), [*overview, *(_sheet(plan, route) for route in plan.routes)])


def format_html_sheet(plan: Plan, route: PlannedRoute) -> str:
    """Write the sheet of one driver."""
    return _document(f"{route.called}, {_title(plan)}", [_sheet(plan, route)])


def _document(title: str, parts: list[str]) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
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


def _overview_table(plan: Plan) -> str:
    rows = [
        f'<tr><th scope="row"><a href="#route-{route.number}">{escape(route.called)}</a></th>'
        f'<td class="number">{len(route.stops)}</td><td class="number">{escape(describe_load(route))}</td>'
        f'<td class="number">{escape(show_length(route.length, plan.instance.unit))}</td></tr>'
        for route in plan.routes
    ]
    head = "".join(
        f'<th scope="col"{cls}>{text}</th>'
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
            f"<header><h2>{escape(route.called)}</h2><p>{escape(_title(plan))}</p>",
            f"<p>{escape(describe_route(plan, route))}</p></header>",
            _draw(sketch_plan(plan, (route.number,), width=480.0), f"Map of {route.called}"),
            _stop_table(plan, route),
            _links(plan, route),
            "</section>",
        ]
    )


def _stop_table(plan: Plan, route: PlannedRoute) -> str:
    columns = list_sheet_columns(plan)
    classes = [' class="number"' if column.is_number else "" for column in columns]
    heads = [
        f'<th scope="col"{name}>{escape(column.heading)}</th>' for column, name in zip(columns, classes, strict=True)
    ]
    stops = []
    for stop in route.places:
        cells = zip(list_sheet_cells(plan, stop), classes, strict=True)
        texts = "".join(f"<td{name}>{_soften(escape(text))}</td>" for text, name in cells)
        row = f'<tr><td class="done"><span></span></td>{texts}</tr>'
        if further := describe_further(plan, stop):
            row += f'\n<tr class="further"><td></td><td colspan="{len(columns)}">{_soften(escape(further))}</td></tr>'
        stops.append(f"<tbody>{row}</tbody>")
    head = f'<th scope="col">Done</th>{"".join(heads)}'
    return f"<table><thead><tr>{head}</tr></thead>\n" + "\n".join(stops) + "\n</table>"


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
    return "\n".join(lines)


def _end(stop: int, route: PlannedRoute | None = None) -> str:
    is_depot = stop == 0 or (route is not None and route.end is not None and stop == route.end.number)
    return "depot" if is_depot else f"stop {stop}"


def _draw(sketch: Sketch | None, label: str) -> str:
    """Draw the map as SVG; empty if there is none."""
    if sketch is None:
        return ""
    shapes = [f'<circle cx="{x}" cy="{y}" r="2" fill="#c9ccd1"/>' for x, y in sketch.others]
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
