"""The wheel holds all that the package needs: it works in an environment where the checkout cannot be seen."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dynaroute.search.core.compiled import find_cache_folder

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that holds the wheel; the dependencies are lent by this one."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True)
    (wheel,) = folder.glob("dynaroute-*.whl")
    venv.create(folder / "environment")
    python = folder / "environment" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, str(wheel)], check=True)
    (site,) = (folder / "environment").glob("lib/python*/site-packages")
    # a plain path: the .pth file of an editable install is not followed from here
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python


def run(folder: Path, *command: str | Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if (compiled := find_cache_folder()) is not None:
        environment["NUMBA_CACHE_DIR"] = str(compiled.parent)  # the same sources: no need to compile them again
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def test_package_is_imported_from_the_wheel(python: Path, tmp_path: Path) -> None:
    where = run(tmp_path, python, "-c", "import dynaroute; print(dynaroute.__file__)")
    assert Path(where.strip()).is_relative_to(python.parents[1])


def test_wheel_generates_solves_checks_and_draws(python: Path, tmp_path: Path) -> None:
    program = python.with_name("dynaroute")
    run(tmp_path, program, "generate", "--size", "20", "--seed", "3", "--out", "a.vrp")
    run(tmp_path, program, "solve", "a.vrp", "--out", "a.sol", "--plot", "a.png")
    run(tmp_path, program, "check", "a.vrp", "a.sol")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_typing_marker_is_in_the_wheel(python: Path, tmp_path: Path) -> None:
    listing = "import dynaroute, pathlib; print((pathlib.Path(dynaroute.__file__).parent / 'py.typed').is_file())"
    assert run(tmp_path, python, "-c", listing).strip() == "True"


def test_version_of_the_wheel_is_the_one_that_the_package_states(python: Path, tmp_path: Path) -> None:
    asking = (
        "import dynaroute, importlib.metadata; print(importlib.metadata.version('dynaroute'), dynaroute.__version__)"
    )
    declared, stated = run(tmp_path, python, "-c", asking).split()
    assert declared == stated


def test_kernels_of_the_search_are_in_the_wheel(python: Path, tmp_path: Path) -> None:
    asking = "from dynaroute.search.gpu.compiler import SOURCE; print(*(path.name for path in SOURCE.parent.iterdir()))"
    assert {"kernel.cu", "emulated_warp.h"} <= set(run(tmp_path, python, "-c", asking).split())
