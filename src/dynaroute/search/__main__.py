"""python -m dynaroute.search: compile the usual search code in advance, so that hardly any user waits for it."""

from __future__ import annotations

import time
from typing import get_args

from dynaroute.search.improvers import UsualCode, load_machine_code

if __name__ == "__main__":
    began = time.perf_counter()
    load_machine_code(get_args(UsualCode))
    seconds = time.perf_counter() - began
    print(f"The kernels of dynaroute.search are compiled and kept on disk ({seconds:.1f} s).")
