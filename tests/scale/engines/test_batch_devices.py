from __future__ import annotations

from pathlib import Path

import pytest
from batches import DeadlySource

from dynaroute.scale.engines.devices import list_gpus, name_kind
from dynaroute.scale.engines.local import LocalEngine
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.work import Work
from dynaroute.solving.options import SolveOptions


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        (SolveOptions(), ["cuda:0", "cuda:1"]),
        (SolveOptions(total_time=60), ["cuda:0", "cuda:1"]),
        (SolveOptions(device="cuda:1"), ["cuda:1"]),
        (SolveOptions(device="cpu"), []),
        (SolveOptions(iterations=10), []),
        (SolveOptions(model="amd-20", iterations=10), []),
        (SolveOptions(model="amd-20", iterations=10, device="cuda"), ["cuda:0", "cuda:1"]),
        (SolveOptions(model="savings"), []),
    ],
)
def test_gpus_are_for_policies_and_searches_of_many(options: SolveOptions, gpus: list[str]) -> None:
    assert list_gpus(options) == gpus
    assert name_kind(options) == ("cuda" if gpus else "cpu")


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("cores", "workers"), [(1, 2), (6, 6), (64, 8)])
def test_several_workers_share_each_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, workers: int
) -> None:
    monkeypatch.setattr("dynaroute.scale.engines.local.count_cores", lambda: cores)
    work = Work(DeadlySource.make([], 0), Parts(StoragePlace(str(tmp_path))), SolveOptions(), 1, 0)
    assert LocalEngine().count_workers(work) == workers
    assert LocalEngine(5).count_workers(work) == 5
