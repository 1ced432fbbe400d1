"""The kernels on a CPU core, compiled by the machine's C++ compiler, for tests and comparisons with a GPU.

One lane is fast enough to search with; 32 lanes that take turns show whether lanes cooperate correctly.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from dynaroute.base.errors import UnsupportedError
from dynaroute.search.gpu.compiler import SOURCE, keep, list_sources
from dynaroute.search.gpu.launches import LAUNCH_FIELDS, Launch, Layout

_SHARED_BYTES = 232_448  # of an H100 or H200
_OPTIONS = ("-O2", "-std=c++17", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-x", "c++")


@dataclass(frozen=True)
class EmulatedDevice:
    """An emulated GPU that runs one chain after the other.

    Attributes
    ----------
    library
        The compiled kernels.
    shared_bytes
        Shared memory of a block.
    lanes
        Lanes of a warp: 1, or 32 that take turns.
    """

    library: ctypes.CDLL
    shared_bytes: int = _SHARED_BYTES
    lanes: int = 1

    @property
    def place(self) -> torch.device:
        """Where tensors have to be."""
        return torch.device("cpu")

    @property
    def faults(self) -> int:
        """How often lanes met at different operations."""
        return int(self.library.count_faults())

    def count_warps(self, layout: Layout) -> int:
        """One chain at a time."""
        return 1

    def launch(self, kernel: str, size: str, launch: Launch, work: int) -> None:
        """Run a kernel."""
        getattr(self.library, kernel)(ctypes.byref(launch))

    def launch_blocks(self, kernel: str, launch: Launch, blocks: int, warps: int, shared: int) -> None:
        """Run a kernel."""
        getattr(self.library, kernel)(ctypes.byref(launch))

    def wait(self) -> None:
        """Return at once: launches are synchronous."""

    def with_rules(self, switches: int) -> EmulatedDevice:
        """Return the device with kernels that know these rules."""
        return self if switches == 0 else emulate(self.lanes, switches)

    def find_free_memory(self) -> int | None:
        """Return None: memory does not matter."""
        return None

    def set_lane_order(self, order: int) -> None:
        """Set the order in which 32 lanes take turns: 0 ascending, 1 descending, otherwise shuffled."""
        self.library.set_lane_order(order)


def find_compiler() -> str | None:
    """The machine's C++ compiler, if there is one."""
    return next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)


@lru_cache(maxsize=32)
def emulate(lanes: int = 1, switches: int = 0) -> EmulatedDevice:
    """Compile the kernels for this many lanes, 1 or 32, and these rules; cached like those of a GPU.

    Raises
    ------
    UnsupportedError
        If there is no compiler.
    """
    compiler = find_compiler()
    if compiler is None:
        raise UnsupportedError("there is no C++ compiler.", remedy="Install g++ or clang.")
    options = (*_OPTIONS, f"-DLAUNCH_FIELDS={LAUNCH_FIELDS}", f"-DEMULATED_LANES={lanes}", f"-DRULES={switches}")
    sources = [path.read_bytes() for path in (*list_sources(), SOURCE.with_name("emulated_warp.h"))]

    def make(path: Path) -> None:
        subprocess.run([compiler, *options, str(SOURCE), "-o", str(path)], check=True, capture_output=True)

    return EmulatedDevice(ctypes.CDLL(str(keep((sources, options, compiler), ".so", make))), lanes=lanes)
