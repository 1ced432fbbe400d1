"""Any value in any place of a request is read, or refused by name: never an unexpected error, which is a 500."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from extreme_documents import DIGITS, EXTREMES, FLEET, GLOBE, JUDGED, MATRIX, PLAN, replace_each
from running_service import running_service

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats.json.instance import parse_json
from dynaroute.plans.files.json import parse_json_plan
from dynaroute.service.messages.reading import read_solvable_problem
from dynaroute.service.messages.refusals import to_response
from dynaroute.service.messages.request_options import choose_options
from dynaroute.service.messages.request_schemas import FileOptions
from dynaroute.service.messages.sizes import ReadingLimits
from dynaroute.service.web.endpoints.solving import convert, insert, judge

pytest_plugins = ("service_fixtures",)

JSON = "application/json"
NO_OPTIONS = FileOptions()
LIMITS = ReadingLimits(customers=100, stops=1_000, vehicle_types=100, name_length=500)
LARGEST = 10_000_000  # bytes of an answer


def read_to_solve(body: bytes) -> None:
    problem = read_solvable_problem(body, JSON, NO_OPTIONS, LIMITS)
    choose_options(problem.options, "none", 30.0)


def answer_conversion(body: bytes) -> None:
    convert(body, content_type=JSON, query=NO_OPTIONS, limits=LIMITS, largest=LARGEST)


def answer_check(body: bytes) -> None:
    judge(body, content_type=JSON, limits=LIMITS, largest=LARGEST)


def answer_insertion(body: bytes) -> None:
    insert(body, content_type=JSON, limits=LIMITS, largest=LARGEST)


def read_file(body: bytes) -> None:
    parse_json(body.decode())


DOORS: dict[str, tuple[Callable[[bytes], None], list[dict[str, Any]]]] = {
    "solve": (read_to_solve, [FLEET, MATRIX, GLOBE]),
    "convert": (answer_conversion, [FLEET, MATRIX]),
    "check": (answer_check, [JUDGED]),
    "insert": (answer_insertion, [PLAN]),
    "file": (read_file, [FLEET, MATRIX]),
    "plan": (lambda body: (parse_json_plan(body.decode()), None)[1], [PLAN["plan"]]),
}


@pytest.mark.parametrize("door", DOORS)
def test_documents_are_sound_before_a_value_is_replaced(door: str) -> None:
    enter, documents = DOORS[door]
    for document in documents:
        with gather_notes():
            enter(json.dumps(document).encode())


@pytest.mark.parametrize("extreme", EXTREMES, ids=lambda extreme: extreme[:16])
@pytest.mark.parametrize("door", DOORS)
def test_any_value_in_any_place_is_read_or_refused(door: str, extreme: str) -> None:
    enter, documents = DOORS[door]
    for document in documents:
        for body in replace_each(document, extreme):
            try:
                with gather_notes():
                    enter(body)
            except DynarouteError as error:
                assert to_response(error).status_code < 500
                str(error).encode()


@pytest.mark.parametrize("field", ["distances", "durations"])
def test_number_of_hundreds_of_digits_in_a_matrix_is_422(client: httpx.Client, field: str) -> None:
    content = json.dumps({**MATRIX, field: [[0, 1, 2], [3, 0, int(DIGITS)], [5, 6, 0]]}).encode()

    answer = client.post("/v1/solve", content=content, headers={"Content-Type": JSON})

    assert (answer.status_code, answer.json()["where"]["field"]) == (422, f"{field}[1][2]")


def test_no_request_makes_the_service_fail(tmp_path: Path) -> None:
    hooks = Path(__file__).parents[2] / "support" / "extreme_requests.py"
    (tmp_path / "schemathesis.toml").write_text(f"hooks = '{hooks}'\n")
    limits = {"solve_seconds": 0.05, "job_seconds": 0.05, "customers": 20, "work": 100}
    with running_service(tmp_path, **limits) as service:
        result = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                "run",
                f"{service.address}/openapi.json",
                "--checks=not_a_server_error",
                "--phases=fuzzing,stateful",
                "--seed=1",
                "--include-path-regex=^/v1/(solve|check|convert|insert|jobs)",
                "--max-examples=25",
                "--no-shrink",
                "--generation-database=none",
                "--no-color",
            ],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )

        assert result.returncode == 0, result.stdout
        assert "Traceback" not in service.log.read_text()
