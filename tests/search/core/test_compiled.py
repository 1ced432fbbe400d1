"""Compiling kernels, and keeping their machine code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dynaroute
from dynaroute.search.core import compiled as module
from dynaroute.search.core.compiled import compiled, compiled_apart, compiled_inline, find_cache_folder, make_apart

CALLEE = """
from dynaroute.search.core.compiled import compiled, compiled_inline

@compiled_inline
def call_me(number):
    return number + 1
"""
CALLER = """
from dynaroute.search.callee import call_me
from dynaroute.search.core.compiled import compiled

@compiled
def call(number):
    return 10 * call_me(number)
"""
PROGRAM = """
from dynaroute.search.caller import call
from dynaroute.search.core.compiled import find_cache_folder

print(call(1), sum(call.stats.cache_hits.values()), find_cache_folder() is not None)
"""


def _add_up(numbers: NDArray[np.float64]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


@pytest.mark.parametrize("way", [compiled, compiled_inline])
def test_compiled_functions_do_what_they_say(way: Callable[[Any], Callable[[NDArray[np.float64]], float]]) -> None:
    assert way(_add_up)(np.arange(5.0)) == 10.0


def test_the_folder_is_named_and_used() -> None:
    folder = find_cache_folder()
    assert folder is not None
    compile_command = [sys.executable, "-m", "dynaroute.search"]
    subprocess.run(compile_command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": _find_source()})
    assert any(folder.glob("ruin_recreate.anneal-*.nbi"))


def _find_source() -> str:
    return str(Path(dynaroute.__file__).parents[1])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's first rooms, with two kernels in search/ of which one calls the other."""
    package = tmp_path / "installed" / "dynaroute"
    (package / "search" / "core").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "search" / "__init__.py").touch()
    (package / "search" / "core" / "__init__.py").touch()
    shutil.copy(module.__file__, package / "search" / "core" / "compiled.py")
    (package / "search" / "callee.py").write_text(CALLEE)
    (package / "search" / "caller.py").write_text(CALLER)
    return package


def make_settings(package: Path) -> dict[str, str]:
    """The environment in which the package finds no other copy of itself and no folder for code."""
    settings = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
    return settings | {"PYTHONPATH": str(package.parent), "HOME": str(package.parent)}


def start(package: Path, **variables: str) -> subprocess.Popen[str]:
    settings = make_settings(package) | variables
    # no bytecode: an edit of the same length in the same second would not be noticed
    command = [sys.executable, "-B", "-c", PROGRAM]
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(package: Path, **variables: str) -> tuple[str, ...]:
    process = start(package, **variables)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return tuple(output.split())


def list_folders(package: Path) -> list[Path]:
    return sorted(package.glob("search/__pycache__/dynaroute-search-*"))


def test_code_that_was_compiled_is_loaded_again(package: Path) -> None:
    assert run(package) == ("20", "0", "True")
    assert run(package) == ("20", "1", "True")


def test_an_edit_of_a_function_is_seen_by_those_that_call_it(package: Path) -> None:
    assert run(package)[0] == "20"
    (package / "search" / "callee.py").write_text(CALLEE.replace("+ 1", "+ 2"))
    assert run(package)[0] == "30"
    (package / "search" / "callee.py").write_text(CALLEE)
    assert run(package) == ("20", "1", "True")  # what was compiled before is still there


def test_of_old_sources_only_the_latest_keep_their_code(package: Path) -> None:
    for number in range(8):
        folder = package / "search" / "__pycache__" / f"dynaroute-search-{number}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    run(package)
    names = {folder.name for folder in list_folders(package)}
    assert len(names) == 5  # that of these sources, whose hash may sort anywhere, among them
    assert {f"dynaroute-search-{number}" for number in range(4, 8)} < names


def test_processes_at_once_do_not_disturb_each_other(package: Path) -> None:
    processes = [start(package) for _ in range(3)]
    assert [process.communicate()[0].split()[0] for process in processes] == ["20"] * 3
    assert run(package) == ("20", "1", "True")


@pytest.fixture
def read_only(package: Path) -> Iterator[Path]:
    """The package in a place where nobody may write; a file stands where the folder would be, for the superuser."""
    shutil.rmtree(package / "search" / "__pycache__", ignore_errors=True)
    (package / "search" / "__pycache__").touch()
    yield package


def test_where_sources_lie_read_only_code_is_kept_in_the_users_cache(read_only: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert run(read_only, HOME=home, XDG_CACHE_HOME=f"{home}/.cache") == ("20", "0", "True")
    assert run(read_only, HOME=home, XDG_CACHE_HOME=f"{home}/.cache") == ("20", "1", "True")


def test_a_folder_that_the_user_names_comes_first(package: Path, tmp_path: Path) -> None:
    run(package, NUMBA_CACHE_DIR=str(tmp_path / "named"))
    assert any((tmp_path / "named").glob("dynaroute-search-*/caller.call-*.nbc"))
    assert list_folders(package) == []


def test_without_a_folder_to_keep_code_in_it_is_compiled_all_the_same(read_only: Path) -> None:
    for _ in range(2):
        assert run(read_only, HOME="/dev/null", XDG_CACHE_HOME="/dev/null/cache") == ("20", "0", "False")


def test_code_for_other_types_is_not_taken(package: Path) -> None:
    """As it would be if two processes wrote to one file at once."""
    run(package)
    program = PROGRAM.replace("call(1)", "call(1.5)")
    subprocess.run([sys.executable, "-c", program], env=make_settings(package), check=True, capture_output=True)
    (folder,) = list_folders(package)
    one, other = sorted(folder.glob("caller.call-*.nbc"))
    shutil.copy(other, one)
    assert run(package)[:2] == ("20", "0")


def test_small_arrays_share_no_cache_line() -> None:
    arrays = [make_apart(count, np.float64) for count in (1, 2, 1, 3, 1, 1, 2)]
    lines = [{(array.ctypes.data + byte) // 64 for byte in range(array.nbytes)} for array in arrays]
    assert sum(map(len, lines)) == len(set.union(*lines))
    assert all(array.ctypes.data % 64 == 0 and not array.any() for array in arrays)


@compiled_apart
def _double(number: int) -> int:
    return 2 * number


@compiled_inline
def _double_in_line(number: int) -> int:
    return _double(number)


@compiled
def _quadruple(number: int) -> int:
    return _double_in_line(_double_in_line(number))


@pytest.mark.skipif(not hasattr(_double, "_part"), reason="without compiling there is no machine code")
def test_a_function_compiled_apart_is_not_inlined_where_its_caller_is() -> None:
    assert _quadruple(3) == 12
    parts = {function: function._part.overloads.values() for function in (_double, _double_in_line)}  # type: ignore[attr-defined]
    is_inlined = [["alwaysinline" in each.library.get_llvm_str() for each in found] for found in parts.values()]
    assert is_inlined == [[False], [True]]
