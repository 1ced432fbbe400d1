"""Running the command line, inside this process and as one of its own, and small files to run it on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from dynaroute.cli.app import app

# Two customers to the east, one to the west: the best routes are (1, 2) and (3), of lengths 12 and 2.
INSTANCE = """\
NAME : small
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 3 4
3 3 0
4 -1 0
DEMAND_SECTION
1 0
2 2
3 7
4 9
DEPOT_SECTION
1
-1
EOF
"""
RIGHT_SOLUTION = "Route #1: 1 2\nRoute #2: 3\nCost 14\n"
WRONG_SOLUTION = "Route #1: 1 3 3\nCost 15\n"


def invoke(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def invoke_json(*arguments: str | Path) -> Any:
    """Run a command that should succeed, and read the JSON document that is all of its stdout."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=_refuse_constant)


def execute(*arguments: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dynaroute", *map(str, arguments)],
        text=True,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings},
    )


def save(folder: Path, name: str, text: str) -> Path:
    """Write a small file and return its path."""
    path = folder / name
    path.write_text(text)
    return path


def assert_refused(result: Result, *words: str) -> None:
    """Exit code 2, nothing on stdout, and one paragraph on stderr that holds the words."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
