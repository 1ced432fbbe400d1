"""What headings mean, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dynaroute.base.vocabulary import Language
from dynaroute.formats.tables.cells.units import find_unit

_LANGUAGES: tuple[Language, ...] = ("en", "de", "fr", "es")

# Words that add nothing to a heading, as in "GPS Latitude" and "Liefermenge in kg".
_ADORNMENTS = """gps geo geogr geographische geografische geographic geographical wgs84 wgs 84 in of the der des de du
    la le les el los del stop customer customers kunde kunden client clients cliente clientes delivery lieferung
    destination coord coords coordinate coordinates koordinate koordinaten coordonnee coordonnees coordenada
    coordenadas dezimal dezimalgrad decimal decimale degree degrees deg grad dd value wert total gesamt netto brutto
    net gross kg g t lb lbs l hl m3 m km min mins minuten minutes minutos s sec sek h std stk stck pcs"""
_FILLERS = frozenset(_ADORNMENTS.split())
_GUESSABLE = ("demand", "lat", "lon")
_DIMENSIONED = ("demand", "pickup", "capacity", "initial_load")  # amounts that may be of several dimensions
_TIMED = ("service", "max_duration", "duration")  # where "min" is minutes; elsewhere it is a minimum
_MINIMUM = re.compile(r"min|mins|minim\w+|mindest\w*")
_BRACKETS = re.compile(r"[(\[{][^)\]}]*[)\]}]")
_CAMEL = re.compile(r"([a-z0-9])([A-ZÄÖÜ])")
_QUANTITIES = frozenset(
    ("quantity", "qty", "menge", "liefermenge", "bestellmenge", "quantite", "qte", "cantidad", "cant")
)
_GAPS = re.compile(r"[\s_]+")
_OTHER_SIGNS = re.compile(r"[^a-z0-9#]+")
_TRANSLITERATIONS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def simplify(text: str) -> str:
    """Reduce a heading or a label to lower-case words without accents, brackets and signs."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(r"\1 \2", text).casefold())
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return _OTHER_SIGNS.sub(" ", _BRACKETS.sub(" ", letters)).strip()


def spell(word: str) -> tuple[str, str]:
    """Return the spellings of a word with and without umlauts."""
    return word, word.translate(_TRANSLITERATIONS)


class Meaning(NamedTuple):
    """What a heading means.

    Attributes
    ----------
    role
        The kind of column, such as "demand".
    tier
        How certain that is: 0 the role's own name, 1 a clear word, 2 a word that could mean something else.
    language
        The language of the heading.
    """

    role: str
    tier: int
    language: Language


@dataclass(frozen=True)
class Vocabulary:
    """The headings of one kind of table.

    Parameters
    ----------
    words
        Three texts for each role, one per tier of `Meaning`. In each text, commas separate words and slashes separate
        the four languages.
    """

    words: Mapping[str, tuple[str, str, str]]

    @cached_property
    def _meanings(self) -> dict[str, Meaning]:
        meanings: dict[str, Meaning] = {}
        for tier in range(3):
            for role, texts in self.words.items():
                for language, words in zip(_LANGUAGES, texts[tier].split("/"), strict=False):
                    for word in filter(None, map(str.strip, words.split(","))):
                        for spelling in spell(word):
                            meanings.setdefault(simplify(spelling), Meaning(role, tier, language))
        return meanings

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles that a column can have."""
        return tuple(self.words)

    def look_up(self, heading: str) -> Meaning | None:
        """Look up a heading; None if it has no known meaning.

        The second try leaves out words that add nothing. The third accepts one known word among unknown ones, as in
        "bestellte Menge", but only for demands and positions, where a wrong guess is noticed.
        """
        simple = simplify(heading)
        remark = _BRACKETS.search(heading)
        inside = self._meanings.get(simplify(remark[0][1:-1])) if remark else None
        if inside is not None and inside.role in ("lat", "lon"):  # "X (Längengrad)"
            return inside._replace(tier=max(1, inside.tier))
        if simple in self._meanings:
            return self._meanings[simple]
        words = [word for word in simple.split() if word not in _FILLERS]
        is_minimum = any(map(_MINIMUM.fullmatch, simple.split()))
        if meaning := self._meanings.get(" ".join(words)):
            return None if is_minimum and meaning.role not in _TIMED else meaning._replace(tier=max(1, meaning.tier))
        if is_minimum:
            return None
        found = [meaning for word in words if (meaning := self._meanings.get(word)) and meaning.tier < 2]
        is_one = len({meaning.role for meaning in found}) == 1
        return found[0]._replace(tier=2) if is_one and found[0].role in _GUESSABLE else None

    def split_dimension(self, heading: str) -> tuple[Meaning, str] | None:
        """Split an amount from its dimension, as in "demand kg" or "Bedarf Paletten"; None for all other headings.

        The amount must be the role's own name, or a word for a quantity before a unit, as in "Menge kg". What stands
        in brackets is only a unit: "Demand (kg)" is no dimension.
        """
        for gap in reversed(list(_GAPS.finditer(heading))):
            meaning = self._meanings.get(simplify(heading[: gap.start()]))
            dimension = heading[gap.end() :].strip()
            if meaning is None or meaning.role not in _DIMENSIONED or not simplify(dimension):
                continue
            is_quantity = simplify(heading[: gap.start()]) in _QUANTITIES and find_unit(dimension) is not None
            if meaning.tier == 0 or is_quantity:
                return meaning, dimension
        return None


STOPS = Vocabulary(
    {
        "id": (
            "id / id / id / id",
            "no, nr, number, stop id, stop no, stop number, customer id, customer no, customer number, client id, code,"
            " key, #, ref, reference, cust no, node, node id, stopid"
            "/ nummer, kundennummer, kunden nr, kundennr, kd nr, kdnr, stopp nr, stoppnummer, kunden id, lfd nr,"
            " kennung, kürzel"
            "/ numéro, n°, no client, numéro client, code client, identifiant, réf, référence"
            "/ número, núm, n.º, código, código cliente, número cliente, identificador, referencia, clave",
            "customer, stop, client, order, order id, order no / kunde, stopp, halt, auftrag, auftragsnummer,"
            " auftrags nr, bestellnummer / arrêt, commande, no commande / cliente, parada, pedido",
        ),
        "x": (
            "x",
            "x coordinate, x coord, coord x, xcoord, x pos, position x, easting / x koordinate, rechtswert, ostwert"
            "/ coordonnée x / coordenada x",
            "east / ost",
        ),
        "y": (
            "y",
            "y coordinate, y coord, coord y, ycoord, y pos, position y, northing / y koordinate, hochwert, nordwert"
            "/ coordonnée y / coordenada y",
            "north / nord",
        ),
        "lat": (
            "lat, latitude",
            "latitude y, y lat / breitengrad, geographische breite, geogr breite, geo breite, breitengrade"
            "/ latitude / latitud",
            "/ breite",
        ),
        "lon": (
            "lon, lng, long, longitude",
            "longitude x, x lon / längengrad, geographische länge, geogr länge, geo länge, längengrade"
            "/ longitude / longitud",
            "/ länge",
        ),
        "position": (
            "",
            "coordinates, coords, lat lon, lat lng, lat long, latlng, latlon, latlong, latitude longitude, gps,"
            " gps coordinates, gps position, lon lat, lng lat, longitude latitude, geo coordinates, geolocation"
            "/ koordinaten, gps koordinaten, geokoordinaten, geo koordinaten, breite länge, länge breite,"
            " breitengrad längengrad"
            "/ coordonnées, coordonnées gps / coordenadas, coordenadas gps, latitud longitud",
            "position, location, place / standort, lage / emplacement, lieu / ubicación, posición",
        ),
        "demand": (
            "demand, demands / bedarf / demande / demanda",
            "quantity, qty, weight, volume, parcels, pallets, boxes, pieces, packages, order quantity,"
            " delivery quantity, shipment weight"
            "/ menge, liefermenge, bestellmenge, auftragsmenge, gewicht, liefergewicht, ladung, ladungsmenge,"
            " nachfrage, volumen, pakete, kisten, paletten, stück, stückzahl, sendungsgewicht, ladegewicht"
            "/ quantité, qté, poids, charge, colis, palettes, chargement"
            "/ cantidad, cant, peso, carga, volumen, bultos, cajas, palés, palets",
            "amount, units, items, size, crates / anzahl, last, einheiten, größe, posten / nombre, unités"
            "/ unidades, importe de carga",
        ),
        "service": (
            "service",
            "service time, service duration, servicetime, stop time, stop duration, unloading time, handling time,"
            " dwell time, time at stop"
            "/ servicezeit, servicedauer, standzeit, haltezeit, stoppdauer, stoppzeit, entladezeit, entladedauer,"
            " aufenthalt, aufenthaltsdauer, abladezeit, verweildauer"
            "/ temps de service, durée de service, durée service, temps service, durée d'arrêt, temps d'arrêt,"
            " temps de déchargement"
            "/ tiempo de servicio, tiempo servicio, duración del servicio, duración servicio, tiempo de descarga",
            "duration / dauer / durée / duración",
        ),
        "window": (
            "window",
            "time window, timewindow, delivery window, tw, opening hours, opening times, delivery time window"
            "/ zeitfenster, lieferfenster, lieferzeitfenster, öffnungszeit, öffnungszeiten, anlieferzeit,"
            " anlieferzeiten, annahmezeit, annahmezeiten, warenannahme"
            "/ fenêtre, fenêtre horaire, fenêtre de temps, créneau, créneau horaire, plage horaire, horaires,"
            " horaires d'ouverture"
            "/ ventana, ventana horaria, ventana de tiempo, franja horaria, horario, horario de entrega",
            "hours, slot / lieferzeit, lieferzeiten, zeiten / horaire /",
        ),
        "earliest": (
            "earliest",
            "earliest time, ready, ready time, window start, tw start, time window start, start time, open from, opens,"
            " not before, time from, window from, tw from, time window from, delivery from, from time"
            "/ frühestens, früheste ankunft, früheste zeit, zeitfenster von, fenster von, zeitfenster start, zeit von,"
            " lieferzeit von, beginn zeitfenster, ab uhrzeit, öffnet, uhrzeit von"
            "/ au plus tôt, début fenêtre, heure début, heure de début, ouverture"
            "/ hora inicio, hora de inicio, inicio ventana, ventana inicio, apertura, hora desde",
            "from, start, open / von, ab, beginn, start / de, début / desde, inicio",
        ),
        "latest": (
            "latest",
            "latest time, due, due time, due date, deadline, window end, tw end, time window end, end time, open until,"
            " closes, not after, time to, window to, tw to, time window to, delivery to, to time"
            "/ spätestens, späteste ankunft, späteste zeit, zeitfenster bis, fenster bis, zeitfenster ende, zeit bis,"
            " lieferzeit bis, ende zeitfenster, bis uhrzeit, schließt, uhrzeit bis"
            "/ au plus tard, fin fenêtre, heure fin, heure de fin, fermeture"
            "/ hora fin, hora de fin, fin ventana, ventana fin, cierre, hora hasta",
            "to, until, till, end, close / bis, ende / à, fin, jusqu'à / hasta, fin",
        ),
        "depot": ("depot, is depot / ist depot, depot ja nein / dépôt, est dépôt / depósito, es depósito", "", ""),
        "kind": ("", "", "type, kind, role / typ, art, rolle / genre, rôle / tipo, clase, rol"),
        "capacity": (
            "capacity / kapazität / capacité / capacidad",
            "vehicle capacity, truck capacity, van capacity, max load, maximum load, payload, load capacity"
            "/ fahrzeugkapazität, ladekapazität, nutzlast, zuladung, max ladung, maximale ladung, maximale zuladung,"
            " lkw kapazität, kapazität fahrzeug, kapazität je fahrzeug, kapazität pro fahrzeug"
            "/ capacité véhicule, capacité du véhicule, charge utile, charge maximale"
            "/ capacidad vehículo, capacidad del vehículo, carga útil, carga máxima",
            "",
        ),
        "pickup": ("pickup / abholmenge, rückholmenge / quantité ramassée / cantidad recogida", "", ""),
        "prize": ("prize / prämie / prime / premio", "", ""),
        "priority": ("priority / priorität / priorité / prioridad", "", ""),
        "release": (
            "release, release time / bereitstellung, bereitstellungszeit / heure de disponibilité"
            "/ hora de disponibilidad",
            "",
            "",
        ),
        "late_cost": (
            "late cost, late cost per hour / verspätungskosten, verspätungskosten pro stunde"
            "/ coût de retard, coût de retard par heure / coste de retraso, coste de retraso por hora",
            "",
            "",
        ),
        "skills": ("skills / fähigkeiten / compétences / habilidades", "", ""),
        "vehicles": (
            "vehicles, allowed vehicles / fahrzeuge, erlaubte fahrzeuge / véhicules, véhicules autorisés"
            "/ vehículos, vehículos permitidos",
            "",
            "",
        ),
        "not_vehicles": (
            "not vehicles, forbidden vehicles / nicht fahrzeuge, verbotene fahrzeuge / véhicules interdits"
            "/ vehículos prohibidos",
            "",
            "",
        ),
        "same_vehicle": ("same vehicle / gleiches fahrzeug, selbes fahrzeug / même véhicule / mismo vehículo", "", ""),
        "not_together": ("not together / nicht zusammen / pas ensemble / no juntos", "", ""),
        "shipment": ("shipment, shipment id / sendung, sendungsnummer / envoi / envío", "", ""),
        "max_ride": ("max ride, longest ride / längste fahrt / trajet le plus long / trayecto más largo", "", ""),
        "one_of": ("one of / eine von, eines von / une de, un de / una de, uno de", "", ""),
    }
)

LEGS = Vocabulary(
    {
        "from": ("from / von / depuis / desde", "origin, source, start / start, quelle / origine, départ / origen", ""),
        "to": (
            "to / nach / vers / hasta",
            "destination, target, end / ziel / destination, arrivée / destino",
            "",
        ),
        "distance": (
            "distance / entfernung / distance / distancia",
            "length, km, metres, meters / distanz, strecke, länge, kilometer / longueur / longitud, kilómetros",
            "",
        ),
        "duration": (
            "duration / dauer / durée / duración",
            "time, travel time, minutes, seconds / fahrzeit, fahrtzeit, zeit, minuten / temps / tiempo",
            "",
        ),
    }
)

VEHICLES = Vocabulary(
    {
        "name": (
            "name / name / nom / nombre",
            "vehicle, type, van, truck, vehicle type / fahrzeug, typ, fahrzeugtyp, lkw, transporter, kennzeichen,"
            " bezeichnung / véhicule, type, camion / vehículo, tipo, camión, furgoneta, matrícula",
            "id, driver / fahrer / chauffeur / conductor",
        ),
        "count": (
            "count / anzahl / nombre de véhicules / cantidad",
            "number, vehicles, how many, quantity, available / stück, fahrzeuge, menge, verfügbar"
            "/ quantité, véhicules / número, vehículos",
            "",
        ),
        "capacity": STOPS.words["capacity"],
        "initial_load": (
            "initial load / anfangsladung / chargement initial / carga inicial",
            "",
            "",
        ),
        "max_duration": (
            "max duration, longest duration",
            "maximum duration, duration limit, max time, max hours, working time"
            "/ maximale dauer, max dauer, höchstdauer, längste dauer, arbeitszeit, max fahrzeit, lenkzeit"
            "/ durée maximale, durée max / duración máxima, duración max",
            "",
        ),
        "max_distance": (
            "max distance, longest distance",
            "maximum distance, distance limit, range, max km"
            "/ maximale strecke, max strecke, höchststrecke, reichweite, max entfernung, maximale entfernung"
            "/ distance maximale, distance max, autonomie / distancia máxima, distancia max, autonomía",
            "",
        ),
        "shift": (
            "shift / schicht, dienst",
            "working hours, hours / dienstzeit, schichtzeit, einsatzzeit / poste, horaires / turno, horario",
            "",
        ),
        "shift_start": (
            "shift start, earliest start",
            "start, from, earliest, start time / schichtbeginn, beginn, von, dienstbeginn, früheste abfahrt"
            "/ début, heure de début / inicio, hora de inicio, desde",
            "",
        ),
        "shift_end": (
            "shift end, latest end",
            "to, until, latest, end time / schichtende, ende, bis, dienstende / fin, heure de fin"
            "/ fin, hora de fin, hasta",
            "",
        ),
        "max_stops": (
            "max stops, most stops",
            "maximum stops, stops, stop limit / maximale stopps, max stopps, stopps, höchstens stopps"
            "/ arrêts max, arrêts maximum / paradas máximas, paradas max",
            "",
        ),
        "min_vehicles": (
            "min vehicles, least vehicles / mindestens fahrzeuge, mindestanzahl fahrzeuge / véhicules minimum,"
            " véhicules min / vehículos mínimos, vehículos min",
            "",
            "",
        ),
        "end": (
            "end, route end / rückkehr / retour / regreso",
            "return, open / rückfahrt, offen / ouvert / abierto",
            "",
        ),
        "fixed_cost": ("fixed cost, cost per day / fixkosten, kosten pro tag / coût fixe / coste fijo", "", ""),
        "distance_cost": ("distance cost, cost per km / kosten pro km / coût par km / coste por km", "", ""),
        "time_cost": ("time cost, cost per hour / kosten pro stunde / coût par heure / coste por hora", "", ""),
        "skills": STOPS.words["skills"],
        "depot": ("depot, start depot, home depot / startdepot, heimatdepot / dépôt / depósito", "", ""),
    }
)

_TOTALS = (  # as `simplify` writes them
    "total, totals, sum, subtotal, sum total, grand total, overall, average, mean, summe, gesamt, gesamtsumme, summen,"
    " zwischensumme, insgesamt, durchschnitt, mittelwert, total general, somme, sous total, totaux, moyenne, suma,"
    " totales, promedio"
)
_DEPOTS = (
    "depot, warehouse, hub, distribution center, distribution centre, home base, lager, zentrallager, zentrale,"
    " betriebshof, start, startpunkt, base, entrepot, plateforme, depart, deposito, almacen, bodega, salida"
)
_TOTAL_WORDS = frozenset(_TOTALS.split(", "))
_DEPOT_WORDS = frozenset(_DEPOTS.split(", "))
_VEHICLES = (
    "vehicles, vehicle, fleet, vans, trucks, lorries, fahrzeuge, fahrzeug, fuhrpark, flotte, transporter, lkw, lkws,"
    " vehicules, vehicule, parc, camions, vehiculos, vehiculo, flota, camiones, furgonetas"
)
_VEHICLE_WORDS = frozenset(_VEHICLES.split(", "))
_SURE_DEPOTS = ("depot", "zentrallager", "betriebshof")  # whatever follows; "Lager Nord GmbH" may be a customer
_YES_WORDS = frozenset(("x", "1", "yes", "y", "true", "wahr", "ja", "j", "oui", "o", "vrai", "si", "s", "verdadero"))
_NO_WORDS = frozenset(("", "0", "no", "n", "false", "falsch", "nein", "non", "faux", "falso"))


def is_total(label: str) -> bool:
    """Whether this label marks a row of totals: "Summe", "Total (60 stops)", "Gesamt 1200 kg"."""
    words = (
        word for word in simplify(label).split() if not word.isdigit() and word not in _FILLERS - {"total", "gesamt"}
    )
    return " ".join(words) in _TOTAL_WORDS


def is_depot(text: str) -> bool:
    """Whether a cell says that its row is the depot: "Depot", "Lager", "Zentrallager Hamburg"."""
    simple = simplify(text)
    return simple in _DEPOT_WORDS or simple.split(" ")[0] in _SURE_DEPOTS


def are_vehicles(title: str) -> bool:
    """Whether the title of a sheet says that it lists vehicles: "Fahrzeuge", "Fleet 2026"."""
    return any(word in _VEHICLE_WORDS for word in simplify(title).split())


def read_truth(text: str) -> bool | None:
    """Read yes, no or a check mark; None if the text is none of these."""
    simple = simplify(text) or ("x" if text.strip() in ("✓", "✔", "✗") else "" if not text.strip() else "?")
    return True if simple in _YES_WORDS else False if simple in _NO_WORDS else None
