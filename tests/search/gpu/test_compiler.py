from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import InputWarning, UnsupportedError
from dynaroute.search.gpu import compiler


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_depends_on_the_same_parts_is_made_once(cache: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"code")

    one, same, other = (compiler.keep(parts, ".cubin", make) for parts in ("a", "a", "b"))

    assert one == same != other
    assert len(made) == 2
    assert one.read_bytes() == b"code"
    assert len(list(one.parent.iterdir())) == 2


def test_what_could_not_be_made_is_not_kept(cache: Path) -> None:
    def fail(path: Path) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        compiler.keep("a", ".cubin", fail)

    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_missing_library_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(compiler, "import_module", refuse)

    with pytest.raises(UnsupportedError, match="cuda-bindings") as caught:
        compiler.load_library("driver")

    assert "pip install" in caught.value.remedy


class Nvrtc:
    """Plays the library that compiles."""

    def __init__(self, code: int = 0) -> None:
        self.code = Answer(code)
        self.options: list[bytes] = []

    def nvrtcVersion(self) -> tuple[Answer, int, int]:  # noqa: N802
        return Answer(0), 13, 0

    def nvrtcCreateProgram(self, source: bytes, *_: Any) -> tuple[Answer, str]:  # noqa: N802
        assert b"search_small" in source
        return Answer(0), "program"

    def nvrtcCompileProgram(self, program: str, count: int, options: list[bytes]) -> tuple[Answer]:  # noqa: N802
        assert len(options) == count
        self.options = options
        return (self.code,)

    def nvrtcGetCUBINSize(self, program: str) -> tuple[Answer, int]:  # noqa: N802
        return Answer(0), 4

    def nvrtcGetCUBIN(self, program: str, image: bytes) -> tuple[Answer]:  # noqa: N802
        assert len(image) == 4
        return (Answer(0),)

    def nvrtcGetProgramLogSize(self, program: str) -> tuple[Answer, int]:  # noqa: N802
        return Answer(0), 3

    def nvrtcGetProgramLog(self, program: str, log: bytes) -> tuple[Answer]:  # noqa: N802
        return (Answer(0),)


class Answer(IntEnum):
    SUCCESS = 0
    ERROR_COMPILATION = 6


def test_first_use_says_that_it_compiles_and_the_second_does_not(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc = Nvrtc()
    monkeypatch.setattr(compiler, "load_library", lambda name: nvrtc)

    with pytest.warns(InputWarning, match="compiling the search for this GPU, once"):
        first = compiler.compile_kernels((9, 0))

    assert b"--gpu-architecture=sm_90" in nvrtc.options
    assert compiler.compile_kernels((9, 0)) == first
    with pytest.warns(InputWarning):
        compiler.compile_kernels((8, 0))


def test_source_that_does_not_compile_is_a_fault_of_ours(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "load_library", lambda name: Nvrtc(6))

    with pytest.warns(InputWarning), pytest.raises(RuntimeError, match="do not compile"):
        compiler.compile_kernels((9, 0))
