"""What a file asks for that is not planned, in four languages; and what only describes a stop or a vehicle."""

from __future__ import annotations

import pytest

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.formats.unsupported import Request, find_request, is_unsupported, refuse_requests

# headings and a value of theirs, by what they look like
OF_STOPS = {
    "a time window": "window 2: 08:00-10:00; window2: 08:00-10:00; Zeitfenster 2 von: 08:00; 2. "
    "Zeitfenster: 8-10 Uhr; Öffnungszeit nachmittags: 14:00-18:00; opening hours Monday: 08:00-12:00; "
    "Heure début 2: 14h00; Ventana 2 inicio: 14:00; tw2_start: 14:00; ready_time_2: 100; Fenêtre après- "
    "midi: 14:00-18:00; bis: 12:00; Lieferung: 8-12 Uhr; Termin: 8:30; Uhrzeit: 08:00; Deadline 2: 12:00; "
    "hora: 9:00; livrer avant: 10:00; antes de: 10:00",
    "a pickup": "type: pickup; Art: Abholung; Auftragsart: Abholung; genre: collecte; tipo: recogida; "
    "stop type: Pickup; Vorgang: Abholen; Type d'opération: enlèvement; Abholmenge: 3; pickup_qty: 2; "
    "Pickup lat: 53; Leergut: 4; Rückholung: ja; ramassage: 3; recogidas: 2; returns: 4; backhaul: 1; "
    "collection: yes; Retouren: 2; type: P; P/D: P",
    "a break": "Pause: 30 min; break: 12:00; Mittagspause: ja; pausa: 30; lunch: 12:30; type: break; Art: Pause",
    "a priority": "Prio: 1; Prio.: hoch; Priorität: A; PRIORITÄT (1-3): 2; Prioritaet: 1; priority: high; "
    "priorité: 1; prioridad: alta; Kundenpriorität: 1; Dringlichkeit: hoch; urgent: yes; eilig: ja; "
    "urgencia: 2; wichtig: ja; VIP: x; Rang: 1; rank: 2",
    "a group of stops": "group: a; Gruppe: 1; groupe: 2; grupo: x; group_id: 2; Gruppe-Nr.: 3; GROUP: b; cluster: 4",
    "a skill or licence": "skills: crane; required_skills: adr; Qualifikation: Kran; Führerschein: CE; "
    "permis: C; compétences: x; habilidades: y; driving licence: C1",
    "a requirement of equipment": "Hebebühne: ja; Hayon: oui; Kühlung: ja; ADR: yes; tail lift: x; Temperatur: "
    "-18; froid: oui; frío: sí; cold chain: yes",
    "a vehicle or driver of its own": "vehicle: van; Fahrzeug: Sprinter; required vehicle: 2; "
    "Fahrzeugtyp: LKW; véhicule: 1; vehículo: 1; Fahrer: Meyer; Max. Fahrzeuglänge: 7,5 m; driver: Kim; "
    "chauffeur: Luc; conductor: Ana; service van: 10; Servicezeit LKW: 20 min",
    "a permitted or forbidden combination": "allowed vehicles: 1,2; forbidden_vehicles: truck; erlaubte "
    "Fahrzeuge: 1; véhicules interdits: 2; Zufahrtsbeschränkung: 3,5 t; Zufahrt bis: 7,5 t",
    "a further time at a stop": "Standzeit 2: 5; Rüstzeit: 5; setup time: 3",
    "a release time": "release: 08:00; Freigabe: 09:00; verfügbar ab: 10:00; disponible à partir de: "
    "10:00; disponible desde: 10:00",
    "an order of stops": "Vorgänger: A; precedence: B; prédécesseur: C; predecesor: D",
    "a prize or penalty": "prize: 10; penalty: 5; Strafe: 10; pénalité: 3; penalización: 2",
    "an optional stop": "optional: yes; optionnel: oui; opcional: si; freiwillig: ja",
    "a split delivery": "split: yes; Teillieferung: ja; livraison partielle: oui; entrega parcial: sí",
    "a frequency of visits": "frequency: 2; Besuchsrhythmus: 14-tägig; fréquence: 3; frecuencia: 2",
    "a speed of its own": "speed: 30; Geschwindigkeit: 20",
    "a compartment": "compartment: frozen; Kammer: 2",
    "a time when it is closed": "closed: 12:00-13:00; Ruhetag: Montag; Sperrzeiten: 12-13 Uhr",
    "a limit of its own": "max_ride_time: 20; Mindestbesetzung: 2; min demand: 3",
}
OF_VEHICLES = {
    "a break": "Pause: 30 min; break: yes; lunch: 12:00; Mittagspause: 45; descanso: 30; déjeuner: 12h; "
    "Pause von: 12:00",
    "a limit on working time": "Max. Arbeitszeit: 8; max working time: 8h; Tagesarbeitszeit: 10 Std; Max. "
    "Lenkzeit: 9 h; max driving time: 9h; temps de travail max: 8h; jornada máxima: 8 h; overtime: 2h; "
    "Überstunden: 1; Tourdauer: 8h",
    "a speed of its own": "speed: 30; Geschwindigkeit: 50 km/h; vitesse: 40; velocidad: 40; km/h: 40; Max. speed: 80",
    "a cost of vehicles": "cost: 10; cost_per_km: 1.2; Kosten pro km: 1,20; Fixkosten: 50; coût: 4; costo "
    "fijo: 9; €/km: 1,1; EUR pro Stunde: 20; Stundensatz: 30; price: 4; Maut: 3; tarifa: 2; Lohn: 15",
    "a start or end away from the depot": "depot: Nord; home: Altona; start_lat: 53.5; Startort: Kiel; "
    "Standort: Kiel; dépôt: Lyon; lugar de salida: x; lat: 53.5",
    "a skill or licence": "Führerschein: C; licence: B; skills: crane; permis: C; carné: C",
    "a number of trips": "trips: 3; max trips: 2; reload: yes; reloads: 1; Touren pro Tag: 2; rotations: 2; viajes: 3",
    "a second capacity": "Paletten: 6; Volumen (m3): 12; volume: 9; pallets: 4; Kapazität Paletten: 8; "
    "capacity 2: 4; weight: 1000; Stellplätze: 8; Charge utile palettes: 8; kg: 800",
    "a limit on the number of stops": "max. customers: 20; Max. Kunden: 15; Stopps pro Tour: 12; nb max "
    "de clients: 10; max clientes: 10; max drops: 15; Aufträge max: 9",
    "a limit on the distance": "daily km: 200; Tageskilometer: 300; km-Limit: 300; km max: 200; kilometraje: 200",
    "a limit on energy": "battery: 80 kWh; Akku: 60; Verbrauch: 12; batería: 60",
    "an area of vehicles": "Gebiet: Nord; zone: A; secteur: 2; zona: B",
    "a vehicle that is not used": "aktiv: nein; active: no; verfügbar: nein; defekt: ja; out of service: yes",
    "a working day": "Wochentage: Mo-Fr; weekdays: Mon",
    "a working time": "Schicht 2: 13:00-18:00; shift2_start: 13:00; available from: 08:00; latest return: 15:00; "
    "Rückkehr bis: 15:00; Feierabend: 15:00; heure de retour: 15h; hora de regreso: 15:00; latest departure: 9:00",
    "a minimum": "min stops: 3; Mindestauslastung: 50; stops min: 3; Min. Stopps: 3",
}
DIFFERENT = {
    "one of several days": (
        "delivery date",
        "Liefertag",
        "Liefertermin",
        "Jour de livraison",
        "fecha de entrega",
        "day",
        "Datum",
        "jour",
        "día",
    ),
    "one of several depots": ("warehouse", "Lager", "Depot-Nr", "entrepôt", "almacén"),
}
DESCRIBING_STOPS = (
    "Notes: ring twice at 08:30; Notiz: Abholung am Tor; Telefon: 040 123; phone: 0171; Bemerkung: Hund! "
    "8-10 Uhr; PLZ: 20457; Reihenfolge: 3; sequence: 2; Email: a@b.c; customer group: B2B; Kundengruppe: "
    "A; Warengruppe: Obst; groupe de clients: A; grupo de clientes: x; Name: Pickup Point; address: 1 "
    "Break St; Straße: Pausenweg 3; Ort: Kiel; type: customer; type: depot; Typ: Kunde; Art: Filiale; "
    "type: retail; Kontakt: Frau Meyer; price: 12; Umsatz: 300; ordered: 2024-05-03 08:12; created at: "
    "2024-05-03 08:12; Bestelldatum: 2024-05-03; Rechnungsnummer: R12; Tour: 3; route: 4; Region: Nord; "
    "district: 3; Artikel: Äpfel; product: milk; Farbe: rot; Status: open; Länge: 2; Höhe: 3; Firma: "
    "Abholmarkt; floor: 2; Notes driver: ring; Fahrerhinweis: Tor 3; Lieferhinweis: links; Lieferschein: "
    "L12; delivery address: Weg 3; Adresse de livraison: rue 3; dirección de entrega: calle 3; "
    "Instructions: leave at 08:00; detail Prio: 1; comments: priority customer; Lagerplatz: A3; "
    "Zahlungsart: bar; Lieferart: Standard; Unterschriftspflicht: ja; Kreditlimit: 500; order: A17; ETA: 09:30; last "
    "visit: 2024-01-01 08:00; Gewicht je Stück: 3; Prio: -; Prio: n/a; priority: normal; Pause: nein; "
    "optional: no; Abholmenge: 0; pickup: 0,0; group: keine"
)
DESCRIBING_VEHICLES = (
    "colour: red; Farbe: rot; Kennzeichen: HH 1; licence plate: HH 1; Fahrer: Kim; driver: Kim; Baujahr: "
    "2019; Hersteller: VW; model: Sprinter; fuel: diesel; Kilometerstand: 12000; Leergewicht: 1900; "
    "Telefon Fahrer: 040; Notiz: Pause um 12; TÜV: 2025-03; Höhe: 2,5; depot: Depot; aktiv: ja; trips: 1; "
    "cost: 0; Pause: -; Pause: keine; Bemerkung: max 3 Stopps; speed: -"
)


def split(text: str) -> list[tuple[str, str]]:
    return [(heading, value) for part in text.split("; ") for heading, value in [part.strip().split(": ", 1)]]


def list_cases(table: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(*pair, what) for what, text in table.items() for pair in split(text)]


@pytest.mark.parametrize(("heading", "value", "what"), list_cases(OF_STOPS))
def test_a_column_of_stops_that_asks_for_something_is_recognised(heading: str, value: str, what: str) -> None:
    found = find_request(heading, ["", value, ""], "stops")

    assert found is not None
    assert (found.heading, found.what) == (heading, what)


@pytest.mark.parametrize(("heading", "value", "what"), list_cases(OF_VEHICLES))
def test_a_column_of_vehicles_that_asks_for_something_is_recognised(heading: str, value: str, what: str) -> None:
    found = find_request(heading, [value, ""], "vehicles")

    assert found is not None
    assert (found.heading, found.what) == (heading, what)


@pytest.mark.parametrize(("what", "heading"), [(what, heading) for what, each in DIFFERENT.items() for heading in each])
def test_a_day_or_a_depot_counts_only_where_customers_differ(what: str, heading: str) -> None:
    found = find_request(heading, ["", "A", "B"], "stops")

    assert found is not None
    assert found.what == what
    assert find_request(heading, ["", "A", "A"], "stops") is None


@pytest.mark.parametrize(("heading", "value"), split(DESCRIBING_STOPS))
def test_a_description_of_stops_is_none(heading: str, value: str) -> None:
    assert find_request(heading, ["", value, value], "stops") is None


@pytest.mark.parametrize(("heading", "value"), split(DESCRIBING_VEHICLES))
def test_a_description_of_vehicles_is_none(heading: str, value: str) -> None:
    assert find_request(heading, [value], "vehicles") is None


def test_an_empty_column_asks_for_nothing() -> None:
    assert find_request("Prio", ["", "", ""], "stops") is None


def test_all_requests_of_a_file_are_told_in_one_error() -> None:
    requests = [Request("Prio", "a priority"), Request("Max", "a limit", "Call it max."), Request("Pause", "a break")]
    with pytest.raises(UnsupportedError) as caught:
        refuse_requests(requests, Where(field="Prio"))

    assert "'Prio' looks like a priority, 'Pause' looks like a break, which are not supported." in str(caught.value)
    assert caught.value.remedy == 'Call it max. ignore=["Prio", "Max", "Pause"] plans without them.'
    assert caught.value.names == ("Prio", "Max", "Pause")


def test_thousands_of_requests_make_no_endless_message() -> None:
    with pytest.raises(UnsupportedError, match="992 more") as caught:
        refuse_requests([Request(f"Prio {number}", "a priority") for number in range(1000)], Where())

    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize(
    "field",
    [
        "DISTANCE",
        "SERVICE_TIME",
        "VEHICLES",
        "NUM_VEHICLES",
        "TRUCKS",
        "vehicleCount",
        "time_windows",
        "timeWindow",
        "max-duration",
        "BACKHAUL",
        "pickup",
        "STANDTIME",
        "depots",
        "metric",
    ],
)
def test_a_limit_is_unsupported(field: str) -> None:
    assert is_unsupported(field)


@pytest.mark.parametrize("field", ["AUTHOR", "BEST_KNOWN", "BEST_DISTANCE", "optimal_routes", "timestamp", "colour"])
def test_a_description_does_not(field: str) -> None:
    assert not is_unsupported(field)
