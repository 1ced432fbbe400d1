"""Plans as KML 2.2: a folder of the customers that are not served, and one per route, with its line and stops."""

from __future__ import annotations

from html import escape
from xml.etree.ElementTree import Element, SubElement

from dynaroute.plans.files.words import describe_route, describe_stop, describe_unserved, list_warnings
from dynaroute.plans.files.xml_text import add_text, write_xml, xml_text
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop, require_degrees
from dynaroute.plotting.style import RED, colour_routes
from dynaroute.problem.unserved import count_unserved

_NAMESPACE = "http://www.opengis.net/kml/2.2"
_UNSERVED = "not-served"  # the style of customers on no route


def format_kml(plan: Plan) -> str:
    """Write a plan as KML.

    Raises
    ------
    UnsupportedError
        If its places are not in degrees.
    """
    require_degrees(plan.instance, ".kml")
    root = Element("kml", {"xmlns": _NAMESPACE})
    document = SubElement(root, "Document")
    add_text(document, "name", plan.instance.name or "Plan")
    if warnings := list_warnings(plan):
        add_text(document, "description", "<br>".join(map(escape, warnings)))  # viewers show descriptions as HTML
    if plan.unserved:
        icon = SubElement(SubElement(document, "Style", {"id": _UNSERVED}), "IconStyle")
        add_text(icon, "color", _kml_colour(RED))
    for number, colour in enumerate(colour_routes(plan.instance, plan.solution), start=1):
        line = SubElement(SubElement(document, "Style", {"id": f"route-{number}"}), "LineStyle")
        add_text(line, "color", _kml_colour(colour))
        add_text(line, "width", "3")
    if plan.unserved:
        _add_unserved(document, plan)
    if plan.routes:
        _add_stop(document, plan, plan.routes[0].start)
    for route in plan.routes:
        _add_route(document, plan, route)
    return write_xml(root)


def _add_unserved(document: Element, plan: Plan) -> None:
    folder = SubElement(document, "Folder")
    add_text(folder, "name", "Not served")
    add_text(folder, "open", "1")
    add_text(folder, "description", escape(count_unserved(len(plan.unserved))))
    for left_out in plan.unserved:
        _add_mark(folder, plan, left_out.stop, left_out.stop.label, describe_unserved(plan, left_out), _UNSERVED)


def _add_route(document: Element, plan: Plan, route: PlannedRoute) -> None:
    folder = SubElement(document, "Folder")
    add_text(folder, "name", route.called)
    add_text(folder, "description", escape(describe_route(plan, route)))
    mark = SubElement(folder, "Placemark")
    add_text(mark, "name", route.called)
    add_text(mark, "styleUrl", f"#route-{route.number}")
    line = SubElement(mark, "LineString")
    add_text(line, "tessellate", "1")
    add_text(line, "coordinates", " ".join(map(_write_place, plan.follow(route))))
    for stop in route.stops:
        _add_stop(folder, plan, stop)


def _add_stop(parent: Element, plan: Plan, stop: PlannedStop) -> None:
    name = stop.label if stop.customer == 0 else f"{stop.number}. {stop.label}"
    _add_mark(parent, plan, stop, name, describe_stop(plan, stop))


def _add_mark(parent: Element, plan: Plan, stop: PlannedStop, name: str, description: str, style: str = "") -> None:
    mark = SubElement(parent, "Placemark")
    add_text(mark, "name", name)
    if description:
        # viewers show descriptions as HTML, so they are escaped as HTML, and then as XML
        add_text(mark, "description", escape(description))
    if style:
        add_text(mark, "styleUrl", f"#{style}")
    if stop.details:
        data = SubElement(mark, "ExtendedData")
        for column, text in stop.details.items():
            add_text(SubElement(data, "Data", {"name": xml_text(column)}), "value", text)
    add_text(SubElement(mark, "Point"), "coordinates", _write_place(plan.place(stop)))


def _write_place(place: tuple[float, float]) -> str:
    latitude, longitude = place
    return f"{longitude:.7f},{latitude:.7f}"


def _kml_colour(colour: str) -> str:
    """Convert #rrggbb to aabbggrr."""
    return f"ff{colour[5:7]}{colour[3:5]}{colour[1:3]}"
