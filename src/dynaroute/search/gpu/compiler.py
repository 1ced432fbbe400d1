"""Compiling kernel.cu for a GPU, once per machine, with NVRTC, which comes with PyTorch's CUDA builds.

No compiler needs to be installed. The machine code is cached under a hash of everything it depends on.
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

from dynaroute.base.errors import UnsupportedError, warn_of_input
from dynaroute.search.gpu.launches import LAUNCH_FIELDS

SOURCE = Path(__file__).with_name("kernel.cu")

_OPTIONS = ("--std=c++17", "--fmad=false")  # products and sums are not fused, so that the emulation agrees exactly


def compile_kernels(capability: tuple[int, int], switches: int = 0) -> bytes:
    """Return the machine code for a compute capability, from the cache or compiled now.

    Parameters
    ----------
    capability
        Compute capability, such as (9, 0).
    switches
        The rules to compile: bits of RULES in rules.cuh.

    Raises
    ------
    UnsupportedError
        If the compiler library is missing.
    """
    options = (*_OPTIONS, f"--gpu-architecture=sm_{capability[0]}{capability[1]}", f"-DRULES={switches}")
    sources = read_sources()
    nvrtc = load_library("nvrtc")
    version = nvrtc.nvrtcVersion()[1:]
    parts = (list(sources.values()), options, version)
    return keep(parts, ".cubin", lambda path: _compile(nvrtc, sources, options, path)).read_bytes()


def list_sources() -> list[Path]:
    """List the sources of the kernels: the file to compile and its headers."""
    return [SOURCE, *sorted(SOURCE.parent.glob("*.cuh"))]


def read_sources() -> dict[str, bytes]:
    """Read the sources of the kernels by name, with the fields that `Launch` has here."""
    sources = {path.name: path.read_bytes() for path in list_sources()}
    return {name: text.replace(b"LAUNCH_FIELDS", LAUNCH_FIELDS.encode()) for name, text in sources.items()}


def keep(parts: object, suffix: str, make: Callable[[Path], None]) -> Path:
    """Return a file that depends only on these parts, from the cache or made now."""
    name = hashlib.sha256(repr(parts).encode()).hexdigest()[:24] + suffix
    folder = _find_folder()
    path = folder / name
    if not path.is_file():
        handle, written = tempfile.mkstemp(dir=folder, suffix=suffix)
        os.close(handle)
        try:
            make(Path(written))
            Path(written).replace(path)  # atomically, because another process may be doing the same
        finally:
            with suppress(FileNotFoundError):
                Path(written).unlink()
    return path


def load_library(name: str) -> Any:
    """Load a part of cuda-bindings."""
    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise UnsupportedError(
            "the search on a GPU needs the package cuda-bindings, which is not installed.",
            remedy="pip install cuda-bindings for the CUDA version of your PyTorch, or use --device cpu.",
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
    warn_of_input("", "compiling the search for this GPU, once; this takes some seconds.")
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
