"""Units of amounts: their names, and how to convert between them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit of weight, volume or length, or a unit for counting things.

    Attributes
    ----------
    name
        Its name in messages.
    family
        Units of the same family can be converted into each other.
    size
        Its size in the family's smallest unit.
    """

    name: str
    family: str
    size: Decimal


_NAMES = {
    ("g", "weight", 1): "g gr gramm gram grams grammes gramos",
    ("kg", "weight", 1_000): "kg kgs kilo kilos kilogramm kilogram kilograms kilogramme kilogrammes kilogramos",
    ("t", "weight", 1_000_000): "t to tonne tonnen tonnes tonelada toneladas",
    ("lb", "pounds", 1): "lb lbs pound pounds",
    ("l", "volume", 1): "l liter litre liters litres litro litros",
    ("hl", "volume", 100): "hl hektoliter",
    ("m³", "volume", 1_000): "m3 m³ cbm kubikmeter",
    ("m", "length", 1): "m meter metre metres meters metros",
    ("km", "length", 1_000): "km kilometer kilometre kilometers kilometres kilómetro kilómetros",
    ("mi", "miles", 1): "mi mile miles meile meilen",
    ("pieces", "pieces", 1): "stk stck st stück stücke pcs pc piece pieces pièce pièces pza pzas pz ud uds unidad "
    "unidades unit units unité unités einheit einheiten ve u ea each",
    ("pallets", "pallets", 1): "pal plt pallet pallets palette paletten palettes palé palés palet palets ep epal",
    ("boxes", "boxes", 1): "box boxes karton kartons ktn kiste kisten carton cartons ctn caja cajas colis kolli colli "
    "parcel parcels paket pakete package packages bulto bultos paquete paquetes crate crates sack säcke sac sacs",
}
_UNITS = {
    name: Unit(called, family, Decimal(size))
    for (called, family, size), names in _NAMES.items()
    for name in names.split()
}
_IN_BRACKETS = re.compile(r"[(\[]\s*(?:in\s+)?([^)\]]+?)\s*[)\]]")
_AT_THE_END = re.compile(r"(?:\bin\s+|\s|/|_)(\S+)$")


def find_unit(text: str) -> Unit | None:
    """Find a unit by its name in any of four languages, with or without a full stop."""
    return _UNITS.get(text.strip().rstrip(".").casefold())


def unit_of_heading(heading: str) -> Unit | None:
    """The unit in a heading such as "Menge (kg)", "weight [t]" or "Gewicht in kg"."""
    for pattern in (_IN_BRACKETS, _AT_THE_END):
        if (found := pattern.search(heading.strip())) and (unit := find_unit(found[1])):
            return unit
    return None
