"""Whether the constraints can be met from the ordinary index, by every Python and system that we name.

pip answers for this Python and system; it cannot for others, since its --platform leaves markers as they are here. uv
can, and it is held to ready-made packages: a pin without one for a system is a fault, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["check_resolutions", "ordinary_environment"]

PYTHONS = ("3.11", "3.12", "3.13")
EVERYTHING = ("batch", "bench", "docs", "ray", "release", "serve", "test", "train")
# what uv calls a system, and the extras that there are ready-made packages for
SYSTEMS = (
    ("x86_64-manylinux_2_28", ("batch", "docs", "ray", "release", "serve", "test", "train")),
    ("x86_64-manylinux_2_34", EVERYTHING),  # HGS-CVRP's package needs that much
    ("aarch64-manylinux_2_28", EVERYTHING),
    ("aarch64-apple-darwin", EVERYTHING),
    ("x86_64-pc-windows-msvc", EVERYTHING),
)
MACOS = "14.0"  # what PyTorch needs; uv takes an older one if it is not told
LOCAL = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL", "UV_INDEX")


def check_resolutions(root: Path) -> None:
    """Resolve everything, and say what cannot be.

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
    """Variables with which pip and uv ask the ordinary index alone."""
    usual = {name: value for name, value in os.environ.items() if name not in LOCAL}
    return usual | {"PIP_CONFIG_FILE": os.devnull, "MACOSX_DEPLOYMENT_TARGET": MACOS}


def _run(root: Path, environment: dict[str, str], command: list[str]) -> None:
    subprocess.run(
        command, cwd=root, env=environment, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
