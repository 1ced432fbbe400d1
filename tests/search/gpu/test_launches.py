from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from kernel_devices import device_of, needs_compiler

from dynaroute.search.gpu.compiler import list_sources, read_sources
from dynaroute.search.gpu.launches import IslandLayout, Launch, Layout


@needs_compiler
def test_structure_of_launches_is_that_of_the_kernels() -> None:
    assert ctypes.sizeof(Launch) == device_of().library.launch_bytes()


def test_what_is_compiled_for_a_gpu_has_the_same_fields() -> None:
    declared = read_sources()["launch.cuh"].decode().partition("struct Launch {")[2].partition("}")[0]
    assert [field.split()[-1] for field in declared.split(";")[:-1]] == [field[0] for field in Launch._fields_]


@needs_compiler
@pytest.mark.parametrize("layout", [Layout(2, 1), Layout(101, 20), Layout(128, 127), Layout(129, 7), Layout(1001, 300)])
def test_a_warp_has_room_for_all_that_it_writes(layout: Layout) -> None:
    launch = Launch(nodes=layout.nodes, slots=layout.slots, words=layout.words)

    needed = device_of().library.scratch_bytes(ctypes.byref(launch), int(layout.is_small))

    assert needed <= layout.scratch_bytes < needed + 16


@needs_compiler
@pytest.mark.parametrize("layout", [Layout(2, 1), Layout(101, 20), Layout(128, 127)])
@pytest.mark.parametrize("room", [2, 66, 128])
def test_a_warp_has_room_for_a_child_and_to_tell_who_survives(layout: Layout, room: int) -> None:
    library, island = device_of().library, IslandLayout(layout, room)

    needed = library.workspace_bytes(layout.nodes, layout.slots)

    assert needed <= island.warp_bytes < needed + 16
    assert library.common_bytes_of(layout.nodes) == island.common_bytes
    assert library.registry_bytes(room) <= island.registry_bytes < library.registry_bytes(room) + 16
    assert island.block_bytes <= 232_448


def test_a_multiprocessor_holds_enough_warps_that_breed() -> None:
    assert 232_448 // IslandLayout(Layout(101, 21), 66).block_bytes >= 4


def test_a_multiprocessor_holds_enough_chains_of_100_customers() -> None:
    assert 232_448 // Layout(101, 21).scratch_bytes >= 40


def test_all_shared_memory_is_asked_for_at_the_launch() -> None:
    """What a kernel declares itself would count towards what a block may ask for."""
    lines = [line for path in list_sources() for line in path.read_text().splitlines() if "__shared__" in line]

    assert lines == ["extern __shared__ Quad shared_memory[];"]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_kernels_compile_for_the_oldest_gpu_without_a_warning(tmp_path: Path) -> None:
    for name, text in read_sources().items():
        (tmp_path / name).write_bytes(text)
    options = ["-arch=sm_80", "-std=c++17", "--fmad=false", "-cubin", "-o", str(tmp_path / "kernel.cubin")]

    done = subprocess.run(["nvcc", *options, tmp_path / "kernel.cu"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
