"""A plan for the tests of what is written of plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynaroute.plans import Plan
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

ODD_IDS = ("=1+1", "-5", "<b>bold</b>", "007", "Müller & Söhne", "'=quoted", "@home", "+49 40", 'a;b,"c"')


def globe_plan() -> Plan:
    """Two routes in and around Hamburg, whose ids and names are such as planners and villains write."""
    places = [[53.55, 9.99], [53.6, 9.9], [53.52, 10.1], [53.58, 10.02], [53.49, 9.95], [53.61, 10.05]]
    places += [[53.45, 10.0], [53.57, 9.85], [53.53, 9.93], [53.56, 10.11]]
    rows = [("Depot Hafen", "Kai 1")] + [(f"Kunde {n} <script>", f"=Straße {n}") for n in range(1, 10)]
    instance = Instance(
        np.array(places),
        np.array([0, 4, 3, 2, 5, 1, 2, 3, 4, 5]),
        20,
        name="Montag & <Dienstag>",
        metric="great_circle",
        customer_names=ODD_IDS,
        details=Details(("Name", "Adresse"), tuple(rows)),
    )
    return Plan(instance, Solution(((3, 1, 2, 4), (9, 5, 6, 8, 7))))


def unserved_plan() -> Plan:
    """One lorry for all of Hamburg: there is no room for the last two customers."""
    whole = globe_plan().instance
    lorry = VehicleType(22, count=1)
    return Plan(replace(whole, vehicles=(lorry,)), Solution(((3, 1, 2, 4, 5, 6, 8),)))


def plane_plan() -> Plan:
    coordinates = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0], [-1.0, 0.0]])
    return Plan(Instance(coordinates, np.array([0, 2, 7, 9]), 10, name="small"), Solution(((1, 2), (3,))))
