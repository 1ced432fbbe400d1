"""What headings mean."""

from __future__ import annotations

import pytest

from dynaroute.formats.tables.words import STOPS, VEHICLES, is_depot, is_total, read_truth

HEADINGS = {
    "id": ("ID", "Kd-Nr.", "Kundennummer", "Customer No.", "N° client", "Código cliente", "#", "stop_id", "StopId"),
    "lat": ("Latitude", "LAT", "Breitengrad", "GPS-Breitengrad", "geogr. Breite", "Latitud (°)", "lat_wgs84"),
    "lon": ("lng", "Längengrad", "Laengengrad", "Longitud", "geographische Länge", "stop longitude"),
    "x": ("X", "x-coord", "XCOORD.", "X-Koordinate", "Rechtswert", "easting"),
    "y": ("Y [m]", "y coord", "Hochwert", "Northing", "Coordonnée Y"),
    "position": ("Koordinaten", "lat/lon", "LatLng", "GPS", "Coordonnées GPS"),
    "demand": (
        "Demand",
        "Menge (kg)",
        "Liefermenge in kg",
        "Gewicht",
        "Quantité",
        "Qté",
        "Cantidad",
        "Total weight kg",
    ),
    "service": ("service_time", "Standzeit (min)", "Entladezeit", "Durée de service", "Tiempo de servicio"),
    "window": ("time_window", "timeWindow", "Zeitfenster", "Öffnungszeiten", "Oeffnungszeiten", "Créneau horaire"),
    "earliest": ("ready_time", "frühestens", "Zeitfenster von", "Hora inicio", "TW start"),
    "latest": ("due_date", "spätestens", "Zeitfenster bis", "au plus tard", "cierre"),
    "capacity": ("Kapazität", "Capacité du véhicule", "Nutzlast", "max. load"),
}


@pytest.mark.parametrize(("role", "heading"), [(role, heading) for role in HEADINGS for heading in HEADINGS[role]])
def test_a_heading_is_understood(role: str, heading: str) -> None:
    meaning = STOPS.look_up(heading)
    assert meaning is not None
    assert meaning.role == role


@pytest.mark.parametrize(
    "heading", ["", "Name", "Telefon", "Straße", "PLZ", "Ort", "Bemerkung", "price", "load", "date"]
)
def test_other_headings_mean_nothing(heading: str) -> None:
    assert STOPS.look_up(heading) is None


def test_the_word_itself_is_surer_than_others() -> None:
    tiers = [meaning.tier for word in ("demand", "Menge", "Anzahl") if (meaning := STOPS.look_up(word))]
    assert tiers == [0, 1, 2]


def test_every_role_has_a_word_in_english() -> None:
    for vocabulary in (STOPS, VEHICLES):
        for role in vocabulary.roles:
            if role not in ("position", "kind", "depot"):
                meaning = vocabulary.look_up(role)
                assert meaning is not None and (meaning.role, meaning.language) == (role, "en")


@pytest.mark.parametrize("label", ["Summe:", "TOTAL", "Total (60 stops)", "Gesamt 1200 kg", "Sous-total", "Suma"])
def test_labels_of_totals(label: str) -> None:
    assert is_total(label)


@pytest.mark.parametrize("label", ["Total Tankstelle", "Summerfield", "Meyer", "", "12"])
def test_other_labels_are_no_totals(label: str) -> None:
    assert not is_total(label)


@pytest.mark.parametrize("name", ["Depot", "DÉPÔT", "Lager", "Depot Hamburg", "almacén", "Warehouse"])
def test_names_of_depots(name: str) -> None:
    assert is_depot(name)


@pytest.mark.parametrize("name", ["Depotstraße 5", "Lager Nord GmbH", "", "Deporte"])
def test_other_names_are_no_depots(name: str) -> None:
    assert not is_depot(name)


@pytest.mark.parametrize(
    ("mark", "truth"), [("x", True), ("Ja", True), ("✓", True), ("nein", False), ("", False), ("Nord", None)]
)
def test_marks_are_read(mark: str, truth: bool | None) -> None:
    assert read_truth(mark) is truth
