"""The checks of `dynaroute doctor`: whether this installation can solve, on which device, and what could be better."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dynaroute import __version__
from dynaroute.base.machine import count_cores

if TYPE_CHECKING:
    import torch

Status = Literal["ok", "note", "problem"]

_REINSTALL = "Reinstall Dynaroute: run pip install -c constraints.txt . in its folder."
_CUDA_BUILD = "Install a CUDA build of PyTorch: pytorch.org shows the command for your driver."
_NEWER_DRIVER = (
    "Update the driver, or install a PyTorch build for an older CUDA; in a container, request the GPU when you start "
    "it."
)
_ON_CPU = "Until then use --device cpu; python -m dynaroute.selftest shows more."

EXTRAS = {  # what each is for
    "batch": "dynaroute batch, and Parquet files",
    "ray": "dynaroute batch --engine ray",
    "roads": "--roads, which plans on the streets of an extract of a map",
    "serve": "dynaroute serve",
    "train": "TensorBoard's view of training runs",
    "bench": "benchmarks against other solvers",
    "exact": "reproduce --exact",
    "test": "make test",
    "docs": "make docs",
    "release": "make release and make audit",
}
_OF_EXTRA = re.compile(r"([\w-]+)[^;]*; extra == .(\w+).")  # a package that every system needs


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    topic
        One of versions, hardware, caches, extras, models or trial.
    subject
        What was checked.
    status
        "ok"; "note" if solving works but something is missing or could be better; "problem" if solving fails.
    found
        What was found, in words.
    remedy
        What to do about it; empty if nothing needs doing.
    details
        What was found, as values for programs.
    """

    topic: str
    subject: str
    status: Status
    found: str
    remedy: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def examine() -> Iterator[Finding]:
    """Run all checks one after the other. A broken installation yields findings, never an error."""
    is_whole = True
    for look, topic, needs_libraries in _LOOKS:
        if needs_libraries and not is_whole:
            continue  # it would only repeat what is broken
        try:
            for finding in look():
                is_whole &= not (finding.topic == "versions" and finding.status == "problem")
                yield finding
        except Exception as error:  # a broken library may raise anything
            yield Finding(topic, topic, "problem", f"the check failed: {_in_words(error)}", _REINSTALL)


def _look_at_python() -> Iterator[Finding]:
    version, place = platform.python_version(), str(Path(__file__).parents[1])
    yield _make_ok("versions", "Dynaroute", f"{__version__}, in {place}", version=__version__, folder=place)
    yield _make_ok("versions", "Python", f"{version}, {sys.executable}", version=version, program=sys.executable)
    yield _make_ok("versions", "system", platform.platform(), system=platform.system(), machine=platform.machine())


def _look_at_libraries() -> Iterator[Finding]:
    """Load the libraries that solving needs; for the others only look up the version."""
    for name in ("numpy", "numba", "safetensors"):
        yield _load(name, name, _describe_library)
    yield _load("torch", "PyTorch", _describe_torch)
    for name, loss in (("matplotlib", "plots do not work"), ("openpyxl", "Excel workbooks cannot be read")):
        version = _find_version(name)
        if version is None:
            yield Finding("versions", name, "note", f"not installed: {loss}", _REINSTALL, {"version": None})
        else:
            yield _make_ok("versions", name, version, version=version)
    version = _find_version("triton")
    yield _make_ok("versions", "Triton", version or "not installed; only GPUs need it", version=version)


def _load(module: str, subject: str, describe: Callable[[Any], tuple[str, dict[str, Any]]]) -> Finding:
    try:
        found, details = describe(importlib.import_module(module))
    except Exception as error:
        return Finding("versions", subject, "problem", f"cannot be loaded: {_in_words(error)}", _REINSTALL)
    return Finding("versions", subject, "ok", found, details=details)


def _describe_library(module: Any) -> tuple[str, dict[str, Any]]:
    return str(module.__version__), {"version": str(module.__version__)}


def _describe_torch(torch: Any) -> tuple[str, dict[str, Any]]:
    version, cuda, rocm = str(torch.__version__), torch.version.cuda, torch.version.hip
    build = f"for CUDA {cuda}" if cuda else f"for ROCm {rocm}" if rocm else "a CPU build"
    return f"{version}, {build}", {"version": version, "cuda": cuda, "rocm": rocm}


def _look_at_cores() -> Iterator[Finding]:
    yield _make_ok("hardware", "processor cores", f"{count_cores()}", count=count_cores())


def _look_at_gpus() -> Iterator[Finding]:
    import torch

    driver = _ask_driver()
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            yield from _look_at_gpu(torch.device("cuda", index), driver)
    elif driver is None:
        yield _make_ok("hardware", "GPU", "none; policies run on the CPU", count=0)
    elif torch.version.cuda is None:
        found = f"{driver}, which this build of PyTorch cannot use"
        yield Finding("hardware", "GPU", "note", found, _CUDA_BUILD, {"count": 0})
    else:
        found = f"{driver}, which PyTorch for CUDA {torch.version.cuda} cannot use"
        yield Finding("hardware", "GPU", "note", found, _NEWER_DRIVER, {"count": 0})


def _ask_driver() -> str | None:
    """Ask NVIDIA's driver which GPU there is; None without a driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    first = answer.strip().splitlines()[:1]
    return first[0].replace(", ", ", driver ") if first else None


def _look_at_gpu(device: torch.device, driver: str | None) -> Iterator[Finding]:
    import torch

    properties = torch.cuda.get_device_properties(device)
    memory, capability = round(properties.total_memory / 2**30, 1), f"{properties.major}.{properties.minor}"
    known = driver.rpartition(", ")[2] if driver is not None else "driver unknown"
    yield _make_ok(
        "hardware",
        f"GPU {device.index}",
        f"{properties.name}, {memory:g} GiB, compute capability {capability}, {known}",
        name=properties.name,
        memory_gib=memory,
        capability=capability,
        driver=known.removeprefix("driver "),
    )
    yield _try_kernels(device, f"kernels on GPU {device.index}")


def _try_kernels(device: torch.device, subject: str) -> Finding:
    """Compile and run a kernel, since no list of supported GPUs is reliable."""
    from dynaroute.kernels import kernels_run_on

    if not kernels_run_on(device):
        return Finding(
            "hardware",
            subject,
            "note",
            "Triton is not installed: plain PyTorch is used, which is slower",
            "pip install triton (Linux), or a CUDA build of PyTorch, which brings it.",
            {"usable": False},
        )
    try:
        from dynaroute.kernels.probe import probe_kernels

        is_right = probe_kernels(device)
    except Exception as error:
        words = f"Triton cannot compile or run a kernel: {_in_words(error)}"
        remedy = f"Triton needs a C compiler, Python's headers and a GPU that it supports. {_ON_CPU}"
        return Finding("hardware", subject, "problem", words, remedy, {"usable": False})
    if not is_right:
        return Finding(
            "hardware", subject, "problem", "a small kernel computed a wrong result", _ON_CPU, {"usable": False}
        )
    return _make_ok("hardware", subject, "a small kernel was compiled and computed the right result", usable=True)


def _look_at_caches() -> Iterator[Finding]:
    yield _look_at_compiled_search()
    if _find_version("triton") is not None:
        yield _judge_cache("Triton's kernels", _find_triton_cache(), "TRITON_CACHE_DIR")


def _look_at_compiled_search() -> Finding:
    """Check where the search's machine code is kept: next to the source, in the home folder, or nowhere."""
    from dynaroute.search.core import compiled

    subject = "compiled search"
    folder = compiled.find_cache_folder()
    if folder is None:
        return Finding(
            "caches",
            subject,
            "note",
            "no folder to keep it in: every process that searches first compiles for half a minute",
            "Set NUMBA_CACHE_DIR to a writable folder.",
            {"folder": None, "writable": False},
        )
    finding = _judge_cache(subject, folder, "NUMBA_CACHE_DIR")
    if finding.status == "ok" and not any(folder.glob("*.nbi")):
        return Finding(
            "caches",
            subject,
            "note",
            f"{folder}, empty: the first search compiles for half a minute",
            "python -m dynaroute.search compiles it now.",
            finding.details,
        )
    return finding


def _find_triton_cache() -> Path:
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    return Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")


def _judge_cache(subject: str, folder: Path, variable: str) -> Finding:
    fault = _find_fault_of_folder(folder)
    if fault is None:
        return _make_ok("caches", subject, f"{folder}", folder=str(folder), writable=True)
    return Finding(
        "caches",
        subject,
        "note",
        f"{folder} is not writable ({fault}): compiled code is lost when a process ends",
        f"Make it writable, or set {variable} to a writable folder.",
        {"folder": str(folder), "writable": False},
    )


def _find_fault_of_folder(folder: Path) -> str | None:
    """Explain why a folder, existing or not, cannot be written to; None if it can."""
    place = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _look_at_extras() -> Iterator[Finding]:
    declared = [found.groups() for line in metadata.requires("dynaroute") or () if (found := _OF_EXTRA.fullmatch(line))]
    for extra, purpose in EXTRAS.items():
        packages = [package for package, of in declared if of == extra]
        missing = [package for package in packages if _find_version(package) is None]
        details = {"installed": not missing, "missing": missing}
        if not missing:
            yield Finding("extras", extra, "ok", f"installed, for {purpose}", details=details)
            continue
        what = "not installed" if len(missing) == len(packages) else f"without {', '.join(missing)}"
        remedy = f"In Dynaroute's folder: pip install -c constraints.txt '.[{extra}]'"
        yield Finding("extras", extra, "note", f"{what}; only needed for {purpose}", remedy, details)


def _look_at_models() -> Iterator[Finding]:
    from dynaroute.model import Policy
    from dynaroute.weights import shipped_models

    names = list(shipped_models())
    if not names:
        yield Finding("models", "shipped models", "problem", "none found", _REINSTALL)
    for name in names:
        try:
            Policy.from_pretrained(name)
        except Exception as error:
            yield Finding("models", name, "problem", f"cannot be loaded: {_in_words(error)}", _REINSTALL)
        else:
            yield _make_ok("models", name, "loads")


def _solve_for_trial() -> Iterator[Finding]:
    """Solve a small instance on the default device, as a user would."""
    import numpy as np

    from dynaroute.base.machine import choose_device
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import check
    from dynaroute.solving.solve import solve

    generator = np.random.default_rng(0)
    instance = Instance(generator.random((21, 2)), np.array([0, *generator.integers(1, 10, 20)]), capacity=30)
    device = choose_device("auto")
    start = time.perf_counter()
    try:
        violations = check(instance, solve(instance, device=device).solution)
    except Exception as error:
        remedy = _REINSTALL if device == "cpu" else _ON_CPU
        yield Finding("trial", "solve", "problem", f"failed on {device}: {_in_words(error)}", remedy)
        return
    seconds = time.perf_counter() - start
    if violations:
        yield Finding("trial", "solve", "problem", f"wrong routes on {device}: {violations[0].message}", _ON_CPU)
        return
    found = f"20 customers on {device} in {seconds:.1f} s, checked"
    yield _make_ok("trial", "solve", found, device=device, seconds=round(seconds, 3))


# each check, its topic, and whether it needs working libraries
_LOOKS: tuple[tuple[Callable[[], Iterator[Finding]], str, bool], ...] = (
    (_look_at_python, "versions", False),
    (_look_at_libraries, "versions", False),
    (_look_at_cores, "hardware", False),
    (_look_at_gpus, "hardware", True),
    (_look_at_caches, "caches", True),
    (_look_at_extras, "extras", False),
    (_look_at_models, "models", True),
    (_solve_for_trial, "trial", True),
)


def _make_ok(topic: str, subject: str, found: str, **details: Any) -> Finding:
    """Report that something is in order."""
    return Finding(topic, subject, "ok", found, details=details)


def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _in_words(error: Exception) -> str:
    """Shorten an error to one line."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words if len(words) <= 300 else f"{words[:300]}..."
