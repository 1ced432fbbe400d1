"""Write XML, without characters that it does not allow."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace characters that XML does not allow even escaped, such as control characters."""
    return _FORBIDDEN.sub("\ufffd", text)


def add_text(parent: Element, tag: str, text: str) -> None:
    """Add an element that contains only text."""
    SubElement(parent, tag).text = xml_text(text)


def write_xml(root: Element) -> str:
    """Write a whole document."""
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'
