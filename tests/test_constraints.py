"""No pin contradicts what a pinned package, or Dynaroute itself, asks for.

What is looked at is the metadata of the packages that are installed here. PyTorch's differ from build to build: those
of the ordinary index are for `make release`, which resolves everything anew.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from itertools import product
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (("Linux", "linux", "posix"), ("Darwin", "darwin", "posix"), ("Windows", "win32", "nt"))
UNPINNED = {"triton"}  # PyTorch pins it, each build its own

Declared = dict[str, list[str]]


def read_pins() -> dict[str, str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    pins = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): version for name, version in pins}


def read_project() -> Declared:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def make_environments() -> Iterator[dict[str, str]]:
    for python, (system, platform, name) in product(PYTHONS, SYSTEMS):
        yield {
            **{key: str(value) for key, value in default_environment().items()},
            "python_version": python,
            "python_full_version": f"{python}.0",
            "platform_system": system,
            "sys_platform": platform,
            "os_name": name,
            "extra": "",
        }


def find_contradictions(pins: Mapping[str, str], asked: Mapping[str, Iterable[str]]) -> set[str]:
    """What any of the packages asks for, in any environment, that the pins forbid."""
    found = set()
    for environment, (package, requirements) in product(make_environments(), asked.items()):
        for requirement in map(Requirement, requirements):
            pin = pins.get(canonicalize_name(requirement.name))
            is_meant = requirement.marker is None or requirement.marker.evaluate(environment)
            if is_meant and pin is not None and not requirement.specifier.contains(pin, prereleases=True):
                found.add(f"{package} asks for {requirement}, the pin is {pin}")
    return found


def read_installed(pins: Mapping[str, str]) -> Declared:
    """What the packages that are installed as they are pinned ask for; a local build's label does not count."""
    installed = {canonicalize_name(found.name): found for found in metadata.distributions()}
    return {
        name: found.requires or []
        for name, found in installed.items()
        if name in pins and found.version.partition("+")[0] == pins[name]
    }


def test_contradiction_is_found() -> None:
    asked = {"torch": ["triton==3.7.1; platform_system == 'Linux'", "sympy>=1.13.3"]}
    found = find_contradictions({"triton": "3.6.0", "sympy": "1.14.0"}, asked)
    assert len(found) == 1
    assert "torch asks for triton==3.7.1" in found.pop()


def test_pins_are_what_pinned_packages_ask_for() -> None:
    pins = read_pins()
    installed = read_installed(pins)
    assert {"torch", "numba", "matplotlib", "pytest"} <= set(installed)  # or nothing would be compared
    assert find_contradictions(pins, installed) == set()


def test_pins_are_what_the_project_declares() -> None:
    assert find_contradictions(read_pins(), read_project()) == set()


@pytest.mark.parametrize("extra", read_project())
def test_everything_declared_is_pinned_but_what_pytorch_pins(extra: str) -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in read_project()[extra]} - {"dynaroute"}
    assert declared - set(read_pins()) <= UNPINNED


def test_what_pytorch_pins_is_not_pinned() -> None:
    assert set(read_pins()).isdisjoint(UNPINNED)
    assert not [name for name in read_pins() if name.startswith(("nvidia-", "cuda-"))]
