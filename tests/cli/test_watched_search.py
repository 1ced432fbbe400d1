from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import invoke

from dynaroute import check, read_set, read_solution
from dynaroute.solution import Solution


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A pipe to write the trace to, so that its lines can be awaited."""
    path = tmp_path / "trace.csv"
    os.mkfifo(path)
    return path


def generate(path: Path, count: int) -> Path:
    assert invoke("generate", "--size", "60", "--count", str(count), "--out", path).exit_code == 0
    return path


def interrupt_search(
    path: Path, trace: Path, *options: str | Path, program: Sequence[str] = ("-m", "dynaroute")
) -> tuple[int, str, str]:
    """Search without end, interrupt after the first improvements, and give the exit code, stdout and stderr."""
    command = [sys.executable, *program, "solve", path, "--iterations", "1000000000000", "--trace", trace, *options]
    with (
        subprocess.Popen(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        trace.open() as lines,
    ):
        for _ in range(4):
            lines.readline()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("count", [1, 3])
def test_interrupted_search_writes_and_prints_its_best(tmp_path: Path, trace: Path, count: int) -> None:
    path = generate(tmp_path / "set.npz", count)
    picture: list[str | Path] = ["--plot", tmp_path / "a.png"] if count == 1 else []
    out = tmp_path / ("a.sol" if count == 1 else "solutions")

    code, stdout, stderr = interrupt_search(path, trace, "--json", "--out", out, *picture)

    assert code == 130
    assert "the best routes so far" in stderr
    files = [out] if count == 1 else [out / f"set-{number}.sol" for number in range(1, count + 1)]
    for instance, document, file in zip(read_set(path), json.loads(stdout), files, strict=True):
        assert document["interrupted"]
        assert check(instance, Solution(document["routes"], document["cost"])) == []
        assert [list(route) for route in read_solution(file).routes] == document["routes"]
    assert not picture or (tmp_path / "a.png").exists()


def test_second_interrupt_quits_at_once(tmp_path: Path, trace: Path) -> None:
    path, out = generate(tmp_path / "one.vrp", 1), tmp_path / "a.sol"
    # the first interrupt ends the search; the second comes when its routes are about to be written
    program = (
        "import os, signal, dynaroute.cli.solve as command\n"
        "command.write_results = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from dynaroute.cli import main; main()"
    )

    code, stdout, stderr = interrupt_search(path, trace, "--out", out, program=["-c", program])

    assert (code, stdout) == (130, "")
    assert stderr == "Interrupted; no file is half-written.\n"
