from __future__ import annotations

import pytest
from command_line import invoke, invoke_json

from dynaroute.study.doctor import Finding

FINE = Finding("versions", "PyTorch", "ok", "2.13.0", details={"version": "2.13.0"})
NOTE = Finding("extras", "serve", "note", "not installed", "pip install it.")
PROBLEM = Finding("models", "amd-20", "problem", "cannot be loaded", "Install it again.")


def find(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr("dynaroute.study.doctor.examine", lambda: iter(findings))


def test_real_installation_works() -> None:
    result = invoke("doctor")

    assert result.exit_code == 0, result.output
    assert "Dynaroute works here" in result.stdout


def test_notes_and_what_to_do_are_told_and_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    find(monkeypatch, FINE, NOTE)

    result = invoke("doctor")

    assert result.exit_code == 0
    assert "serve: not installed\n           pip install it.\n" in result.stdout
    assert result.stdout.endswith("Dynaroute works here; 1 note.\n")


def test_problem_exits_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    find(monkeypatch, FINE, NOTE, PROBLEM)

    result = invoke("doctor")

    assert result.exit_code == 1
    assert "1 problem: " in result.stdout


def test_json_holds_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    find(monkeypatch, FINE, NOTE)

    document = invoke_json("doctor")

    assert document["ok"] is True
    assert document["findings"][0] == {
        "topic": "versions",
        "subject": "PyTorch",
        "status": "ok",
        "found": "2.13.0",
        "remedy": "",
        "details": {"version": "2.13.0"},
    }
    assert [finding["status"] for finding in document["findings"]] == ["ok", "note"]


def test_json_of_a_broken_installation_exits_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    find(monkeypatch, PROBLEM)

    result = invoke("doctor", "--json")

    assert result.exit_code == 1
    assert '"ok": false' in result.stdout


def test_real_findings_are_json() -> None:
    findings = invoke_json("doctor")["findings"]

    assert {"versions", "hardware", "caches", "extras", "models", "trial"} == {finding["topic"] for finding in findings}
