from __future__ import annotations

from pathlib import Path

import pytest
from command_line import save

from dynaroute.base.errors import FileError
from dynaroute.cli.shared.contents import holds_solution


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.sol", "", True),
        ("a.SOL", "", True),
        ("a.vrp", "Route #1: 1", False),
        ("a.json", '{"routes" : [[1]]}', True),
        ("a.json", '[{"cost": 3, "routes": [[1]]}]', True),
        ("a.json", '{"name": "routes", "capacity": 3}', False),
        ("a.json", "not JSON", False),
    ],
)
def test_solutions_are_told_from_instances(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    assert holds_solution(save(tmp_path, name, text)) is expected


def test_missing_json_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        holds_solution(tmp_path / "none.json")

    assert caught.value.where.file == str(tmp_path / "none.json")
