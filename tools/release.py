"""Check a version before it is published: make release.

    python tools/release.py                  all steps
    python tools/release.py build try        some of them

resolve: the constraints can be installed from the ordinary index, for every supported Python and system; build: makes
the source archive and the wheel in dist/, and checks their contents; hash: writes a list of all packages with their
hashes to dist/, for pip install --require-hashes; try: installs the wheel in an empty environment outside this folder,
where it solves, trains and serves.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hashes import write_hashes
from packages import build_packages
from resolutions import check_resolutions
from steps import choose_steps
from trial import try_wheel

ROOT = Path(__file__).resolve().parents[1]
LINES = 30  # of the output of a failed command
STEPS: dict[str, Callable[[Path], None]] = {
    "resolve": check_resolutions,
    "build": build_packages,
    "hash": write_hashes,
    "try": try_wheel,
}


def main() -> int:
    for name in choose_steps(__doc__, STEPS):
        start = time.perf_counter()
        try:
            STEPS[name](ROOT)
        except subprocess.CalledProcessError as error:
            last = "\n".join((error.output or "").splitlines()[-LINES:])
            print(f"{name}: this failed: {' '.join(map(str, error.cmd))}\n{last}", file=sys.stderr)
            return 1
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(f"{name}: right, {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
