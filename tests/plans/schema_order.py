"""The parts of the published schemas of GPX 1.1 and KML 2.2 that plans use: which elements, in which order, how often.

Both schemas are sequences, so that order matters. Written down from https://www.topografix.com/GPX/1/1/gpx.xsd and from
OGC 07-147r2 (ogckml22.xsd).
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

__all__ = ["GPX", "KML", "find_faults"]

Schema = dict[str, tuple[str, frozenset[str]]]

_FEATURE = "name? visibility? open? address? phoneNumber? Snippet? description? styleUrl? Style* Region? ExtendedData?"


def _rule(children: str, attributes: str = "") -> tuple[str, frozenset[str]]:
    return children, frozenset(attributes.split())


GPX: Schema = {
    "gpx": _rule("metadata? wpt* rte* trk* extensions?", "version creator"),
    "metadata": _rule("name? desc? author? copyright? link* time? keywords? bounds? extensions?"),
    "rte": _rule("name? cmt? desc? src? link* number? type? extensions? rtept*"),
    "rtept": _rule(
        "ele? time? magvar? geoidheight? name? cmt? desc? src? link* sym? type? fix? sat? hdop? vdop? pdop?"
        " ageofdgpsdata? dgpsid? extensions?",
        "lat lon",
    ),
    "link": _rule("text? type?", "href"),
}
KML: Schema = {
    "kml": _rule("Document"),
    "Document": _rule(f"{_FEATURE} (Placemark|Folder)*"),
    "Folder": _rule(f"{_FEATURE} (Placemark|Folder)*"),
    "Placemark": _rule(f"{_FEATURE} (Point|LineString)?"),
    "Style": _rule("IconStyle? LabelStyle? LineStyle? PolyStyle?", "id"),
    "LineStyle": _rule("color? colorMode? width?"),
    "LineString": _rule("extrude? tessellate? altitudeMode? coordinates?"),
    "Point": _rule("extrude? altitudeMode? coordinates?"),
    "ExtendedData": _rule("Data*"),
    "Data": _rule("displayName? value", "name"),
}


def find_faults(text: str, namespace: str, schema: Schema) -> list[str]:
    """What the schema would not allow; elements without a rule hold text alone."""
    return list(_find(fromstring(text), f"{{{namespace}}}", schema))


def _find(element: Element, prefix: str, schema: Schema) -> list[str]:
    if not element.tag.startswith(prefix):
        return [f"{element.tag} is of another namespace"]
    name = element.tag.removeprefix(prefix)
    children, attributes = schema.get(name, ("", frozenset()))
    found = "".join(f"{child.tag.removeprefix(prefix)} " for child in element)
    faults = [] if _matches(children, found) else [f"{name} holds {found!r}"]
    if set(element.attrib) != attributes:
        faults.append(f"{name} has the attributes {sorted(element.attrib)}")
    for child in element:
        faults += _find(child, prefix, schema)
    return faults


def _matches(children: str, found: str) -> bool:
    pattern = "".join(re.sub(r"\w+", r"(?:\g<0> )", part) for part in children.split())
    return re.fullmatch(pattern, found) is not None
