"""Files of benchmarks with rules: what PyVRP's sections, Li and Lim and Cordeau say, and best known plans' costs."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich_problems import RULE_MAKERS, draw_problem

import dynaroute
from dynaroute.base.errors import DynarouteError, UnsupportedError
from dynaroute.base.vocabulary import ReadingRule
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.formats.registry import FORMATS
from dynaroute.formats.vrplib.instance import parse_vrplib
from dynaroute.formats.vrplib.writing import format_vrplib
from dynaroute.plans.plan import Plan
from dynaroute.plans.read import read_routes
from dynaroute.plans.write import write_plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import choose_types, price_all
from dynaroute.problem.places import Place
from dynaroute.problem.solution import Solution, check

# of each set: the rounding, how many units of its .sol files make one of ours, and some files
SETS: dict[str, tuple[ReadingRule | None, float, tuple[str, ...]]] = {
    "HFVRP": ("none", 0.01, ("X101-FSMFD", "X120-FSMF", "X139-HD")),
    "MDVRPTW": ("none", 1000, ("PR11A", "PR17A")),
    "PCVRPTW": ("dimacs", 10, ("C1_10_1", "R2_10_3")),
    "VRPB": (None, 1, ("X-n524-50-k125", "X-n573-50-k22")),
    "MTVRPTWR": ("dimacs", 10, ("C201R0.5", "R203R0.5", "RC208R0.5")),
}
vrplib = pytest.importorskip("vrplib")

CASES = [(name, file) for name, (_, _, files) in SETS.items() for file in files]


@pytest.mark.parametrize(("name", "file"), CASES)
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_best_known_plans_are_right_and_cost_what_they_say(name: str, file: str, shared_data: Path) -> None:
    rounding, unit, _ = SETS[name]
    instance = dynaroute.read(shared_data / name / f"{file}.vrp", fleet=FleetOptions(rounding=rounding))
    stated = dynaroute.read_solution(shared_data / name / f"{file}.sol")
    shift = len(instance.places)  # their customers count from the last depot
    routes = tuple(tuple(node - shift if node else 0 for node in route) for route in stated.routes)
    plan = Solution(routes, vehicles=tuple(choose_types(instance, routes)))
    assert check(instance, plan) == []
    assert stated.stated_cost is not None
    assert plan.cost(instance) * unit == pytest.approx(stated.stated_cost, rel=2e-6)
    vehicles = [instance.fleet[kind] for kind in plan.vehicles or ()]
    assert price_all(instance, plan.routes, vehicles) == pytest.approx(plan.cost(instance))


VRP = """NAME : small
TYPE : MDVRPTW
DIMENSION : 5
EDGE_WEIGHT_TYPE : EXACT_2D
CAPACITY : 10
VEHICLES : 3
NODE_COORD_SECTION
1 0 0
2 10 0
3 3 4
4 6 8
5 0 5
DEMAND_SECTION
1 0
2 0
3 4
4 0
5 2
"""
END = "DEPOT_SECTION\n1\n2\n-1\nEOF\n"
OF_VEHICLES = "VEHICLES_DEPOT_SECTION\n1 1\n2 2\n3 2\n"


def read(*sections: str) -> Instance:
    return parse_vrplib(VRP + "".join(sections) + END)


def test_further_depots_are_places_after_the_customers() -> None:
    windows = "TIME_WINDOW_SECTION\n1 0 90\n2 5 80\n3 0 50\n4 10 60\n5 0 90\n"
    instance = read(OF_VEHICLES, windows, "SERVICE_TIME_SECTION\n1 0\n2 0\n3 1\n4 2\n5 3\n")
    assert instance.size == 3
    assert instance.coordinates is not None and instance.windows is not None and instance.service is not None
    assert instance.coordinates.tolist() == [[0, 0], [3, 4], [6, 8], [0, 5], [10, 0]]
    assert instance.demands.tolist() == [0, 4, 0, 2]
    assert instance.windows.tolist() == [[0, 90], [0, 50], [10, 60], [0, 90]]
    assert instance.service.tolist() == [0, 1, 2, 3]
    assert [(place.name, place.window) for place in instance.places] == [("depot 2", (5, 80))]
    assert [(kind.start, kind.end, kind.count) for kind in instance.fleet] == [
        ("depot", "depot", 1),
        ("depot 2", "depot 2", 2),
    ]


def test_costs_reloads_and_numbers_of_trips_belong_to_vehicles() -> None:
    instance = read(
        "VEHICLES_FIXED_COST_SECTION\n1 5\n2 0\n3 5\n",
        "VEHICLES_UNIT_DISTANCE_COST_SECTION\n1 2\n2 0.5\n3 2\n",
        "VEHICLES_RELOAD_DEPOT_SECTION\n1 1 2\n2\n3 1 2\n",
        "VEHICLES_MAX_RELOADS_SECTION\n1 1\n2 0\n3 1\n",
    )
    first, second = instance.fleet
    assert (first.count, first.fixed_cost, first.distance_cost) == (2, 5, 2)
    assert (first.reload, first.max_trips) == (("depot", "depot 2"), 2)
    assert (second.count, second.fixed_cost, second.distance_cost, second.reload) == (1, 0, 0.5, ())


def test_pickups_prizes_and_releases_belong_to_customers() -> None:
    instance = read(
        OF_VEHICLES,
        "BACKHAUL_SECTION\n1 0\n2 0\n3 0\n4 3\n5 0\n",
        "PRIZE_SECTION\n1 0\n2 0\n3 7\n4 0\n5 9\n",
        "RELEASE_TIME_SECTION\n1 0\n2 0\n3 0\n4 20\n5 0\n",
    )
    assert instance.pickups is not None and instance.prizes is not None and instance.release is not None
    assert instance.pickups.tolist() == [0, 0, 3, 0]
    assert instance.backhauls == "strict"
    assert instance.prizes[1:].tolist() == [7, float("inf"), 9]  # without a prize a customer must be served
    assert instance.release.tolist() == [0, 0, 20, 0]


def test_some_vehicles_serve_only_the_clients_that_are_listed() -> None:
    instance = read(OF_VEHICLES, "VEHICLES_ALLOWED_CLIENTS_SECTION\n1 3 4\n2 3 4 5\n3 3 4 5\n")
    assert instance.allowed is not None
    assert instance.allowed.tolist() == [[True, True], [True, True], [True, True], [False, True]]


@pytest.mark.parametrize(
    ("field", "sections"),
    [
        ("DEPOT_SECTION", ()),
        ("DEMAND_SECTION", ("X",)),
        ("VEHICLES_DEPOT_SECTION", ("VEHICLES_DEPOT_SECTION\n1 1\n2 3\n3 1\n",)),
        ("VEHICLES_RELOAD_DEPOT_SECTION", ("VEHICLES_RELOAD_DEPOT_SECTION\n1 1\n2 1\n",)),
        ("VEHICLES_RELOAD_DEPOT_SECTION", ("VEHICLES_RELOAD_DEPOT_SECTION\n1 1\n1 1\n2 1\n",)),
        ("VEHICLES_MAX_RELOADS_SECTION", (OF_VEHICLES, "VEHICLES_MAX_RELOADS_SECTION\n1 -1\n2 0\n3 0\n")),
        ("VEHICLES_FIXED_COST_SECTION", (OF_VEHICLES, "VEHICLES_FIXED_COST_SECTION\n1 -1\n2 0\n3 0\n")),
        ("VEHICLES_ALLOWED_CLIENTS_SECTION", (OF_VEHICLES, "VEHICLES_ALLOWED_CLIENTS_SECTION\n1 2\n2 3\n3 3\n")),
    ],
)
def test_a_faulty_section_is_refused_by_name(field: str, sections: tuple[str, ...]) -> None:
    text = VRP.replace("\n2 0\n", "\n2 1\n") if sections == ("X",) else VRP
    given = (OF_VEHICLES,) if sections == ("X",) else sections
    with pytest.raises(DynarouteError) as refusal:
        parse_vrplib(text + "".join(given) + END)
    assert refusal.value.where.field == field
    assert refusal.value.remedy


def draw_held(seed: int) -> Instance:
    """A problem with any of the rules that a .vrp file holds."""
    random = np.random.default_rng(seed)
    size, places = int(random.integers(2, 6)), int(random.integers(0, 3))
    has_windows, has_service, has_release, is_allowed, has_reloads = (bool(each) for each in random.integers(0, 2, 5))
    windows = np.array([[opens, opens + 20] for opens in random.integers(0, 50, size + places + 1).tolist()], float)
    names = ["depot", *(f"depot {number}" for number in range(2, places + 2))]
    vehicles = tuple(
        VehicleType(
            int(random.integers(5, 9)),
            str(number + 1) if is_allowed else "",
            count=int(random.integers(1, 4)),
            fixed_cost=10.0 * number,
            distance_cost=float(random.choice([1.0, 0.5])),
            start=(start := str(random.choice(names))),
            end=start,
            reload=tuple(names[: int(random.integers(0, len(names) + 1))]) if has_reloads else (),
            max_trips=1 if not has_reloads else None,
        )
        for number in range(int(random.integers(1, 4)))
    )
    nobody = frozenset[str]()
    first = [frozenset({"1"}) if each else nobody for each in random.integers(0, 2, size).tolist()]
    return Instance(
        coordinates=random.integers(0, 40, (size + 1 + places, 2)).astype(float),
        demands=np.array([0, *random.integers(1, 5, size)]),
        capacity=max(kind.capacities[0] for kind in vehicles),
        pickups=np.array([0, *random.integers(0, 5, size)]) if seed % 2 else None,
        backhauls="strict" if seed % 2 else "mixed",
        service=np.array([0.0, *random.integers(0, 9, size)]) if has_service else None,
        windows=windows[: size + 1] if has_windows else None,
        speed=1.0 if has_windows or has_service or has_release else None,
        release=np.array([0.0, *random.integers(0, 30, size)]) if has_release else None,
        prizes=np.array([math.inf, *random.choice([7.0, 2.5, math.inf], size)]) if seed % 3 == 0 else None,
        places=tuple(
            Place(
                name,
                window=(float(windows[size + row, 0]), float(windows[size + row, 1])) if has_windows else None,
                loading=float(random.integers(0, 4)) if has_service else 0.0,
            )
            for row, name in enumerate(names[1:], start=1)
        ),
        vehicles=vehicles,
        vehicles_allowed=(nobody, *first) if is_allowed and len(vehicles) > 1 else None,
    )


@pytest.mark.parametrize("seed", range(40))
def test_rules_that_are_written_read_back_the_same(seed: int) -> None:
    instance = draw_held(seed)
    if instance.vehicles_allowed is None:
        instance = replace(instance, vehicles=tuple(replace(kind, name="") for kind in instance.fleet))
    assert parse_vrplib(format_vrplib(instance)) == instance


@pytest.mark.parametrize("seed", range(60))
def test_no_rule_is_lost_in_silence(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(1, 5)), replace=False).tolist())
    instance = draw_problem(random, rules)
    fleet = tuple(replace(kind, name="", count=2) for kind in instance.fleet if not kind.beginning)
    with suppress(DynarouteError):  # where names or counts of vehicles belong to the rule
        instance = replace(instance, vehicles=fleet or None)
    try:
        text = format_vrplib(instance)
    except UnsupportedError as refusal:
        assert refusal.where.field and ".json" in (refusal.remedy or "")
        return
    assert parse_vrplib(text) == instance


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("places", {"places": (Place("yard", 10, 0),), "vehicles": (VehicleType(10, count=3, start="yard"),)}),
        ("time_cost", {"vehicles": (VehicleType(10, count=3, time_cost=1),)}),
        ("end", {"vehicles": (VehicleType(10, count=3, start="depot 2", end="depot"),)}),
        ("count", {"vehicles": (VehicleType(10, start="depot 2"),)}),
        ("loading", {"vehicles": (VehicleType(10, count=3, reload=("depot",), loading=9),)}),
        ("max_driving", {"vehicles": (VehicleType(10, count=3, max_driving=9),)}),
        ("pickups", {"pickups": np.array([0, 0, 3, 0]), "backhauls": "mixed"}),
        ("priorities", {"priorities": np.array([np.nan, 5.0, 9.0, np.nan])}),
        ("prizes", {"prizes": np.array([np.inf, 0.0, 9.0, np.inf])}),
    ],
)
def test_what_a_vrp_file_does_not_hold_is_refused_by_name(
    field: str, changes: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(DynarouteError) as refusal:
        dynaroute.write(replace(read(OF_VEHICLES), **changes), tmp_path / "out.vrp")  # type: ignore[arg-type]
    assert refusal.value.where.field == field
    assert ".json" in (refusal.value.remedy or "")


@pytest.mark.parametrize(("name", "file"), CASES)
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_published_files_are_written_as_they_are_read(name: str, file: str, shared_data: Path) -> None:
    instance = dynaroute.read(shared_data / name / f"{file}.vrp")
    assert parse_vrplib(format_vrplib(instance)) == instance


def test_pyvrp_reads_what_is_written(tmp_path: Path) -> None:
    pyvrp = pytest.importorskip("pyvrp")
    instance = read(OF_VEHICLES, "PRIZE_SECTION\n1 0\n2 0\n3 7\n4 0\n5 9\n")
    dynaroute.write(instance, tmp_path / "day.vrp")
    theirs = pyvrp.read(tmp_path / "day.vrp", round_func="none")
    assert (theirs.num_depots, theirs.num_clients, theirs.num_vehicles) == (2, 3, 3)
    assert [client.prize for client in theirs.clients()] == [7, 0, 9]


LI_LIM = """2 10 1
0 0 0 0 0 100 0 0 0
1 3 4 6 0 50 5 0 2
2 6 8 -6 10 60 5 1 0
"""
CORDEAU = """2 3 2 2
40 10
0 12
1 3 4 1 4 1 2 1 2
2 6 8 2 5 1 2 1 2
3 0 0 0 0 0 0
4 9 9 0 0 0 0
"""


def parse_txt(text: str) -> Instance:
    parse = FORMATS[".txt"].parse
    assert parse is not None
    from dynaroute.formats.tables.stops import ReadingOptions

    return parse(text.encode(), "some/lc1.txt", ReadingOptions())[0]


def test_li_and_lim_pair_a_pickup_with_its_delivery() -> None:
    instance = parse_txt(LI_LIM)
    assert instance.name == "lc1"
    assert instance.partners is not None and instance.is_pickup is not None and instance.pickups is not None
    assert instance.partners.tolist() == [0, 2, 1]
    assert instance.is_pickup.tolist() == [False, True, False]
    assert (instance.pickups.tolist(), instance.demands.tolist()) == ([0, 6, 0], [0, 0, 6])
    assert instance.fleet[0].count == 2
    assert check(instance, Solution(((1, 2),))) == []


def test_cordeau_gives_each_depot_its_vehicles() -> None:
    instance = parse_txt(CORDEAU)
    assert instance.demands.tolist() == [0, 4, 5]
    assert [(kind.start, kind.count, kind.capacity, kind.max_duration) for kind in instance.fleet] == [
        ("depot", 3, 10, 40),
        ("depot 2", 3, 12, None),
    ]
    assert [(place.name, place.x, place.y) for place in instance.places] == [("depot 2", 9, 9)]
    assert check(instance, Solution(((1,), (2,)), vehicles=(0, 1))) == []


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (LI_LIM.replace("1 0\n", "2 0\n"), "delivery"),
        (LI_LIM.replace("\n2 6", "\n3 6"), "node"),
        (LI_LIM + "3 1 1 5 0\n", "pickup"),
        (CORDEAU.replace("2 3 2 2", "1 3 2 2"), "header"),
        (CORDEAU.replace("2 3 2 2", "2 3 3 2"), "header"),
        (CORDEAU.replace("1 3 4 1 4 1", "1 3 4 1 4 2"), "frequency"),
    ],
)
def test_a_faulty_file_of_numbers_is_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        parse_txt(text)
    assert refusal.value.where.field == field


@pytest.mark.parametrize("name", ["lc109", "LR2_2_3", "LC1_4_1"])
def test_shipments_of_li_and_lim_are_whole(name: str, shared_data: Path) -> None:
    instance = dynaroute.read(shared_data / "PDPTW" / f"{name}.txt")
    assert instance.partners is not None and instance.is_pickup is not None
    assert 2 * int(instance.is_pickup.sum()) == instance.size
    best = sum(int(instance.is_pickup[node]) for node in range(1, instance.size + 1))
    pairs = [(node, int(instance.partners[node])) for node in range(1, instance.size + 1) if instance.is_pickup[node]]
    vehicles = tuple(replace(kind, count=None) for kind in instance.fleet)
    assert best == len(pairs)
    assert check(replace(instance, vehicles=vehicles), Solution(tuple(pairs))) == []


# Of two depots and customers 1 to 3, PyVRP calls the customers 2 to 4; a vehicle may load again at both depots.
RELOADS = "VEHICLES_RELOAD_DEPOT_SECTION\n1 1 2\n2 1 2\n3 1 2\n"


@pytest.mark.parametrize("routes", [((1, 3), (2,)), ((1,), (2,)), ((1, 4, 2), (3,)), ((2, 0, 1, 4, 3),)])
def test_a_sol_file_of_several_depots_counts_them_as_pyvrp_does(
    routes: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    instance = read(OF_VEHICLES, RELOADS)
    write_plan(Plan(instance, Solution(routes)), tmp_path / "day.sol")
    lines = (tmp_path / "day.sol").read_text().splitlines()
    theirs = {0: 0, 1: 2, 2: 3, 3: 4, 4: 1}
    written = [tuple(map(int, line.partition(": ")[2].split())) for line in lines if line.startswith("Route")]
    assert written == [tuple(theirs[node] for node in route) for route in routes]
    assert "Depots 2" in lines
    known = vrplib.read_solution(tmp_path / "day.sol")
    assert (known["routes"], known["depots"]) == ([list(route) for route in written], 2)
    assert read_routes(tmp_path / "day.sol", instance).routes == routes


@pytest.mark.parametrize(
    ("text", "routes"),
    [
        ("Route #1: 2 4\nRoute #2: 3\n", ((1, 3), (2,))),
        ("Route #1: 1 3\nRoute #2: 2\n", ((1, 3), (2,))),
        ("Route #1: 4\n", ((3,),)),
        ("Route #1: 2\nDepots 1\n", ((2,),)),
        ("Route #1: 2\nDepots: 2\n", ((1,),)),
    ],
)
def test_a_sol_file_of_several_depots_is_read_in_the_numbers_that_fit(
    text: str, routes: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    (tmp_path / "day.sol").write_text(text)
    assert read_routes(tmp_path / "day.sol", read(OF_VEHICLES)).routes == routes


@pytest.mark.parametrize("text", ["Route #1: 2 3\n", "Route #1: 2 3\nDepots 3\n"])
def test_a_sol_file_in_unclear_numbers_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "day.sol").write_text(text)
    with pytest.raises(DynarouteError) as refusal:
        read_routes(tmp_path / "day.sol", read(OF_VEHICLES))
    assert refusal.value.where.field == "Depots"


def test_a_sol_file_that_counts_depots_is_read_without_its_problem(tmp_path: Path) -> None:
    (tmp_path / "day.sol").write_text("Route #1: 2 4\nDepots 2\n")
    assert dynaroute.read_solution(tmp_path / "day.sol") == Solution(((1, 3),))
    (tmp_path / "day.sol").write_text("Route #1: 2 1 4\nDepots 2\n")
    with pytest.raises(DynarouteError, match="further depot"):
        dynaroute.read_solution(tmp_path / "day.sol")


@pytest.mark.parametrize("file", ["PR11A", "PR17A"])
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_best_known_plans_of_several_depots_are_read_with_their_problem(file: str, shared_data: Path) -> None:
    folder = shared_data / "MDVRPTW"
    instance = dynaroute.read(folder / f"{file}.vrp", fleet=FleetOptions(rounding="none"))
    routes = read_routes(folder / f"{file}.sol", instance).routes
    assert check(instance, Solution(routes, vehicles=tuple(choose_types(instance, routes)))) == []
