"""Plans on the command line: one command from a file to drivers' sheets, and from a plan to all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import INSTANCE, assert_refused, invoke, invoke_json, save

from dynaroute.plans import PLAN_SUFFIXES

GLOBE = """\
# capacity: 10
id;lat;lon;demand;name
depot;53,55;9,99;0;Hafen
A-1;53,6;9,9;4;Anna
=B;53,52;10,1;3;Bert
C;53,58;10,02;2;Cleo
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    assert invoke("solve", save(tmp_path, "day.csv", GLOBE), "--fast", "--out", path).exit_code == 0
    return path


@pytest.mark.parametrize("suffix", PLAN_SUFFIXES)
def test_solve_writes_every_format(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path, "day.csv", GLOBE)
    assert invoke("solve", path, "--fast", "--out", tmp_path / f"plan{suffix}").exit_code == 0

    assert (tmp_path / f"plan{suffix}").stat().st_size > 0


def test_one_command_writes_plan_sheets_and_table(tmp_path: Path) -> None:
    path, sheets = save(tmp_path, "day.csv", GLOBE), tmp_path / "sheets"
    outs = ("--out", tmp_path / "plan.json", "--out", tmp_path / "stops.xlsx", "--sheets", sheets)
    assert invoke("solve", path, "--fast", *outs).exit_code == 0

    assert sorted(file.name for file in tmp_path.iterdir()) == ["day.csv", "plan.json", "sheets", "stops.xlsx"]
    assert [file.name for file in sheets.iterdir()] == ["route-01.html"]


def test_a_plan_without_such_a_format_is_told_those_that_there_are(plan: Path) -> None:
    result = invoke("convert", plan, plan.with_suffix(".docx"))

    assert_refused(result, "'.docx'", ".pdf", ".gpx", ".xlsx", ".vrp")


def test_a_speed_on_the_globe_is_told_in_kilometres_an_hour(tmp_path: Path) -> None:
    assert "at 30 km/h" in invoke("info", save(tmp_path, "day.csv", GLOBE), "--speed", "30km/h").stdout


def test_costs_have_a_unit_and_sensible_digits(tmp_path: Path) -> None:
    path = save(tmp_path, "day.csv", GLOBE)
    printed = invoke("solve", path, "--fast").stdout

    assert "cost 32.87 km" in printed
    assert "A-1" in printed
    (document,) = invoke_json("solve", path, "--fast")
    assert document["unit"] == "m"
    assert document["cost"] == pytest.approx(32_874, abs=1)
    assert sorted(document["ids"][0]) == ["=B", "A-1", "C"]


def test_lengths_without_a_unit_have_none(tmp_path: Path) -> None:
    (document,) = invoke_json("solve", save(tmp_path, "a.vrp", INSTANCE), "--fast")

    assert document["unit"] is None
    assert document["ids"] == [list(map(str, route)) for route in document["routes"]]


@pytest.mark.parametrize("suffix", [".geojson", ".gpx", ".kml"])
def test_maps_of_a_plane_are_refused_before_any_work(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    out = tmp_path / f"plan{suffix}"

    assert_refused(invoke("solve", path, "--out", out), suffix, "places in degrees", "x and y in a plane")
    assert not out.exists()


def test_several_instances_have_no_sheets(tmp_path: Path) -> None:
    paths = [save(tmp_path, f"{name}.vrp", INSTANCE) for name in "ab"]

    assert_refused(invoke("solve", *paths, "--fast", "--sheets", tmp_path / "s"), "--sheets", "one instance")
    assert_refused(invoke("solve", *paths, "--fast", "--out", tmp_path / "p.html"), ".html file holds one solution")


@pytest.mark.parametrize("suffix", [suffix for suffix in PLAN_SUFFIXES if suffix != ".json"])
def test_plan_converts_to_every_format(plan: Path, suffix: str) -> None:
    target = plan.with_name(f"other{suffix}")

    assert invoke_json("convert", plan, target)["kind"] == "plan"
    assert target.stat().st_size > 0


def test_plan_converts_to_sheets_and_to_its_problem(plan: Path) -> None:
    assert invoke("convert", plan, plan.with_name("sheets")).exit_code == 0
    assert [file.name for file in plan.with_name("sheets").iterdir()] == ["route-01.html"]
    result = invoke("convert", plan, plan.with_name("set.npz"))
    assert result.exit_code == 2
    assert ".npz file cannot hold customer names" in result.stderr


def test_plan_is_drawn_checked_and_described_by_itself(plan: Path) -> None:
    assert invoke_json("plot", plan, "--out", plan.with_name("a.png"), "--names")["routes"] == 1
    assert invoke_json("check", plan)["ok"] is True
    assert "32.87 km" in invoke("check", plan).stdout
    document = invoke_json("info", plan)
    assert (document["kind"], document["routes"], document["customers"]) == ("plan", 1, 3)
    assert "1 routes, 32.87 km" in invoke("info", plan).stdout


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".geojson", ".sol", ".json"])
def test_written_routes_are_checked_drawn_and_searched_from(plan: Path, suffix: str) -> None:
    routes, instance = plan.with_name(f"routes{suffix}"), plan.with_name("day.csv")
    if suffix == ".json":
        routes = plan
    else:
        assert invoke("convert", plan, routes).exit_code == 0

    assert invoke_json("check", instance, routes)["ok"] is True
    (document,) = invoke_json("solve", instance, "--start", routes, "--iterations", "5")
    assert document["routes"] == json.loads(plan.read_text())["routes"]


def test_check_without_routes_says_what_is_missing(tmp_path: Path) -> None:
    assert_refused(invoke("check", save(tmp_path, "a.json", '{"capacity": 1, "customers": []}')), "a.json")


def test_wrong_plan_names_customers_by_their_ids(plan: Path) -> None:
    document = json.loads(plan.read_text())
    document["routes"][0].remove(1)
    plan.write_text(json.dumps(document))

    result = invoke("check", plan)
    assert result.exit_code == 1
    assert "A-1" in result.stdout


NEW = "id;lat;lon;demand\nN-1;53,55;10,0;1\n"


def test_insert_tells_route_stop_and_cost_and_writes_the_plan(plan: Path) -> None:
    customers = save(plan.parent, "new.csv", NEW)
    document = invoke_json("insert", plan, customers, "--out", plan.with_name("more.json"))

    (insertion,) = document["insertions"]
    assert (insertion["id"], insertion["route"], insertion["customer"]) == ("N-1", 1, 4)
    assert document["cost"] == pytest.approx(document["cost_before"] + insertion["cost"])
    assert document["unit"] == "m"
    assert invoke_json("check", plan.with_name("more.json"))["ok"] is True
    printed = invoke("insert", plan, customers).stdout
    assert "N-1" in printed and "km" in printed


def test_insert_ends_with_4_where_a_customer_fits_nowhere(plan: Path) -> None:
    document = json.loads(plan.read_text())
    document["instance"]["vehicles"] = [{"name": "van", "capacity": 10, "count": 1}]
    plan.write_text(json.dumps(document))
    customers = save(plan.parent, "new.csv", NEW.replace(";1\n", ";9\n"))
    result = invoke("insert", plan, customers, "--out", plan.with_name("more.json"))

    assert result.exit_code == 4
    assert json.loads(plan.with_name("more.json").read_text())["unserved"] == [4]
    assert "no vehicle has room or time for N-1" in result.stderr


@pytest.mark.parametrize("command", ["convert", "insert"])
def test_plan_that_hides_faults_ends_with_1_and_writes_nothing(plan: Path, command: str) -> None:
    document = json.loads(plan.read_text())
    document["routes"][0].remove(1)
    document["loads"] = [3]
    plan.write_text(json.dumps(document))
    target = plan.with_name("other.json")
    second = (
        (target.with_suffix(".csv"),) if command == "convert" else (save(plan.parent, "new.csv", NEW), "--out", target)
    )
    before = set(plan.parent.iterdir())
    result = invoke(command, plan, *second)

    assert result.exit_code == 1
    assert set(plan.parent.iterdir()) == before
    message = " ".join(result.stderr.split())
    assert "Customer 1 (A-1) is not visited." in message
    assert "Route 1 has 2 stops, but 3 ids." in message
    assert "The stated load of route 1 is 3, but it carries 5." in message
    error = json.loads(invoke(command, plan, *second, "--json").stderr)
    assert {violation["kind"] for violation in error["violations"]} == {"missing", "ids", "loads", "cost"}


def test_plan_without_feasible_routes_is_converted_and_inserted_into_and_says_so(tmp_path: Path) -> None:
    day = {
        "depot": {"x": 0, "y": 0},
        "vehicles": [{"capacity": 7, "count": 1}, {"capacity": 5, "count": 1}],
        "customers": [{"id": name, "x": 1, "y": place, "demand": 3} for place, name in enumerate("ABCD")],
    }
    path, out = save(tmp_path, "day.json", json.dumps(day)), tmp_path / "plan.json"
    assert invoke("solve", path, "--iterations", "200", "--out", out).exit_code == 4
    (missing,) = ("ABCD"[customer - 1] for customer in json.loads(out.read_text())["unserved"])
    said = f"({missing}) is not visited"

    converted = invoke("convert", out, tmp_path / "plan.csv")
    assert converted.exit_code == 0
    assert said in " ".join(converted.stderr.split())
    inserted = invoke(
        "insert", out, save(tmp_path, "new.csv", "id,x,y,demand\nN,1,1,1\n"), "--out", tmp_path / "2.json"
    )
    assert inserted.exit_code == 0
    assert said in " ".join(inserted.stderr.split())
    assert invoke("insert", tmp_path / "2.json", save(tmp_path, "m.csv", "id,x,y,demand\nM,1,1,1\n")).exit_code == 0


def test_check_finds_false_ids_and_loads(plan: Path) -> None:
    document = json.loads(plan.read_text())
    document["ids"][0].reverse()
    document["loads"] = [8]
    plan.write_text(json.dumps(document))

    for arguments in ((plan,), (plan.with_name("day.csv"), plan)):
        result = invoke("check", *arguments, "--json")
        assert result.exit_code == 1
        assert {violation["kind"] for violation in json.loads(result.stdout)["violations"]} == {"ids", "loads"}


TIMED = """\
{"depot": {"lat": 53.55, "lon": 9.99, "window": ["06:00", "18:00"]}, "speed": 10,
 "vehicles": [{"name": "van", "capacity": 10, "count": 1}],
 "customers": [{"id": "A", "lat": 53.60, "lon": 9.99, "demand": 1, "window": ["08:30", "12:00"]}]}
"""


def test_insert_tells_which_vehicles_depart_earlier_than_before(tmp_path: Path) -> None:
    path, plan = save(tmp_path, "day.json", TIMED), tmp_path / "plan.json"
    assert invoke("solve", path, "--fast", "--out", plan).exit_code == 0
    early = save(tmp_path, "new.csv", "id,lat,lon,demand,service,window\nN,53.57,9.99,1,30 min,07:00-12:00\n")
    result = invoke("insert", plan, early)

    assert result.exit_code == 0
    assert "Route 1, van departs at 07:50:44 instead of 08:20:44, a time that may have passed." in result.stderr
    (earlier,) = invoke_json("insert", plan, early)["earlier"]
    assert earlier["after"] < earlier["before"]
    late = save(tmp_path, "late.csv", "id,lat,lon,demand,window\nN,53.57,9.99,1,12:00-17:00\n")
    assert "departs" not in invoke("insert", plan, late).stderr
    assert invoke_json("insert", plan, late)["earlier"] == []


def test_insert_refuses_what_is_no_plan_and_what_it_would_replace(plan: Path) -> None:
    customers = save(plan.parent, "new.csv", NEW)

    assert_refused(invoke("insert", plan.with_name("day.csv"), customers), "day.csv", "plan with its instance")
    assert_refused(invoke("insert", plan, customers, "--out", plan), "would replace")
    assert_refused(invoke("insert", plan, customers, "--out", plan.with_name("a.doc")), "no format '.doc'")


def test_kept_routes_stay_in_a_search(tmp_path: Path) -> None:
    path = tmp_path / "a.vrp"
    assert invoke("generate", "--size", "20", "--count", "1", "--seed", "1", "--out", path).exit_code == 0
    assert invoke("solve", path, "--fast", "--out", tmp_path / "plan.json").exit_code == 0
    before = json.loads((tmp_path / "plan.json").read_text())
    start = ("solve", path, "--start", tmp_path / "plan.json")
    (after,) = invoke_json(*start, "--keep", "route:2", "--keep", "stop:3", "--iterations", "50")

    assert after["routes"][1] == before["routes"][1]
    assert after["cost"] <= before["cost"] + 1e-9
    assert after["trace"][0][1] == pytest.approx(before["cost"])
    assert_refused(invoke("solve", path, "--keep", "route:2", "--iterations", "5"), "--keep", "--start")
    assert_refused(invoke(*start, "--keep", "route:2", "--improve", "local"), "--keep", "without a search")
    assert_refused(invoke(*start, "--keep", "route:99", "--iterations", "5"), "--keep", "no route '99'")


DAY = [f"K{number:02},{number * 37 % 101},{number * 53 % 97},{number % 5 + 1}" for number in range(1, 21)]


def save_day(folder: Path, name: str, rows: list[str]) -> Path:
    return save(folder, name, "\n".join(["# capacity: 20", "id,x,y,demand", "depot,50,50,0", *rows, ""]))


@pytest.mark.parametrize("suffix", [".json", ".csv", ".xlsx"])
def test_kept_route_has_the_same_customers_in_a_sorted_file(tmp_path: Path, suffix: str) -> None:
    plan = tmp_path / f"plan{suffix}"
    outs = ("--out", plan, "--out", tmp_path / "first.json")
    assert invoke("solve", save_day(tmp_path, "day.csv", DAY), "--iterations", "50", *outs).exit_code == 0
    before = json.loads((tmp_path / "first.json").read_text())["ids"]
    other = save_day(tmp_path, "sorted.csv", sorted(DAY, key=lambda row: row.split(",")[1]))
    (after,) = invoke_json("solve", other, "--start", plan, "--keep", "route:1", "--iterations", "50")

    assert after["ids"][0] == before[0]
    assert invoke_json("check", other, plan)["ok"] is True


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_customers_that_are_gone_or_new_are_told_and_the_others_kept(tmp_path: Path, suffix: str) -> None:
    plan = tmp_path / f"plan{suffix}"
    outs = ("--out", plan, "--out", tmp_path / "first.json")
    assert invoke("solve", save_day(tmp_path, "day.csv", DAY), "--iterations", "50", *outs).exit_code == 0
    first, second, *_ = json.loads((tmp_path / "first.json").read_text())["ids"]
    rows = [row for row in reversed(DAY) if row[:3] not in (first[0], second[0])]
    other = save_day(tmp_path, "other.csv", [*rows, "N-1,10,10,1"])
    result = invoke("solve", other, "--start", plan, "--keep", "route:1", "--iterations", "50", "--json")

    assert result.exit_code == 0
    (after,) = json.loads(result.stdout)
    assert after["ids"][0] == first[1:]
    assert sorted(name for route in after["ids"] for name in route) == sorted([row[:3] for row in rows] + ["N-1"])
    note = " ".join(result.stderr.split())
    assert f"customers {first[0]}, {second[0]} of the known routes are gone" in note
    assert "customer N-1 is new" in note


def test_kept_routes_that_leave_too_little_for_new_customers_are_refused(tmp_path: Path) -> None:
    customers = [{"id": "A", "x": 1, "y": 0, "demand": 3}, {"id": "B", "x": -1, "y": 0, "demand": 3}]
    day = {"depot": {"x": 0, "y": 0}, "vehicles": [{"capacity": 5, "count": 2}], "customers": customers}
    path, plan = save(tmp_path, "day.json", json.dumps(day)), tmp_path / "plan.json"
    save(tmp_path, "plan.json", json.dumps({"instance": day, "routes": [[1], [2]]}))
    start = ("--start", plan, "--iterations", "5")
    assert invoke("solve", path, *start, "--keep", "route:1").exit_code == 0
    customers += [{"id": "N", "x": 2, "y": 0, "demand": 2}, {"id": "M", "x": 2, "y": 1, "demand": 2}]
    more = save(tmp_path, "more.json", json.dumps(day))

    assert invoke("solve", more, *start).exit_code == 0
    refused = invoke("solve", more, *start, "--keep", "route:1", "--json")
    assert refused.exit_code == 2
    assert "with what is not kept: all customers demand 7" in json.loads(refused.stderr)["message"]


def test_false_cost_of_a_start_is_a_note_and_is_not_written_again(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    start = save(tmp_path, "start.sol", "Route #1: 1 2\nRoute #2: 3\nCost 15\n")
    result = invoke("solve", path, "--start", start, "--improve", "2opt", "--out", tmp_path / "plan.json")

    assert result.exit_code == 0
    assert "The stated cost is 15, but the routes cost 14." in result.stderr
    assert json.loads((tmp_path / "plan.json").read_text())["cost"] == 14
    assert_refused(
        invoke("solve", path, "--start", save(tmp_path, "b.sol", "Route #1: 1 2\n"), "--improve", "2opt"), "b.sol"
    )


def test_german_export_of_a_spreadsheet_becomes_drivers_sheets_in_one_command(tmp_path: Path) -> None:
    rows = [
        "Kundennummer;Name;Straße;Breitengrad;Längengrad;Menge (kg);Telefon",
        "Depot;Zentrale;Hafenstr. 1;53,5503;9,9920;;",
        "007;Müller & Söhne;=Weg 1;53,6010;9,9010;12,5 kg;+49 40 1",
        "1002;Café Öl;Weg 2;53,5210;10,1020;3,25 kg;+49 40 2",
    ]
    (tmp_path / "export.csv").write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    outs = [part for suffix in PLAN_SUFFIXES for part in ("--out", tmp_path / f"plan{suffix}")]
    result = invoke(
        "solve", tmp_path / "export.csv", "--capacity", "20 kg", "--fast", "--sheets", tmp_path / "sheets", *outs
    )

    assert result.exit_code == 0
    sheet = (tmp_path / "sheets" / "route-01.html").read_text(encoding="utf-8")
    assert "Müller &amp; Söhne" in sheet and "007" in sheet and "+49 40 1" in sheet and "15.75 von 20" in sheet
    assert "'=Weg 1" in (tmp_path / "plan.csv").read_text(encoding="utf-8")
    for suffix in (".csv", ".xlsx", ".geojson", ".json"):
        routes = tmp_path / f"plan{suffix}"
        assert invoke_json("check", tmp_path / "export.csv", routes, "--capacity", "20")["ok"] is True
