from __future__ import annotations

import pytest
import torch

from dynaroute.device import choose_device


@pytest.mark.parametrize(("has_gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_a_gpu_is_used_if_there_is_one(has_gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert choose_device("auto") == expected


@pytest.mark.parametrize("named", ["cpu", "cuda:1", "no such thing"])
def test_what_is_named_is_used(named: str) -> None:
    assert choose_device(named) == named
