from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from dynaroute.base.machine import choose_device


@pytest.mark.parametrize(("has_gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_a_gpu_is_used_if_there_is_one(has_gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert choose_device("auto") == expected


@pytest.mark.parametrize("named", ["cpu", "cuda:1", "no such thing"])
def test_what_is_named_is_used(named: str) -> None:
    assert choose_device(named) == named


@pytest.mark.skipif(not torch.__version__.endswith("+cpu"), reason="this PyTorch can use GPUs, and has to be asked")
def test_a_build_without_gpus_is_known_without_loading_it() -> None:
    code = "import sys; from dynaroute.base import machine; print(machine.choose_device(None), 'torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["cpu", "False"]
