"""Compile the usual search code in advance, so that hardly any user waits for it.

python -m dynaroute.search [CODE ...]      # for example: "rules with shipments"
"""

from __future__ import annotations

import argparse
import time
from typing import get_args

from dynaroute.search.improvers import UsualCode, load_machine_code
from dynaroute.search.rules import RulesCode

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m dynaroute.search", description="Compile search code in advance.")
    codes = (*get_args(UsualCode), *get_args(RulesCode))
    parser.add_argument("code", nargs="*", help=f"{', '.join(codes)}; by default the usual code")
    wanted = parser.parse_args().code or get_args(UsualCode)
    if unknown := set(wanted).difference(codes):
        parser.error(f"there is no code {min(unknown)!r}. There are {', '.join(codes)}.")
    began = time.perf_counter()
    load_machine_code(wanted)
    seconds = time.perf_counter() - began
    print(f"The kernels of dynaroute.search are compiled and kept on disk ({seconds:.1f} s).")
