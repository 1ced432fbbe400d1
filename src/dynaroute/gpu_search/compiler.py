"""Compiling kernel.cu for a GPU, once for each machine: by NVRTC, which comes with PyTorch's CUDA builds.

No compiler has to be installed. The machine code is kept in the user's cache, under a hash of all that it depends on.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from dynaroute.errors import UnsupportedError, warn_of_input

__all__ = ["SOURCE", "compile_kernels", "keep", "list_sources", "load_library"]

SOURCE = Path(__file__).with_name("kernel.cu")

_OPTIONS = ("--std=c++17", "--fmad=false")  # products and sums are not fused: the emulation must agree to the last bit


def compile_kernels(capability: tuple[int, int]) -> bytes:
    """The machine code for GPUs of a compute capability; compiled now, unless it was kept.

    Parameters
    ----------
    capability
        Such as (9, 0).

    Raises
    ------
    UnsupportedError
        If the library that compiles is missing.
    """
    options = (*_OPTIONS, f"--gpu-architecture=sm_{capability[0]}{capability[1]}")
    sources = {path.name: path.read_bytes() for path in list_sources()}
    nvrtc = load_library("nvrtc")
    version = nvrtc.nvrtcVersion()[1:]
    parts = (list(sources.values()), options, version)
    return keep(parts, ".cubin", lambda path: _compile(nvrtc, sources, options, path)).read_bytes()


def list_sources() -> list[Path]:
    """What the kernels are made of: the file to compile, and those that it includes."""
    return [SOURCE, *sorted(SOURCE.parent.glob("*.cuh"))]


def keep(parts: object, suffix: str, make: Callable[[Path], None]) -> Path:
    """A file that depends on these parts alone: from the cache, or made now.

    Parameters
    ----------
    parts
        What it is made of.
    suffix
        Of its name.
    make
        Called with where to write it.
    """
    name = hashlib.sha256(repr(parts).encode()).hexdigest()[:24] + suffix
    folder = _find_folder()
    path = folder / name
    if not path.is_file():
        handle, written = tempfile.mkstemp(dir=folder, suffix=suffix)
        os.close(handle)
        try:
            make(Path(written))
            Path(written).replace(path)  # in one go: another process may be doing the same
        finally:
            with suppress(FileNotFoundError):
                Path(written).unlink()
    return path


def load_library(name: str) -> Any:
    """A part of cuda-bindings.

    Parameters
    ----------
    name
        "driver" or "nvrtc".
    """
    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise UnsupportedError(
            "the search on a GPU needs the package cuda-bindings, which is not installed.",
            remedy="pip install cuda-bindings, of the version of CUDA that PyTorch was built for; or use --device cpu.",
        ) from error


def _find_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(named) if named else Path.home() / ".cache") / "dynaroute" / "gpu_search"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="dynaroute-"))
    return folder


def _compile(nvrtc: Any, sources: dict[str, bytes], options: tuple[str, ...], path: Path) -> None:
    warn_of_input("", "the search is compiled for this GPU, once; that takes some seconds.")
    included = {name.encode(): text for name, text in sources.items() if name != SOURCE.name}
    program = _require(
        nvrtc.nvrtcCreateProgram(
            sources[SOURCE.name], SOURCE.name.encode(), len(included), list(included.values()), list(included)
        )
    )
    code, *_ = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if int(code) != 0:
        log = b" " * _require(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"the kernels of the search do not compile: {log.decode(errors='replace')}")
    image = b" " * _require(nvrtc.nvrtcGetCUBINSize(program))
    _require(nvrtc.nvrtcGetCUBIN(program, image))
    path.write_bytes(image)


def _require(answer: Any) -> Any:
    code, *values = answer
    if int(code) != 0:
        raise RuntimeError(f"NVRTC refused: {code.name}")
    return values[0] if values else None
