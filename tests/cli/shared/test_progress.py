from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from command_line import INSTANCE, invoke, save

from dynaroute.cli.shared.progress import SearchLine, preload_search, show_progress, show_search, show_work
from dynaroute.problem.solution import Solution
from dynaroute.search.search import Improvement
from dynaroute.solving.options import SolveOptions


def improvement(cost: float) -> Improvement:
    return Improvement(0.5, cost, Solution(((1,),)))


def test_line_tells_cost_gain_and_time_left() -> None:
    line = SearchLine(1000.0)
    assert line.__rich__().startswith("searching: ")

    line.note(0, improvement(200.0))
    first = line.__rich__()
    line.note(0, improvement(150.0))
    second = line.__rich__()

    assert first.startswith("searching: cost 200, ")
    assert second.startswith("searching: cost 150 (-25.00 %), ")
    assert "s left" in second


def test_line_tells_the_cost_in_the_unit_of_the_result() -> None:
    line = SearchLine(None, "m")
    line.note(0, improvement(142_026.76))

    assert line.__rich__().startswith("searching: cost 142.0 km, ")


def test_line_without_a_limit_tells_the_time_that_has_passed() -> None:
    assert "left" not in SearchLine(None).__rich__()


def test_time_left_is_never_negative() -> None:
    line = SearchLine(1.0)
    line.began -= 100

    assert "0 s left" in line.__rich__()
    assert "-" not in line.__rich__()


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with show_search(1.0) as note:
        note(0, improvement(200.0))

    assert capsys.readouterr() == ("", "")


def test_line_is_shown_on_a_terminal_and_cleared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a stream pass for a terminal

    with show_search(1.0) as note:
        note(0, improvement(200.0))

    out, err = capsys.readouterr()
    assert out == ""
    assert "cost 200" in err
    assert err.endswith("\x1b[2K")


def test_work_of_many_kinds_has_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    with show_work("starting") as progress:
        progress("the second part", 0.43)

    out, err = capsys.readouterr()
    assert out == ""
    assert "43%" in err
    assert "the second part" in err


def test_work_is_not_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with show_work("starting") as progress:
        progress("the second part", 0.43)

    assert capsys.readouterr() == ("", "")


def test_a_set_without_a_terminal_tells_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.cli.shared.progress.FIRST_LINE_AFTER", 0.01)
    told = ""
    with show_progress(12, "searching") as advance:
        advance(3)
        while "searching: 3 of 12" not in told:
            told += capsys.readouterr().err

    assert capsys.readouterr().out == ""


def test_a_single_instance_that_takes_long_is_told_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.cli.shared.progress.FIRST_LINE_AFTER", 0.01)
    told = ""
    with show_progress(1, "solving"):
        while "solving: 0 of 1 after 0 s" not in told:
            told += capsys.readouterr().err

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("total", [1, 12])
def test_a_set_that_is_done_at_once_is_not_told_of(total: int, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(total, "searching") as advance:
        advance(total)

    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("shelf")
def test_compiling_is_told_where_loading_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    is_told, told = Event(), []

    def note(message: str) -> None:
        told.append(message)
        is_told.set()

    monkeypatch.setattr("dynaroute.cli.shared.progress.USUAL_SECONDS", 0.0)
    monkeypatch.setattr("dynaroute.cli.shared.progress.print_note", note)
    monkeypatch.setattr("dynaroute.solving.choose.load_machine_code", lambda wanted: is_told.wait(60))

    preload_search(SolveOptions(improve="local"), [])

    assert told == ["compiling once for this machine, which takes up to a minute; the time limit starts afterwards."]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("options", [("--improve", "2opt"), ("--improve", "local"), ("--iterations", "1")])
def test_nothing_is_told_where_all_is_ready(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    invoke("solve", path, *options)

    assert "compiling" not in invoke("solve", path, *options).stderr


@pytest.mark.usefixtures("shelf")
def test_nothing_is_loaded_where_nothing_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.solving.choose.load_machine_code", None)  # calling it would fail

    preload_search(SolveOptions(), [])
