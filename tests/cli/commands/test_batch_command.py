from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import invoke, invoke_json

from dynaroute.cli.commands.batch import describe_progress, show_batch
from dynaroute.draw import draw_paper_set
from dynaroute.formats import write
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.run import Progress
from dynaroute.solving.solve import solve


@pytest.fixture
def input_file(tmp_path: Path) -> Path:
    write(draw_paper_set(6, 8, np.random.default_rng(0), 20).instances(), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def break_first_row(file: Path) -> None:
    table = pq.read_table(file)
    capacities = [None, *table.column("capacity").to_pylist()[1:]]
    place = table.column_names.index("capacity")
    pq.write_table(table.set_column(place, "capacity", pa.array(capacities)), file)


def routes_in(folder: Path) -> dict[str, object]:
    rows = pq.read_table(folder).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: (row["routes"], row["cost"], row["checked"]) for row in rows}


def test_the_summary_tells_rows_costs_and_rate(input_file: Path, tmp_path: Path) -> None:
    result = invoke("batch", input_file, "--out", tmp_path / "out", "--model", "savings", "--workers", "1")
    assert result.exit_code == 0, result.stderr
    for words in ("rows         8", "with errors  0", "mean cost", "savings", "solved now   8", "costs", "####"):
        assert words in result.stdout


def test_rows_with_errors_are_told_and_the_exit_code_is_3(input_file: Path, tmp_path: Path) -> None:
    break_first_row(input_file)
    result = invoke("batch", input_file, "--out", tmp_path / "out", "--model", "savings", "--workers", "1", "--json")
    assert result.exit_code == 3
    summary = json.loads(result.stdout)
    assert (summary["rows"], summary["failed"]) == (8, 1)
    assert summary["errors"][0]["id"] == "1"


def test_shards_are_merged(input_file: Path, tmp_path: Path) -> None:
    for index in (1, 2):
        invoke_json(
            *("batch", input_file, "--out", tmp_path / f"s{index}", "--shard", f"{index}/2"),
            *("--model", "savings", "--workers", "1"),
        )
    merged = invoke_json("merge", tmp_path / "s1", tmp_path / "s2", "--out", tmp_path / "all")
    assert (merged["rows"], merged["failed"]) == (8, 0)
    assert set(routes_in(tmp_path / "all")) == {str(number) for number in range(1, 9)}
    result = invoke("merge", tmp_path / "s1", "--out", tmp_path / "less")
    assert result.exit_code == 2
    assert "are missing" in result.stderr
    assert not (tmp_path / "less").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard", "3/2"], "--shard: there is no shard 3 of 2"),
        (["--address", "head:6379"], "--address: the local engine has no option address"),
        (["--time-limit", "1", "--total-time", "1"], "Give one of the two"),
        (["--model", "nowhere"], "there is no model 'nowhere'"),
    ],
)
def test_wrong_options_are_refused(input_file: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    result = invoke("batch", input_file, "--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_without_pyarrow_the_extra_is_named(input_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = invoke("batch", input_file, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "pip install '.[batch]'" in result.stderr


def test_wrong_routes_are_not_merged_and_the_exit_code_is_1(input_file: Path, tmp_path: Path) -> None:
    invoke_json("batch", input_file, "--out", tmp_path / "out", "--model", "savings", "--workers", "1")
    part = min((tmp_path / "out").glob("part-*"))
    table = pq.read_table(part)
    pq.write_table(table.set_column(table.column_names.index("cost"), "cost", pa.array([1.0])), part)
    result = invoke("merge", tmp_path / "out", "--out", tmp_path / "merged")
    assert result.exit_code == 1
    assert "id 1: The stated cost is 1" in result.stderr
    assert not (tmp_path / "merged").exists()


def test_a_driver_that_was_killed_is_continued_as_if_nothing_had_happened(tmp_path: Path) -> None:
    instances = draw_paper_set(8, 40, np.random.default_rng(1), 20).instances()
    write(instances, tmp_path / "in.parquet")
    common = ["batch", str(tmp_path / "in.parquet"), "--iterations", "2000", "--seed", "4", "--workers", "1"]
    out = tmp_path / "out"
    driver = subprocess.Popen(
        [sys.executable, "-m", "dynaroute", *common, "--out", str(out), "--block", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list(out.glob("part-*"))) < 2:
        assert time.monotonic() < deadline
        assert driver.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    workers = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "workers outlive their driver"
        time.sleep(0.01)
    assert len(list(out.glob("part-*"))) < 20
    assert not list(out.glob("_summary*"))
    resumed = invoke_json(*common, "--out", out, "--block", "2", "--resume")
    assert 0 < resumed["solved_now"] < 40
    undisturbed = solve(instances, iterations=2000, seed=4, threads=1)
    routes = [list(map(list, result.solution.routes)) for result in undisturbed]
    assert routes_in(out) == {
        str(number): (routes[number - 1], undisturbed[number - 1].cost, True) for number in range(1, 41)
    }
    assert not [file for file in out.iterdir() if file.name.endswith(".tmp")]


def test_a_batch_tells_that_it_goes_on_before_any_row_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.cli.shared.progress.FIRST_LINE_AFTER", 0.01)
    told = ""
    with show_batch() as watch:
        while "the first rows are not done yet, after 0 s" not in told:
            told += capsys.readouterr().err
        watch(Progress(1, 3, 0, WorkersNow(1), 0.1))
        while "1 of 3 rows, 0.1 per second, 20 s left" not in told:
            told += capsys.readouterr().err

    assert capsys.readouterr().out == ""


def test_progress_is_told_in_a_line() -> None:
    line = describe_progress(Progress(1000, 3000, 2, WorkersNow(4, 1), 100.0))
    assert line == "1,000 of 3,000 rows, 100.0 per second, 20 s left, 4 workers, 1 replaced, 2 with errors"
