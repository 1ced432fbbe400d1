"""Every path of `solve` keeps its budget of time and memory on odd shapes, and ends when it is cancelled."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
budget: Any = import_module("budget")

_SLACK = 3.0  # on a busy machine; `make bench` allows no more than the budget


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the most memory in use")
@pytest.mark.parametrize("shape", budget.SHAPES, ids=lambda shape: shape.name)
def test_every_path_keeps_its_budget(shape: Any) -> None:
    faults = _list_faults(shape)
    if faults:  # a busy moment does not come twice
        faults = _list_faults(shape)
    assert not faults


def _list_faults(shape: Any) -> list[str]:
    findings = list(budget.inspect_apart(shape))
    assert len(findings) >= len(budget.SEARCHES)
    return [f"{finding.way}: {fault}" for finding in findings for fault in finding.list_faults(_SLACK)]
