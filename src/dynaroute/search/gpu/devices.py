"""Devices that run the kernels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import torch

from dynaroute.base.errors import UnsupportedError
from dynaroute.search.gpu.compiler import compile_kernels, load_library
from dynaroute.search.gpu.launches import Launch, Layout

_LEAST_CAPABILITY = (8, 0)  # the first with reductions within a warp
_WARPS_OF_BLOCK = 4
_LANES = 32
_USUAL_BLOCKS = 10  # per multiprocessor, if registers are the limit


class KernelDevice(Protocol):
    """A device that runs the kernels: a GPU, or its emulation."""

    @property
    def place(self) -> torch.device:
        """Device of the tensors."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a block can have."""
        ...

    def count_warps(self, layout: Layout) -> int:
        """Count the chains that run at the same time."""
        ...

    def launch(self, kernel: str, size: str, launch: Launch, work: int) -> None:
        """Run a kernel for this many chains or instances, after earlier launches."""
        ...

    def launch_blocks(self, kernel: str, launch: Launch, blocks: int, warps: int, shared: int) -> None:
        """Run a kernel with this many blocks, warps per block, and bytes of shared memory."""
        ...

    def wait(self) -> None:
        """Wait until all launches are done."""
        ...

    def with_rules(self, switches: int) -> KernelDevice:
        """Return the device with kernels that know these rules: bits of RULES in rules.cuh."""
        ...

    def find_free_memory(self) -> int | None:
        """Return the free memory in bytes; None if it does not matter."""
        ...


@dataclass(frozen=True)
class CudaDevice:
    """A GPU, driven through the CUDA driver on PyTorch's current stream.

    Attributes
    ----------
    place
        The GPU.
    shared_bytes
        Bytes of shared memory that a block can have.
    multiprocessors
        Number of multiprocessors.
    kernels
        The driver's handle of each kernel, by name.
    """

    place: torch.device
    shared_bytes: int
    multiprocessors: int
    kernels: dict[str, Any]

    def count_warps(self, layout: Layout) -> int:
        """Count resident warps, limited by shared memory or registers."""
        if layout.choose_size(self.shared_bytes) == "huge":
            return self.multiprocessors * _WARPS_OF_BLOCK
        by_memory = self.shared_bytes // layout.scratch_bytes
        return self.multiprocessors * max(1, min(by_memory, _USUAL_BLOCKS * _WARPS_OF_BLOCK))

    def launch(self, kernel: str, size: str, launch: Launch, work: int) -> None:
        """Run a kernel for this many chains or instances, after earlier launches."""
        warps = max(1, min(_WARPS_OF_BLOCK, -(-work // self.multiprocessors)))
        uses_scratch = kernel.startswith(("search", "recombine"))
        if uses_scratch and size != "huge":
            warps = max(1, min(warps, self.shared_bytes // launch.scratch_bytes))
        shared = warps * launch.scratch_bytes if uses_scratch and size != "huge" else 0
        blocks = -(-work // warps)
        if uses_scratch:
            blocks = min(blocks, self._count_blocks(kernel, warps, shared))
        self.launch_blocks(kernel, launch, blocks, warps, shared)

    def launch_blocks(self, kernel: str, launch: Launch, blocks: int, warps: int, shared: int) -> None:
        """Run a kernel with this many blocks, warps per block, and bytes of shared memory."""
        driver, function = load_library("driver"), self.kernels[kernel]
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(launch))
        stream = torch.cuda.current_stream(self.place).cuda_stream
        with torch.cuda.device(self.place):
            _require(
                driver.cuLaunchKernel(
                    function, blocks, 1, 1, warps * _LANES, 1, 1, shared, stream, ctypes.addressof(arguments), 0
                )
            )

    def _count_blocks(self, kernel: str, warps: int, shared: int) -> int:
        """Count the blocks that are resident at once; search_huge has scratch memory for one per multiprocessor."""
        if kernel.endswith("huge"):
            return self.multiprocessors * _WARPS_OF_BLOCK // warps
        driver = load_library("driver")
        counted = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.kernels[kernel], warps * _LANES, shared)
        return self.multiprocessors * max(1, int(_require(counted)))

    def wait(self) -> None:
        """Wait until all launches are done."""
        torch.cuda.current_stream(self.place).synchronize()

    def with_rules(self, switches: int) -> CudaDevice:
        """Return the device with kernels that know these rules, compiling them if necessary."""
        return self if switches == 0 else find_device(str(self.place), switches)

    def find_free_memory(self) -> int | None:
        """Return the bytes of GPU memory that PyTorch can still allocate, or holds unused."""
        free, _ = torch.cuda.mem_get_info(self.place)
        return free + torch.cuda.memory_reserved(self.place) - torch.cuda.memory_allocated(self.place)


@lru_cache(maxsize=32)
def find_device(name: str, switches: int = 0) -> CudaDevice:
    """Return a GPU with the kernels for these rules loaded, compiling them if necessary.

    Raises
    ------
    UnsupportedError
        If it is too old, or a library is missing.
    """
    place = torch.device(name)
    if place.index is None:
        place = torch.device("cuda", torch.cuda.current_device())
    properties = torch.cuda.get_device_properties(place)
    capability = (properties.major, properties.minor)
    if capability < _LEAST_CAPABILITY:
        raise UnsupportedError(
            f"the search on a GPU needs compute capability 8.0, but {properties.name} has "
            f"{properties.major}.{properties.minor}.",
            remedy="Use --device cpu, which searches on the cores.",
        )
    driver = load_library("driver")
    image = compile_kernels(capability, switches)
    torch.zeros(1, device=place)  # makes PyTorch's context, which the driver shares
    with torch.cuda.device(place):
        module = _require(driver.cuModuleLoadData(np.frombuffer(image, dtype=np.uint8).ctypes.data))
        shared = _find_shared_bytes(driver, place)
        kernels = {}
        for kernel in _list_kernels():
            function = kernels[kernel] = _require(driver.cuModuleGetFunction(module, kernel.encode()))
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            if kernel.startswith(("search", "recombine", "breed")):
                _require(driver.cuFuncSetAttribute(function, attribute, shared))
    return CudaDevice(place, shared, properties.multi_processor_count, kernels)


def _find_shared_bytes(driver: Any, place: torch.device) -> int:
    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return int(_require(driver.cuDeviceGetAttribute(attribute, _require(driver.cuDeviceGet(place.index)))))


def _list_kernels() -> list[str]:
    sizes = ("small", "large", "huge")
    return [
        *(f"search_{size}" for size in sizes),
        *(f"recombine_{size}" for size in sizes),
        *(f"{kernel}_{size}" for kernel in ("begin", "export") for size in sizes[:2]),
        *("commit", "settle", "breed", "survive", "export_champions"),
    ]


def _require(answer: Any) -> Any:
    """Return the result of a driver call, or raise its error."""
    code, *values = answer
    if int(code) != 0:
        raise RuntimeError(f"the CUDA driver refused: {code.name}")
    return values[0] if values else None
