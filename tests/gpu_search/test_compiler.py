from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dynaroute.errors import UnsupportedError
from dynaroute.gpu_search import compiler, devices


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


def test_gpu_that_is_too_old_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(name="Tesla T4", major=7, minor=5)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: old)

    with pytest.raises(UnsupportedError, match=r"Tesla T4 has 7\.5"):
        devices.find_device("cuda:0")
