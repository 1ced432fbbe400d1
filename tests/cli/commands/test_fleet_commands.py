"""The commands with vehicles, limits and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import INSTANCE, assert_refused, invoke, invoke_json, save

from dynaroute import check, read, read_solution

pytestmark = pytest.mark.usefixtures("shelf")

FAULTY = Path(__file__).resolve().parents[2] / "data" / "faulty_fleets"
SEARCH = ("--iterations", "200")


def make_day(**parts: Any) -> dict[str, Any]:
    """Customers 3, 4 and 5 km away from the depot, in metres, and two vans."""
    return {
        "name": "day",
        "depot": {"x": 0, "y": 0, "window": ["07:00", "18:00"]},
        "customers": [
            {"id": "A", "x": 3000, "y": 0, "demand": 4, "service": "5 min", "window": "08:00-10:00"},
            {"id": "B", "x": 0, "y": 4000, "demand": 5, "service": "10 min", "window": ["09:00", "11:00"]},
            {"id": "C", "x": -3000, "y": -4000, "demand": 6, "service": 300},
        ],
        "vehicles": [
            {"name": "van", "capacity": 9, "count": 2, "max_duration": "4h"},
            {"name": "bicycle", "capacity": 4, "count": 1, "end": "open"},
        ],
        "speed": 10,
        **parts,
    }


def save_day(folder: Path, **parts: Any) -> Path:
    return save(folder, "day.json", json.dumps(make_day(**parts)))


def save_impossible_to_pack(folder: Path) -> Path:
    """Two vehicles hold 10 each, and 6, 6 and 8 do not fit, which only a search finds out."""
    customers = [{"x": x, "y": 0, "demand": demand} for x, demand in ((1, 6), (2, 6), (3, 8))]
    document = {"depot": {"x": 0, "y": 0}, "customers": customers, "vehicles": [{"capacity": 10, "count": 2}]}
    return save(folder, "tight.json", json.dumps(document))


# solve


def test_a_plan_keeps_windows_and_names_vehicles_and_arrivals(tmp_path: Path) -> None:
    path = save_day(tmp_path)
    (document,) = invoke_json("solve", path, *SEARCH)
    assert set(document["vehicles"]) <= {"van", "bicycle"}
    assert document["unserved"] == []
    assert [len(arrivals) for arrivals in document["arrivals"]] == [len(route) for route in document["routes"]]
    answer = save(tmp_path, "plan.json", json.dumps(document))
    assert check(read(path), read_solution(answer)) == []


def test_the_table_tells_vehicle_departure_and_end(tmp_path: Path) -> None:
    result = invoke("solve", save_day(tmp_path), *SEARCH)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split() == [
        "Route",
        "Vehicle",
        "Load",
        "Length",
        "Departure",
        "End",
        "Customers",
    ]


def test_vehicles_of_one_type_without_a_name_have_no_column(tmp_path: Path) -> None:
    unnamed = [{"capacity": 10, "count": 3}]
    result = invoke("solve", save_day(tmp_path, vehicles=unnamed), *SEARCH)

    assert result.exit_code == 0
    assert "Vehicle" not in result.stdout


def test_types_without_names_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    unnamed = [{"capacity": 10, "count": 1}, {"capacity": 9, "count": 3}]
    result = invoke("solve", save_day(tmp_path, vehicles=unnamed), *SEARCH)

    assert result.exit_code == 0
    kinds = {" ".join(line.split()[1:3]) for line in result.stdout.splitlines()[2:]}
    assert kinds and kinds <= {"type 1", "type 2"}


def test_without_a_search_insertion_builds_a_plan(tmp_path: Path) -> None:
    (document,) = invoke_json("solve", save_day(tmp_path), "--fast")
    assert document["method"] == "insertion" and document["unserved"] == []


def test_no_plan_in_time_is_exit_code_4_with_the_best_one_written(tmp_path: Path) -> None:
    path, out = save_impossible_to_pack(tmp_path), tmp_path / "plan.json"
    result = invoke("solve", path, *SEARCH, "--out", out)
    assert result.exit_code == 4
    assert "is not visited: both vehicles have too little room (its demand is" in result.stderr
    assert [violation.kind for violation in check(read(path), read_solution(out))] == ["missing"]


def test_customers_left_out_are_listed(tmp_path: Path) -> None:
    result = invoke("solve", save_impossible_to_pack(tmp_path), *SEARCH, "--json")
    assert result.exit_code == 4
    (document,) = json.loads(result.stdout)
    assert len(document["unserved"]) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--vehicles", "1"), "vehicle types"),
        (("--max-duration", "10min"), "longest duration 10 min"),
        (("--max-distance", "5km"), "longest distance 5000"),
        (("--speed", "1km/h"), "customer 2 (B)"),
    ],
)
def test_what_cannot_be_is_explained_before_any_search(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    result = invoke("solve", save_day(tmp_path), *options, "--out", tmp_path / "plan.sol")
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr.splitlines()[-1]
    assert not (tmp_path / "plan.sol").exists()


def test_a_fleet_that_cannot_carry_the_demand_is_explained(tmp_path: Path) -> None:
    result = invoke("solve", save_day(tmp_path, vehicles=[{"capacity": 7, "count": 2}]), "--out", tmp_path / "a.sol")
    assert_refused(result, "demand 15", "carry 14")
    assert not (tmp_path / "a.sol").exists()


@pytest.mark.parametrize("name", sorted(path.name for path in FAULTY.iterdir()))
def test_a_faulty_file_is_exit_code_2_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    result = invoke("solve", FAULTY / name, "--out", tmp_path / "plan.json")
    assert result.exit_code == 2
    assert name in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--speed", "40", "no unit"),
        ("--speed", "40parsec/h", "unknown"),
        ("--speed", "fast", "not a speed"),
        ("--max-duration", "8 moons", "unit 'moons'"),
        ("--max-duration", "25:99", "not a clock time"),
        ("--max-duration", "0", "not a limit"),
        ("--max-distance", "120leagues", "unknown"),
        ("--max-distance", "-5", "not a length"),
        ("--vehicles", "0", "not a number of vehicles"),
        ("--vehicles", "2.5", "not a number of vehicles"),
        ("--vehicles", "-3", "not a number of vehicles"),
        ("--vehicles", "absent.json", "no such file"),
        ("--objective", "happiness", "happiness"),
        ("--rounding", "sideways", "sideways"),
    ],
)
def test_a_faulty_option_is_refused_by_name(option: str, value: str, words: str, tmp_path: Path) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), option, value, "--out", tmp_path / "a.sol")
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "a.sol").exists()


def test_options_make_a_fleet_of_a_plain_file(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    given = ("--vehicles", "2", "--max-duration", "1h", "--max-distance", "100", "--speed", "1/s")
    document = invoke_json("info", path, *given)
    assert document["vehicles"] == [{"capacity": 10, "count": 2, "max_duration": 3600, "max_distance": 100}]
    assert invoke_json("solve", path, *given, *SEARCH)[0]["vehicles"] == [0, 0]


def test_types_may_come_from_a_file_of_their_own(tmp_path: Path) -> None:
    vans = save(tmp_path, "vans.json", json.dumps([{"name": "van", "capacity": 12.5, "count": 2}]))
    document = invoke_json("info", save(tmp_path, "a.vrp", INSTANCE), "--vehicles", vans)
    assert document["vehicles"] == [{"name": "van", "capacity": 12.5, "count": 2}]
    assert document["fleet"] == "2 vehicles"


def test_a_unit_on_plain_coordinates_is_told_to_mean_metres(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "a.vrp", INSTANCE), "--speed", "40km/h")
    assert "assumed to be in metres" in result.stderr


def test_improving_without_a_search_is_refused_for_fleets(tmp_path: Path) -> None:
    assert_refused(invoke("solve", save_day(tmp_path), "--improve", "local"), "only handles capacities")


def test_a_policy_that_is_asked_for_is_noted_not_to_know_fleets(tmp_path: Path) -> None:
    result = invoke("solve", save_day(tmp_path), "--augment", "--fast")
    assert result.exit_code == 0
    assert "so insertion built the routes" in result.stderr


def test_fewest_vehicles_first(tmp_path: Path) -> None:
    customers = [{"x": x, "y": 0, "demand": 1} for x in (-5, 5)]
    document = {"depot": {"x": 0, "y": 5}, "capacity": 5, "customers": customers}
    path = save(tmp_path, "a.json", json.dumps(document))
    assert len(invoke_json("solve", path, *SEARCH, "--objective", "vehicles")[0]["routes"]) == 1


def test_known_routes_start_a_search_of_a_fleet(tmp_path: Path) -> None:
    path, out = save_day(tmp_path), tmp_path / "plan.json"
    assert invoke("solve", path, *SEARCH, "--out", out).exit_code == 0
    assert invoke("solve", path, *SEARCH, "--start", out).exit_code == 0


# check, info, convert, plot, generate


def test_the_timetable_names_every_stop(tmp_path: Path) -> None:
    path = save_day(tmp_path)
    plan = save(tmp_path, "plan.json", '{"routes": [[1, 2], [3]], "vehicles": ["van", "van"]}')
    result = invoke("check", path, plan, "--timetable")
    assert result.exit_code == 0
    assert "Route 1, van: departs 08:41:40, back 09:16:40" in result.stdout
    assert "09:00-11:00" in result.stdout


def test_the_timetable_on_the_globe_is_in_kilometres(tmp_path: Path) -> None:
    path = save(tmp_path, "stops.csv", "# capacity: 9\nid,lat,lon,demand\ndepot,53,10,0\nA,53,10.1,4\n")
    plan = save(tmp_path, "plan.json", '{"routes": [[1]]}')
    result = invoke("check", path, plan, "--timetable", "--speed", "30km/h")
    assert result.exit_code == 0
    assert "length 13.38 km" in result.stdout and "6.69 km" in result.stdout


def test_the_timetable_in_json_is_in_seconds(tmp_path: Path) -> None:
    path = save_day(tmp_path)
    plan = save(tmp_path, "plan.json", '{"routes": [[1, 2], [3]], "vehicles": ["van", "van"]}')
    document = invoke_json("check", path, plan, "--timetable")
    first = document["timetable"][0]
    assert first["stops"][1]["start"] == pytest.approx(9 * 3600)
    assert first["stops"][0]["customer"] == 1 and first["vehicle"] == "van"


@pytest.mark.parametrize(
    ("plan", "kind"),
    [
        ({"routes": [[2, 1], [3]], "vehicles": ["van", "bicycle"]}, "overload"),
        ({"routes": [[1], [2], [3]], "vehicles": ["van", "van", "van"]}, "fleet"),
        ({"routes": [[1, 2], [3]], "vehicles": ["van", "ship"]}, "no_such_vehicle"),
        ({"routes": [[1, 2], [3]], "vehicles": [0, 7]}, "no_such_vehicle"),
    ],
)
def test_what_is_wrong_with_a_plan_has_its_kind(plan: dict[str, Any], kind: str, tmp_path: Path) -> None:
    path = save_day(tmp_path)
    result = invoke("check", path, save(tmp_path, "plan.json", json.dumps(plan)), "--json")
    assert result.exit_code == 1
    assert kind in {violation["kind"] for violation in json.loads(result.stdout)["violations"]}


def test_lateness_is_told_with_who_and_by_how_much(tmp_path: Path) -> None:
    plan = save(tmp_path, "plan.json", '{"routes": [[1, 2], [3]]}')
    result = invoke("check", save_day(tmp_path), plan, "--speed", "1km/h")
    assert result.exit_code == 1
    assert "after its window ends" in result.stdout


def test_info_tells_vehicles_windows_service_and_times(tmp_path: Path) -> None:
    result = invoke("info", save_day(tmp_path))
    for words in (
        "van: 2, capacity 9, 4 h at most",
        "2 of 3 customers",
        "20 min in total",
        "at 10 units of distance a second",
        "3 vehicles",
    ):
        assert words in result.stdout


def test_info_tells_what_is_impossible(tmp_path: Path) -> None:
    assert "longest distance" in invoke_json("info", save_day(tmp_path), "--max-distance", "1")["impossible"]


def test_convert_keeps_a_fleet_or_refuses(tmp_path: Path) -> None:
    path = save_day(tmp_path)
    assert invoke("convert", path, tmp_path / "again.json").exit_code == 0
    assert read(tmp_path / "again.json") == read(path)
    assert_refused(invoke("convert", path, tmp_path / "day.npz"), "cannot hold", ".json")
    assert not (tmp_path / "day.npz").exists()


def test_plot_draws_map_and_timetable(tmp_path: Path) -> None:
    path = save_day(tmp_path)
    plan = save(tmp_path, "plan.json", '{"routes": [[1, 2], [3]]}')
    assert invoke("plot", path, plan, "--out", tmp_path / "plan.svg").exit_code == 0
    assert "Timetable" in (tmp_path / "plan.svg").read_text() or (tmp_path / "plan.svg").stat().st_size > 10_000


def test_generate_draws_windows_that_can_be_kept(tmp_path: Path) -> None:
    out = tmp_path / "drawn.txt"
    assert invoke("generate", "--size", "12", "--time-windows", "--width", "20", "--out", out).exit_code == 0
    document = invoke_json("info", out)
    assert document["windows"] == 12 and "impossible" not in document


@pytest.mark.parametrize(
    "options", [("--width", "5"), ("--time-windows", "--published"), ("--time-windows", "--horizon", "5")]
)
def test_options_of_windows_that_make_no_sense_are_refused(options: tuple[str, ...], tmp_path: Path) -> None:
    result = invoke("generate", "--size", "12", *options, "--out", tmp_path / "a.json")
    assert result.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_types_that_a_sol_file_cannot_name_are_noted(tmp_path: Path) -> None:
    plan = save(tmp_path, "plan.json", '{"routes": [[1, 2], [3]], "vehicles": ["van", "bicycle"]}')
    result = invoke("convert", plan, tmp_path / "plan.sol")
    assert result.exit_code == 0
    assert "vehicle types are assigned again" in result.stderr


def test_a_plan_that_leaves_customers_out_is_not_measured(tmp_path: Path) -> None:
    result = invoke("evaluate", "--data", save_impossible_to_pack(tmp_path), "--model", "savings", *SEARCH)
    assert_refused(result, "no feasible plan")


def test_info_of_a_set_tells_of_its_fleets(tmp_path: Path) -> None:
    path = save(tmp_path, "set.json", json.dumps([make_day(), make_day()]))
    assert invoke_json("info", path)["fleet"] == "3 vehicles"
