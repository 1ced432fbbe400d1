"""The endpoints, over a real port."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from policies import draw_instances
from running_service import INSTANCE, RunningService

from dynaroute.draw import draw_published_set
from dynaroute.formats import format_csv, format_vrplib, instance_from_json, instance_to_json
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.solving.solve import solve

pytest_plugins = ("service_fixtures",)

BIG = instance_to_json(draw_instances(100, capacity=50)[0])


def assert_refused(answer: httpx.Response, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """The one shape of errors, and nothing of the inside in it."""
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.json()
    assert set(document) == {"code", "message", "where", "remedy"}
    assert set(document["where"]) == {"file", "line", "field", "customer"}
    assert document["code"] == code
    assert document["message"]
    assert document["where"]["field"] == field
    for secret in ("Traceback", "dynaroute.", ".py", "/usr", "/home", "pydantic"):
        assert secret not in answer.text
    return document


def assert_solves(instance: Instance, answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    solution = Solution(tuple(map(tuple, document["routes"])), document["cost"])
    assert check(instance, solution) == []
    assert document["loads"] == [float(instance.shown_demand(load)) for load in solution.loads(instance)]
    assert sum(document["route_costs"]) == pytest.approx(document["cost"])
    return document


def test_instance_is_solved(client: httpx.Client) -> None:
    answer = assert_solves(instance_from_json(INSTANCE), client.post("/v1/solve", json=INSTANCE))

    assert answer["instance"] == "small"
    assert answer["cost"] == 14
    assert sorted(map(sorted, answer["routes"])) == [[1, 2], [3]]
    assert answer["timing"]["batch"] == 1


def test_routes_come_in_the_order_of_their_construction(client: httpx.Client) -> None:
    instance = draw_published_set(20, 1).instances()[0]
    built = solve(instance, model="amd-20", device="cpu").solution.routes

    answer = client.post("/v1/solve?model=amd-20", json=instance_to_json(instance)).json()

    assert answer["routes"] == [list(route) for route in built]
    assert answer["model"] == "amd-20"


def test_concurrent_requests_are_solved_together(service: RunningService) -> None:
    instances = draw_published_set(20, 8).instances()

    def ask(instance: Instance) -> dict[str, Any]:
        with service.client() as client:
            return assert_solves(instance, client.post("/v1/solve", json=instance_to_json(instance)))

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, instances))

    assert max(answer["timing"]["batch"] for answer in answers) > 1


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"augment": True}, "greedy x8"),
        ({"decode": "sample", "samples": 4, "seed": 5}, "sample 4"),
        ({"decode": "multistart", "samples": 3}, "multistart 3"),
        ({"improve": "2opt"}, "greedy + 2opt"),
        ({"improve": "local"}, "greedy + local search"),
    ],
)
def test_options_are_obeyed(client: httpx.Client, options: dict[str, Any], method: str) -> None:
    instance = draw_published_set(20, 1).instances()[0]
    document = {**instance_to_json(instance), "options": {"model": "amd-20", **options}}

    assert assert_solves(instance, client.post("/v1/solve", json=document))["method"] == method


def test_search_takes_its_time_and_tells_its_trace(client: httpx.Client) -> None:
    answer = assert_solves(instance_from_json(BIG), client.post("/v1/solve?time_limit=0.5", json=BIG))

    costs = [point["cost"] for point in answer["trace"]]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(answer["cost"])
    assert not answer["is_interrupted"]


def test_instance_of_many_customers_is_solved_by_itself(client: httpx.Client) -> None:
    (instance,) = draw_instances(210, capacity=50)

    assert assert_solves(instance, client.post("/v1/solve?augment=true", json=instance_to_json(instance)))


def test_files_are_solved(client: httpx.Client) -> None:
    instance = instance_from_json(INSTANCE)
    vrp, table = format_vrplib(instance), format_csv(instance)

    assert_solves(instance, client.post("/v1/solve", files={"file": ("my.vrp", vrp)}, data={"decode": "greedy"}))
    assert_solves(instance, client.post("/v1/solve", content=table, headers={"Content-Type": "text/csv"}))
    assert_solves(instance, client.post("/v1/solve", content=vrp, headers={"Content-Type": "text/plain"}))


def test_file_is_converted(client: httpx.Client) -> None:
    table = "x,y,demand\n0,0,0\n1,1,3\n"

    answer = client.post("/v1/convert?capacity=5", files={"file": ("my.csv", table)})

    assert answer.status_code == 200
    assert instance_from_json(answer.json()) == instance_from_json(
        {"capacity": 5, "depot": {"x": 0, "y": 0}, "customers": [{"x": 1, "y": 1, "demand": 3}]}
    )


def test_remarks_about_the_input_are_told(client: httpx.Client) -> None:
    answer = client.post("/v1/solve", json={**INSTANCE, "colour": "red"}).json()

    assert any("colour" in message for message in answer["messages"])


def test_right_solution_is_right(client: httpx.Client) -> None:
    body = {"instance": INSTANCE, "solution": {"routes": [[1, 2], [3]], "cost": 14}}

    assert client.post("/v1/check", json=body).json() == {"ok": True, "cost": 14.0, "violations": []}


def test_wrong_solution_is_told_why(client: httpx.Client) -> None:
    answer = client.post("/v1/check", json={"instance": INSTANCE, "solution": {"routes": [[1, 7]]}}).json()

    assert not answer["ok"]
    assert answer["cost"] is None
    assert [violation["kind"] for violation in answer["violations"]] == ["unknown", "missing", "missing"]


def test_models_are_listed(client: httpx.Client) -> None:
    models = {model["name"]: model for model in client.get("/v1/models").json()["models"]}

    assert models["amd-20"]["size"] == 20
    assert models["amd-20"]["kind"] == "AM-D"


def test_health_and_readiness_differ(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "live"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_metrics_count_requests_and_batches(client: httpx.Client) -> None:
    client.post("/v1/solve", json=INSTANCE)

    lines = client.get("/metrics").text.splitlines()

    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    assert values['dynaroute_requests_total{method="POST",route="/v1/solve",status="200"}'] >= 1
    assert values["dynaroute_batch_size_sum"] >= values["dynaroute_batch_size_count"] >= 1
    assert {"dynaroute_waiting_solves", "dynaroute_waiting_searches", "dynaroute_jobs"} <= values.keys()
    assert any(name.startswith('dynaroute_request_seconds_bucket{le="0.1",route="/v1/solve"') for name in values)


def test_job_improves_while_one_looks_and_ends_when_deleted(client: httpx.Client) -> None:
    created = client.post("/v1/jobs?time_limit=300", json=BIG)
    assert created.status_code == 202
    path = created.headers["Location"]
    assert path == f"/v1/jobs/{created.json()['id']}"

    with client.stream("GET", f"{path}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event")) == "event: improvement"
        best = json.loads(next(lines := filter(lambda line: line.startswith("data"), lines)).removeprefix("data: "))
    running = client.get(path).json()
    assert running["state"] == "running"
    assert running["best"]["cost"] <= best["cost"]

    deleted = client.delete(path)

    assert deleted.json()["state"] == "stopped"
    assert deleted.json()["result"]["cost"] <= running["best"]["cost"]
    assert_refused(client.delete(path), 404, "not_found", "id")
    assert_refused(client.get(path), 404, "not_found", "id")
    assert_refused(client.get(f"{path}/events"), 404, "not_found", "id")


def test_finished_job_is_kept_until_it_is_deleted(client: httpx.Client) -> None:
    path = client.post("/v1/jobs?time_limit=0.1", json=INSTANCE).headers["Location"]
    with client.stream("GET", f"{path}/events") as stream:
        events = [line for line in stream.iter_lines() if line.startswith("event")]
    assert events[-1] == "event: end"

    finished = client.get(path).json()

    assert finished["state"] == "finished"
    assert finished["result"]["cost"] == 14
    assert client.delete(path).json()["result"] == finished["result"]
    assert_refused(client.delete(path), 404, "not_found", "id")


@pytest.mark.parametrize("body", [b"", b"{", b'{"capacity": NaN}', b"\xff"])
def test_malformed_json_is_400(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/v1/solve", content=body, headers={"Content-Type": "application/json"})

    assert_refused(answer, 400, "json")


def test_impossible_problem_is_422_and_names_the_field(client: httpx.Client) -> None:
    answer = client.post("/v1/solve", json={**INSTANCE, "capacity": 8})

    assert assert_refused(answer, 422, "instance", "customers[2].demand")["where"]["customer"] == 3


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("seed=-1", "seed"),
        ("decode=guess", "decode"),
        ("augment=1", "augment"),
        ("time_limit=1e9", "time_limit"),
        ("time_limit=nan", "time_limit"),
        ("decode=sample&samples=100000", "samples"),
        ("model=nobody", "model"),
        ("model=/etc", "model"),
        ("haste=1", "haste"),
    ],
)
def test_faulty_option_is_422_and_named(client: httpx.Client, query: str, field: str) -> None:
    assert_refused(client.post(f"/v1/solve?{query}", json=INSTANCE), 422, "option", field)


def test_unknown_media_type_is_415(client: httpx.Client) -> None:
    assert_refused(client.post("/v1/solve", data={"capacity": "1"}), 415, "media_type", "Content-Type")
    compressed = client.post(
        "/v1/solve", content=b"x", headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    )
    assert_refused(compressed, 415, "media_type", "Content-Encoding")


def test_ten_thousand_customers_are_413(client: httpx.Client) -> None:
    document = {**INSTANCE, "customers": [{"x": 1, "y": 1, "demand": 1}] * 10_000}

    answer = assert_refused(client.post("/v1/solve", json=document), 413, "too_large", "customers")

    assert "10000 customers" in answer["message"]


def test_unknown_address_is_404_and_wrong_method_405(client: httpx.Client) -> None:
    assert_refused(client.get("/v1/nothing"), 404, "not_found")
    assert_refused(client.get("/page/../../settings.py"), 404, "not_found")
    assert_refused(client.get("/page/nothing.js"), 404, "not_found")
    wrong = client.put("/v1/jobs/1", json={})
    assert_refused(wrong, 405, "method")
    assert wrong.headers["Allow"] == "GET, DELETE"


def test_lone_surrogates_do_no_harm(client: httpx.Client) -> None:
    body = json.dumps({**INSTANCE, "max_\ud800": 1}).encode()

    answer = client.post("/v1/solve", content=body, headers={"Content-Type": "application/json"})

    assert_refused(answer, 422, "unsupported", "max_\\ud800")


def test_page_is_served_and_may_load_from_here_alone(client: httpx.Client) -> None:
    page = client.get("/")

    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/index.html").content == page.content
