"""The words of drivers' sheets in English, German, French and Spanish."""

from __future__ import annotations

from dynaroute.base.vocabulary import Language
from dynaroute.plans.plan import Plan, PlannedRoute

_OTHERS: tuple[Language, ...] = ("de", "fr", "es")
_WORDS = {
    "Route": ("Tour", "Tournée", "Ruta"),
    "Stop": ("Stopp", "Arrêt", "Parada"),
    "Stops": ("Stopps", "Arrêts", "Paradas"),
    "Id": ("Nr.", "N°", "N.º"),
    "Name": ("Name", "Nom", "Nombre"),
    "Window": ("Zeitfenster", "Créneau", "Horario"),
    "Arrival": ("Ankunft", "Arrivée", "Llegada"),
    "Leave": ("Abfahrt", "Départ", "Salida"),
    "Demand": ("Menge", "Quantité", "Cantidad"),
    "On board": ("An Bord", "À bord", "A bordo"),
    "Load": ("Ladung", "Charge", "Carga"),
    "Distance": ("Strecke", "Distance", "Distancia"),
    "Done": ("Erledigt", "Fait", "Hecho"),
    "Start": ("Start", "Départ", "Salida"),
    "End": ("Ende", "Arrivée", "Llegada"),
    "Reload": ("Nachladen", "Recharge", "Recarga"),
    "Break": ("Pause", "Pause", "Pausa"),
    "break {} to {}": ("Pause {} bis {}", "pause de {} à {}", "pausa de {} a {}"),
    "{} to {}": ("{} bis {}", "{} à {}", "{} a {}"),
    "{} stop": ("{} Stopp", "{} arrêt", "{} parada"),
    "{} stops": ("{} Stopps", "{} arrêts", "{} paradas"),
    "load {}": ("Ladung {}", "charge {}", "carga {}"),
    "{} of {}": ("{} von {}", "{} sur {}", "{} de {}"),
    "from {}": ("ab {}", "à partir de {}", "desde {}"),
    "until {}": ("bis {}", "jusqu'à {}", "hasta {}"),
    "pickup {}": ("Abholung {}", "enlèvement {}", "recogida {}"),
    "depot": ("Depot", "dépôt", "depósito"),
    "stop {}": ("Stopp {}", "arrêt {}", "parada {}"),
    "whole route": ("ganze Tour", "toute la tournée", "toda la ruta"),
}


def say(plan: Plan, words: str, *given: object) -> str:
    """Say words in the language of the plan's file, with what is given in the places of {}."""
    language = plan.instance.language
    said = words if language == "en" else _WORDS[words][_OTHERS.index(language)]
    return said.format(*given)


def name_route(plan: Plan, route: PlannedRoute) -> str:
    """The heading of a driver's sheet."""
    name = f"{say(plan, 'Route')} {route.number}"
    return f"{name}, {route.vehicle}" if route.vehicle else name
