from __future__ import annotations

import pytest
import torch

triton = pytest.importorskip("triton")

from dynaroute.base.machine import choose_device  # noqa: E402 (Triton may not be there)
from dynaroute.kernels import probe  # noqa: E402


def test_small_kernel_gives_the_right_answer() -> None:
    assert probe.probe_kernels(torch.device(choose_device("auto")))


def test_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "equal", lambda found, expected: bool((found == expected + 1).all()))
    assert not probe.probe_kernels(torch.device(choose_device("auto")))
