"""Drivers' sheets in the language of the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from example_plans import globe_plan

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.base.vocabulary import Language
from dynaroute.formats import parse_csv
from dynaroute.plans import Plan, read_plan, write_plan
from dynaroute.plans.files.html import format_html_sheet

WORDS: dict[Language, tuple[str, ...]] = {
    "en": ("Route 1", "Stop", "Arrival", "On board", "Done", "4 stops", 'lang="en"'),
    "de": ("Tour 1", "Stopp", "Ankunft", "An Bord", "Erledigt", "4 Stopps", "Ladung 14 von 20", 'lang="de"'),
    "fr": ("Tournée 1", "Arrêt", "Arrivée", "À bord", "Fait", "4 arrêts", "charge 14 sur 20", 'lang="fr"'),
    "es": ("Ruta 1", "Parada", "Llegada", "A bordo", "Hecho", "4 paradas", "carga 14 de 20", 'lang="es"'),
}


@pytest.mark.parametrize("language", WORDS)
def test_sheets_speak_the_language_of_the_file(language: Language, tmp_path: Path) -> None:
    plan = globe_plan()
    plan = Plan(replace(plan.instance, language=language, speed=10.0), plan.solution)
    write_plan(plan, tmp_path / "plan.json")
    write_plan(plan, tmp_path / "plan.pdf")
    page = format_html_sheet(read_plan(tmp_path / "plan.json"), plan.routes[0])

    assert [word for word in WORDS[language] if word not in page] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("id;lat;lon;demand", "en"),
        ("Kunde;Breitengrad;Längengrad;Menge", "de"),
        ("N°;Latitude;Longitude;Quantité", "fr"),
        ("Código;Latitud;Longitud;Cantidad", "es"),
    ],
)
def test_headings_tell_the_language(header: str, language: Language) -> None:
    with gather_notes():
        assert parse_csv(f"{header}\nDepot;53.5;10;0\nA;53.6;10.1;5\n", capacity=9).language == language


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(DynarouteError, match="language"):
        replace(globe_plan().instance, language="la")  # type: ignore[arg-type]
