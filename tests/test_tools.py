"""The parts of tools/ that need no network."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from tool_files import TOOLS, load_tool


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a tool by its file, as it imports its neighbours."""
    monkeypatch.syspath_prepend(str(TOOLS))
    return load_tool


def report(**packages: dict[str, object]) -> str:
    return json.dumps({"dependencies": [{"name": name, "version": "1", **of} for name, of in packages.items()]})


SOUND: dict[str, object] = {"vulns": []}
SKIPPED = {"skip_reason": "not found"}
FAULTY = {"vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ({"a": SOUND}, 0, "checked 1 packages: 0 known"),
        ({"a": SOUND, "b": FAULTY}, 1, "vulnerable: b 1: CVE-1, fixed in 2"),
        ({"a": SKIPPED, "b": FAULTY}, 1, "NOT CHECKED, 1 packages: a 1"),
        ({"a": SOUND, "b": SKIPPED}, 2, "NOT CHECKED, 1 packages: b 1"),
        ({"a": SKIPPED}, 2, "Nothing was checked: none of the packages, such as a 1"),
        ({}, 2, "Nothing was checked"),
    ],
)
def test_an_audit_tells_what_it_did_not_check(load: Any, packages: dict[str, Any], code: int, words: str) -> None:
    audit = load("audit").read_report(report(**packages))
    assert audit.exit_code == code
    assert words in str(audit)


def test_an_audit_without_a_database_says_that_it_checked_nothing(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = SimpleNamespace(stdout="", stderr="Connection refused")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert load("audit").audit_pins() == 2
    assert "Nothing was checked" in (told := capsys.readouterr().out)
    assert "Connection refused" in told


def test_licences_are_those_of_what_is_installed(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    audit = load("audit")
    found = {package.name.lower(): audit.find_licence(package) for package in audit.find_requirements("pytest")}
    assert "MIT" in found["pluggy"]


def test_a_list_without_a_hash_or_with_an_address_is_refused(load: Any) -> None:
    hashes = load("hashes")
    hashes.require_hashes("a==1 \\\n    --hash=sha256:00\n")
    for text in ("a==1\n", "--index-url x://y\na==1 --hash=sha256:00\n", ""):
        with pytest.raises(AssertionError):
            hashes.require_hashes(text)
