"""The CUDA driver is played by a few functions here: what it is asked for is looked at, nothing is run."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import nullcontext
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dynaroute.base.errors import UnsupportedError
from dynaroute.search.gpu import devices
from dynaroute.search.gpu.launches import Launch, Layout

H200 = SimpleNamespace(name="NVIDIA H200", major=9, minor=0, multi_processor_count=132)


class Code(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_LAUNCH_FAILED = 719


class Driver:
    """Remembers what is launched."""

    CUdevice_attribute = SimpleNamespace(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=97)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self) -> None:
        self.launched: list[dict[str, Any]] = []
        self.answer = Code.CUDA_SUCCESS

    def cuDeviceGet(self, index: int) -> tuple[Code, int]:  # noqa: N802
        return Code.CUDA_SUCCESS, index

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[Code, int]:  # noqa: N802
        assert (attribute, device) == (97, 0)
        return Code.CUDA_SUCCESS, 232_448

    def cuModuleLoadData(self, image: int) -> tuple[Code, str]:  # noqa: N802
        assert ctypes.string_at(image, 5) == b"cubin"
        return Code.CUDA_SUCCESS, "module"

    def cuModuleGetFunction(self, module: str, name: bytes) -> tuple[Code, str]:  # noqa: N802
        return Code.CUDA_SUCCESS, name.decode()

    def cuFuncSetAttribute(self, function: str, attribute: int, value: int) -> tuple[Code]:  # noqa: N802
        assert function.startswith(("search", "recombine", "breed"))
        return (Code.CUDA_SUCCESS,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(  # noqa: N802
        self, function: str, threads: int, shared: int
    ) -> tuple[Code, int]:
        return Code.CUDA_SUCCESS, 5

    def cuLaunchKernel(self, function: str, *numbers: int) -> tuple[Code]:  # noqa: N802
        blocks, _, _, threads, _, _, shared, stream, arguments, _ = numbers
        launch = Launch.from_address(ctypes.c_void_p.from_address(arguments).value or 0)
        asked = {"function": function, "blocks": blocks, "threads": threads, "shared": shared, "stream": stream}
        self.launched.append({**asked, "nodes": launch.nodes})
        return (self.answer,)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    played, zeros = Driver(), torch.zeros
    monkeypatch.setattr(devices, "load_library", lambda name: played)
    monkeypatch.setattr(devices, "compile_kernels", lambda capability, switches: b"cubin of a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: H200)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda place: SimpleNamespace(cuda_stream=77))
    monkeypatch.setattr(torch, "zeros", lambda *shape, device: zeros(*shape))
    devices.find_device.cache_clear()
    yield played
    devices.find_device.cache_clear()


def test_gpu_that_is_too_old_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(name="Tesla T4", major=7, minor=5)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: old)

    with pytest.raises(UnsupportedError, match=r"Tesla T4 has 7\.5"):
        devices.find_device("cuda:0")


def test_many_chains_fill_the_gpu_with_warps_that_stay(driver: Driver) -> None:
    layout = Layout(101, 20)
    launch = Launch(nodes=101, scratch_bytes=layout.scratch_bytes)

    devices.find_device("cuda").launch("search_small", "small", launch, 10_000)

    (asked,) = driver.launched
    assert asked["blocks"] == 132 * 5
    assert asked["threads"] == 128
    assert asked["shared"] == 4 * layout.scratch_bytes
    assert (asked["stream"], asked["nodes"]) == (77, 101)


def test_few_chains_are_spread_over_the_multiprocessors(driver: Driver) -> None:
    devices.find_device("cuda").launch("search_small", "small", Launch(scratch_bytes=3000), 100)

    assert (driver.launched[0]["blocks"], driver.launched[0]["threads"]) == (100, 32)


def test_large_tours_share_a_multiprocessor_as_far_as_its_memory_goes(driver: Driver) -> None:
    devices.find_device("cuda").launch("search_large", "large", Launch(scratch_bytes=100_000), 10_000)

    assert (driver.launched[0]["threads"], driver.launched[0]["shared"]) == (64, 200_000)


def test_huge_tours_use_no_shared_memory_and_no_more_warps_than_have_a_workplace(driver: Driver) -> None:
    device = devices.find_device("cuda")

    device.launch("search_huge", "huge", Launch(scratch_bytes=300_000), 10_000)

    (asked,) = driver.launched
    assert asked["shared"] == 0
    assert asked["blocks"] * asked["threads"] // 32 <= device.count_warps(Layout(15_001, 4000))


@pytest.mark.parametrize("kernel", ["begin_small", "commit", "export_large"])
def test_other_kernels_have_a_warp_for_each_chain(driver: Driver, kernel: str) -> None:
    devices.find_device("cuda").launch(kernel, "small", Launch(scratch_bytes=3000), 10_001)

    (asked,) = driver.launched
    assert (asked["function"], asked["shared"]) == (kernel, 0)
    assert asked["blocks"] * asked["threads"] // 32 >= 10_001


def test_blocks_have_the_warps_and_the_memory_that_they_are_given(driver: Driver) -> None:
    devices.find_device("cuda").launch_blocks("breed", Launch(nodes=101), 77, 8, 40_000)

    (asked,) = driver.launched
    assert (asked["function"], asked["blocks"], asked["threads"], asked["shared"]) == ("breed", 77, 256, 40_000)


def test_refusal_of_the_driver_is_told_in_its_words(driver: Driver) -> None:
    driver.answer = Code.CUDA_ERROR_LAUNCH_FAILED

    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        devices.find_device("cuda").launch("commit", "small", Launch(), 1)
