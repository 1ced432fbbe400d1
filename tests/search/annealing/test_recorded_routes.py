"""The one search for plain problems, limits and rules finds what two separate searches found before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded_searches import PLAIN, search_plain

_PROGRAM = Path(__file__).parents[2] / "support" / "recorded_searches.py"

# a hash of the routes, and their cost; printed by tests/support/recorded_searches.py with NUMBA_DISABLE_JIT=1 when
# plain problems and problems with limits had separate searches; those with rules, since these have their own settings
_IN_PLAIN_PYTHON = {
    "small": ("2a7dfd466ccbbd59", 7401.0),
    "200 customers": ("54d4a5b893e1dd8f", 26409.0),
    "1,000 customers, not rounded": ("03f74ba010301780", 86028.55048849499),
    "a matrix": ("a6bbbd10bd43d8e9", 37434.0),
    "coordinates": ("76029d4230a06fbd", 48925.0),
    "windows": ("33cab1507b89749f", 1597.729532471433),
    "few vehicles": ("c0a83cc42889241b", 1034.6161917130248),
    "durations": ("2fc6632620eb0e37", 1454.0853621411648),
    "vehicles first": ("4ea98a42d6df3016", 1228.7905584126008),
    "costs": ("a75c4a3ec1a72f7c", 930.5982047240996),
    "shipments": ("6d2e89f858114cfb", 633.7282855792124),
    "prizes": ("62e7192582c6a38c", 673.9757652591184),
    "shipments and prizes": ("a646380cb9e6b864", 596.7136176663529),
    "breaks": ("0ac9e4d38fec4123", 928.6419237149744),
    "reloads": ("7c01b84ef02f8115", 763.4556946162703),
    "groups": ("81870b81e56b6fbe", 1222.0949901359136),
}

# the same after 20,000 iterations of compiled code
_COMPILED = {
    "small": ("42bbeb1f55a5fffe", 7397.0),
    "200 customers": ("1e530986da7b7a7b", 26151.0),
    "1,000 customers, not rounded": ("3d45c30d6401ced5", 84480.26473599664),
    "a matrix": ("8b64c55a89b4abdd", 36329.0),
    "coordinates": ("7162d2341016fcc5", 48530.0),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_problems_keep_their_routes(name: str) -> None:
    assert search_plain(name, 20_000) == _COMPILED[name]


def test_all_problems_keep_their_routes() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, str(_PROGRAM)], capture_output=True, text=True, env=environment, check=True)
    found = {name: tuple(routes) for name, routes in json.loads(done.stdout).items()}
    assert {name for name in found if found[name] != _IN_PLAIN_PYTHON[name]} == set()
    assert found.keys() == _IN_PLAIN_PYTHON.keys()
