from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from command_line import INSTANCE, invoke, save

from dynaroute.cli.shared.loading import preload_search
from dynaroute.search.improvers import IMPROVERS, Improver
from dynaroute.solving.options import SolveOptions

pytestmark = pytest.mark.usefixtures("shelf")


def test_compiling_is_told_where_loading_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    is_told, told = Event(), []

    class SlowToLoad(Improver):
        def prepare(self, largest: int | None = None) -> None:
            is_told.wait(60)

    def note(message: str) -> None:
        told.append(message)
        is_told.set()

    monkeypatch.setattr("dynaroute.cli.shared.loading.USUAL_SECONDS", 0.0)
    monkeypatch.setattr("dynaroute.cli.shared.loading.print_note", note)
    monkeypatch.setitem(IMPROVERS, "local", SlowToLoad())

    preload_search(SolveOptions(improve="local"), [])

    assert told == ["compiling once for this machine; the time limit starts afterwards."]


@pytest.mark.parametrize("options", [("--improve", "2opt"), ("--improve", "local"), ("--iterations", "1")])
def test_nothing_is_told_where_all_is_ready(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    invoke("solve", path, *options)

    assert "compiling" not in invoke("solve", path, *options).stderr


def test_nothing_is_loaded_where_nothing_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in IMPROVERS:
        monkeypatch.setitem(IMPROVERS, name, None)  # preparing it would fail

    preload_search(SolveOptions(), [])
