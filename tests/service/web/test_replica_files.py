"""What the compose file and the Dockerfile of deploy/replicas name is there, as far as that shows without Docker."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dynaroute.service.settings import PREFIX, ServiceSettings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "replicas"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def test_the_image_is_built_from_files_that_there_are(services: dict[str, Any]) -> None:
    build = services["one"]["build"]
    context = (FOLDER / build["context"]).resolve()
    instructions = (context / build["dockerfile"]).read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", instructions, re.MULTILINE) for name in line.split()]
    assert copied
    assert [name for name in copied if not (context / name).exists()] == []


def test_the_image_installs_an_extra_that_there_is() -> None:
    (extra,) = re.findall(r"'\.\[(\w+)\]'", (FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extra in project["optional-dependencies"]


@pytest.mark.parametrize("replica", ["one", "two"])
def test_replicas_are_given_settings_that_there_are(services: dict[str, Any], replica: str) -> None:
    known = {f"{PREFIX}{entry.name.upper()}" for entry in fields(ServiceSettings)}
    given = services[replica]["environment"]
    assert given[f"{PREFIX}REPLICA"] == replica
    assert {name for name in given if name.startswith(PREFIX)} <= known


def test_the_balancer_is_told_all_that_its_configuration_asks_for(services: dict[str, Any]) -> None:
    balancer = services["balancer"]
    mounted = FOLDER / balancer["volumes"][0].partition(":")[0]
    asked = re.findall(r"\$\{(\w+)\}", mounted.read_text(encoding="utf-8"))
    assert set(asked) == set(balancer["environment"])
    assert set(balancer["depends_on"]) == set(services) - {"balancer"}
