"""The description of the API, and whether the service does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from running_service import running_service

pytest_plugins = ("service_fixtures",)

# Problems can be wrong in ways that no schema can say (a demand above the capacity), and too large.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = [200, 202, 404, 413, 422, 429]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 413, 415, 422]
"""


def test_every_endpoint_is_described(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()

    operations = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert operations == {
        "POST /v1/solve",
        "POST /v1/check",
        "POST /v1/convert",
        "POST /v1/insert",
        "POST /v1/preview",
        "POST /v1/export",
        "POST /v1/compare",
        "POST /v1/explain",
        "POST /v1/what-if",
        "POST /v1/replan",
        "POST /v1/jobs",
        "GET /v1/jobs/{id}",
        "DELETE /v1/jobs/{id}",
        "GET /v1/jobs/{id}/events",
        "GET /v1/models",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    }


def test_limits_and_models_are_described(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()

    parameters = {entry["name"]: entry["schema"] for entry in document["paths"]["/v1/solve"]["post"]["parameters"]}
    assert parameters["time_limit"]["maximum"] == 30
    assert {"auto", "savings", "amd-20"} <= set(parameters["model"]["enum"])
    customers = document["components"]["schemas"]["SolveRequest"]["properties"]["customers"]
    assert all(choice["maxItems"] == 1_000 for choice in customers["anyOf"])


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/{name}"
        for name in ("solve", "jobs", "check", "convert", "insert", "export", "compare", "explain", "what-if", "replan")
    ],
)
def test_examples_are_answered(client: httpx.Client, path: str) -> None:
    document = client.get("/openapi.json").json()
    content = document["paths"][path]["post"]["requestBody"]["content"]
    name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
    for example in document["components"]["schemas"][name].get("examples", []):
        assert client.post(path, json=example).is_success
    for media_type in content.keys() & {"text/plain", "text/csv"}:
        answer = client.post(path, content=content[media_type]["example"], headers={"Content-Type": media_type})
        assert answer.is_success, answer.text


def test_service_keeps_to_its_description(tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    limits = {"solve_seconds": 0.05, "job_seconds": 0.05, "customers": 20, "work": 100}
    with running_service(tmp_path, **limits) as service:
        result = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                "run",
                f"{service.address}/openapi.json",
                "--seed=1",
                "--max-examples=4",
                "--generation-database=none",
                "--no-color",
            ],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )

        assert result.returncode == 0, result.stdout
        assert "Tested: 18" in result.stdout
        assert "Traceback" not in service.log.read_text()
