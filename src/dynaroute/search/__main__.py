"""python -m dynaroute.search: compile all search code in advance, so that no user waits for it."""

from __future__ import annotations

import time

from dynaroute.search.improvers import IMPROVERS

if __name__ == "__main__":
    began = time.perf_counter()
    for improver in IMPROVERS.values():
        improver.prepare()
    seconds = time.perf_counter() - began
    print(f"The kernels of dynaroute.search are compiled and kept on disk ({seconds:.1f} s).")
