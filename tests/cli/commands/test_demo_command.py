from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import invoke

from dynaroute.study import demo


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "COUNT", 1)
    monkeypatch.setitem(demo._STAGES, "AM-D and search", {"model": demo.MODEL, "iterations": 1000})


def test_the_demo_prints_tables_and_writes_what_it_shows(tmp_path: Path) -> None:
    told = invoke("demo", "--out", tmp_path).stdout

    for words in ("savings", "AM-D, greedy", "AM-D, 2OPT", "AM-D, best of 8", "AM-D and search", "16.40", "15.979"):
        assert words in told
    assert (tmp_path / "demo.png").stat().st_size > 10_000
    assert invoke("check", tmp_path / "instance.vrp", tmp_path / "instance.sol").exit_code == 0


def test_json_has_every_stage(tmp_path: Path) -> None:
    document = json.loads(invoke("demo", "--out", tmp_path, "--json").stdout)

    assert document["stages"][0]["name"] == "savings"
    assert document["published"][0]["paper"] == 16.4
    assert Path(document["picture"]).is_file()
