"""Kernels for plain problems are what they were before there were rules: nothing of these is in their code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RECORDED = json.loads((Path(__file__).parent / "plain_code.json").read_text())
PROGRAM = Path(__file__).parents[1] / "support" / "plain_code.py"


def test_the_code_for_plain_problems_is_that_of_before() -> None:
    triton = pytest.importorskip("triton")
    if triton.__version__ != RECORDED["triton"]:
        pytest.skip(f"the hashes are of Triton {RECORDED['triton']}, which writes other code")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    assert json.loads(ran.stdout) == RECORDED
