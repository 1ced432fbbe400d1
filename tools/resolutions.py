"""Check that the constraints can be installed from the ordinary index, for every supported Python and system.

pip can check this Python and system only, because its --platform still evaluates markers for this system. uv checks the
others, and only accepts wheels: a pin without a wheel for a system is an error too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["check_resolutions", "ordinary_environment"]

PYTHONS = ("3.11", "3.12", "3.13")
EVERYTHING = ("batch", "bench", "docs", "ray", "release", "serve", "test", "train")
# uv's names of systems, and the extras that have wheels there
SYSTEMS = (
    ("x86_64-manylinux_2_28", ("batch", "docs", "ray", "release", "serve", "test", "train")),
    ("x86_64-manylinux_2_34", EVERYTHING),  # HGS-CVRP's wheel needs this version
    ("aarch64-manylinux_2_28", EVERYTHING),
    ("aarch64-apple-darwin", EVERYTHING),
    ("x86_64-pc-windows-msvc", EVERYTHING),
)
MACOS = "14.0"  # PyTorch needs it; uv's default is older
LOCAL = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL", "UV_INDEX")


def check_resolutions(root: Path) -> None:
    """Resolve everything, and report what cannot be resolved.

    Parameters
    ----------
    root
        The clone.

    Raises
    ------
    subprocess.CalledProcessError
        If there is no resolution; its output says why.
    """
    environment = ordinary_environment()
    ask_pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    constraints = ["-c", "constraints.txt"]
    _run(root, environment, [*ask_pip, *constraints, f".[{','.join(EVERYTHING)}]"])
    print(f"  pip, Python {sys.version_info.major}.{sys.version_info.minor}, this system", flush=True)
    ask_uv = [sys.executable, "-m", "uv", "pip", "compile", "--no-config", "--quiet", "--only-binary", ":all:"]
    for python in PYTHONS:
        for system, extras in SYSTEMS:
            target = ["--python-version", python, "--python-platform", system]
            chosen = [part for extra in extras for part in ("--extra", extra)]
            _run(root, environment, [*ask_uv, *constraints, *target, *chosen, "pyproject.toml"])
            print(f"  uv, Python {python}, {system}", flush=True)


def ordinary_environment() -> dict[str, str]:
    """Environment variables that make pip and uv use only the ordinary index."""
    usual = {name: value for name, value in os.environ.items() if name not in LOCAL}
    return usual | {"PIP_CONFIG_FILE": os.devnull, "MACOSX_DEPLOYMENT_TARGET": MACOS}


def _run(root: Path, environment: dict[str, str], command: list[str]) -> None:
    subprocess.run(
        command, cwd=root, env=environment, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
