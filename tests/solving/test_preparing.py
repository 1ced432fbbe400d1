from __future__ import annotations

from typing import Any

import pytest

from dynaroute.solver import solve
from dynaroute.solving.preparing import prepare


@pytest.mark.parametrize("way", ["2opt", "local", "search"])
def test_way_is_tried_on_something_tiny(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []

    def note(*arguments: Any, **settings: Any) -> Any:
        results.append(solve(*arguments, **settings))

    monkeypatch.setattr("dynaroute.solving.preparing.solve", note)

    prepare(way)

    (result,) = results
    assert result.trace


def test_nothing_needs_no_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.solving.preparing.solve", None)  # calling it would fail

    prepare("none")
