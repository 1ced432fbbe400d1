"""What an earlier version wrote can still be used: see tests/data/written_by_0.1.0/README.md."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dynaroute.model import Policy
from dynaroute.training.files import read_metrics
from dynaroute.training.run.validation import measure_greedy_length

WRITTEN = Path(__file__).parent / "data" / "written_by_0.1.0"
GREEDY_LENGTH = 9.8388  # of that version, on 100 instances of 20 customers with seed 7
LENGTH_OF_WHOLE_RUN = 3.8671  # of that version, on its validation set, when nothing stopped the run


def test_model_of_an_earlier_version_builds_the_same_routes() -> None:
    policy = Policy.from_pretrained(WRITTEN / "model")
    assert measure_greedy_length(policy, 20, 7, 100) == pytest.approx(GREEDY_LENGTH, abs=1e-4)


def test_run_of_an_earlier_version_goes_on_to_where_it_would_have_been(tmp_path: Path) -> None:
    run = shutil.copytree(WRITTEN / "run", tmp_path / "run")
    command = [sys.executable, "-m", "dynaroute", "train", "--resume", str(run), "--device", "cpu", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert "no checksum" in done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["updates"], outcome["interrupted"]) == (12, False)
    assert outcome["validation_length"] == pytest.approx(LENGTH_OF_WHOLE_RUN, abs=0.02)  # processors round differently
    assert [line["step"] for line in read_metrics(tmp_path / "run")] == [0, 5, 9, 12]
