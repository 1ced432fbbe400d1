from __future__ import annotations

import subprocess
import sys

import pytest

import dynaroute


@pytest.mark.parametrize("name", dynaroute.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(dynaroute, name) is not None
    assert name in dir(dynaroute)


def test_names_of_the_design_are_public() -> None:
    assert {"read", "write", "solve", "check", "Instance", "Solution", "Policy"} <= set(dynaroute.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'teleport'"):
        getattr(dynaroute, "teleport")  # noqa: B009 (a type checker knows that it is not there)


def test_import_loads_no_heavy_library() -> None:
    code = (
        "import sys, dynaroute\n"
        "print([name for name in ('numpy', 'torch', 'matplotlib', 'numba') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert result.stdout == "[]\n"
