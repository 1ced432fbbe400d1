"""Write the constraints of a release with the hashes of their packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from resolutions import ordinary_environment

__all__ = ["write_hashes"]

HASHED = "requirements-hashed.txt"


def write_hashes(root: Path) -> None:
    """Write a file for `pip install --require-hashes -r`, for all Pythons and systems, into dist/.

    Parameters
    ----------
    root
        The clone.

    Raises
    ------
    subprocess.CalledProcessError
        If the index cannot be reached; the output says why.
    AssertionError
        If a package has no hash, or the file contains the address of an index.
    """
    target = root / "dist" / HASHED
    target.parent.mkdir(exist_ok=True)
    extras = ["--extra", "batch", "--extra", "serve", "--extra", "train"]
    ask = [sys.executable, "-m", "uv", "pip", "compile", "--no-config", "--quiet", "--universal"]
    form = ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(target)]
    subprocess.run(
        [*ask, *form, "-c", "constraints.txt", *extras, "pyproject.toml"],
        cwd=root,
        env=ordinary_environment(),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    require_hashes(target.read_text(encoding="utf-8"))


def require_hashes(text: str) -> None:
    """Refuse a list in which a package has no hash, or that contains the address of an index."""
    assert "://" not in text, f"{HASHED} names an address"
    blocks = text.replace("\\\n", " ").splitlines()
    bare = [block for block in blocks if "==" in block and "--hash=sha256:" not in block]
    assert not bare, f"{HASHED} has no hash for {bare[0]}"
    assert any("==" in block for block in blocks), f"{HASHED} is empty"
