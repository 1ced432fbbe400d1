"""Build the source archive and the wheel from it, and check their contents."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

__all__ = ["build_packages", "find_wheel"]

LEFT_OUT = (".ci/", ".github/")  # parts of the repository that are not published
ADDED = {"PKG-INFO"}


def build_packages(root: Path) -> None:
    """Build both into dist/, and compare them with the files under version control.

    Parameters
    ----------
    root
        The clone.

    Raises
    ------
    AssertionError
        If something is missing, or something should not be there.
    """
    shutil.rmtree(root / "dist", ignore_errors=True)
    build = [sys.executable, "-m", "uv", "build", "--no-config", "--quiet", "--python", sys.executable]
    subprocess.run(build, cwd=root, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    version = _read_version(root)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, text=True, stdout=subprocess.PIPE).stdout
    tracked = {name for name in listed.split("\0") if name and (root / name).exists()}
    archive, wheel = root / "dist" / f"dynaroute-{version}.tar.gz", find_wheel(root)
    _compare(archive, _list_archive(archive), {name for name in tracked if not name.startswith(LEFT_OUT)} | ADDED)
    code = {name.removeprefix("src/") for name in tracked if name.startswith("src/dynaroute/")}
    with zipfile.ZipFile(wheel) as contents:
        names = set(contents.namelist())
        described = {name for name in names if PurePosixPath(name).parts[0] == f"dynaroute-{version}.dist-info"}
        _compare(wheel, names - described, code)
        description = contents.read(f"dynaroute-{version}.dist-info/METADATA").decode()
    _require(f"\nVersion: {version}\n" in description, f"{wheel.name} does not state the version {version}")
    _require("# Dynaroute" in description, f"{wheel.name} does not hold the README")
    licence = f"dynaroute-{version}.dist-info/licenses/LICENSE"
    _require(licence in described, f"{wheel.name} does not hold the licence")
    for file in (archive, wheel):
        print(f"  {file.name}, {file.stat().st_size / 1e6:.1f} MB", flush=True)


def find_wheel(root: Path) -> Path:
    """Find the wheel that was built.

    Parameters
    ----------
    root
        The clone.
    """
    wheels = list((root / "dist").glob("dynaroute-*.whl"))
    _require(len(wheels) == 1, "there is no wheel in dist/, or there are several: run the step build")
    return wheels[0]


def _read_version(root: Path) -> str:
    """Read the version from the source, because an import may find another installation."""
    found = re.search(r'^__version__ = "(.+)"$', (root / "src/dynaroute/__init__.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _list_archive(path: Path) -> set[str]:
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


def _compare(package: Path, found: set[str], expected: set[str]) -> None:
    for words, names in (("lacks", expected - found), ("should not hold", found - expected)):
        _require(not names, f"{package.name} {words} {_show(names)}")


def _show(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5} more" if len(ordered) > 5 else "")


def _require(is_right: bool, message: str) -> None:
    if not is_right:
        raise AssertionError(message)
