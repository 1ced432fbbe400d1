"""XML: text that it can hold, and documents as text."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

__all__ = ["add_text", "write_xml", "xml_text"]

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace the characters that no XML document may hold, not even escaped, such as control characters."""
    return _FORBIDDEN.sub("\ufffd", text)


def add_text(parent: Element, tag: str, text: str) -> None:
    """Add an element that holds text alone."""
    SubElement(parent, tag).text = xml_text(text)


def write_xml(root: Element) -> str:
    """A whole document."""
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'
