from __future__ import annotations

import importlib
import tempfile
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dynaroute import __version__
from dynaroute.base.errors import ModelError
from dynaroute.study import doctor as examination
from dynaroute.study.doctor import EXTRAS, Finding, examine

GPU = SimpleNamespace(name="Imaginary GPU", total_memory=8 * 2**30, major=9, minor=0)


def look(topic: str, subject: str) -> Finding:
    """The finding about this; what comes after it is not looked at."""
    return next(finding for finding in examine() if (finding.topic, finding.subject) == (topic, subject))


@pytest.fixture
def no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out what a test with a GPU that is not there cannot do."""
    looks = tuple(entry for entry in examination._LOOKS if entry[1] not in ("trial", "models"))
    monkeypatch.setattr(examination, "_LOOKS", looks)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, no_trial: None) -> None:
    """A GPU as PyTorch and the driver would tell of it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: GPU)
    monkeypatch.setattr(examination, "_ask_driver", lambda: "Imaginary GPU, driver 580.1")


def test_this_installation_solves() -> None:
    findings = list(examine())
    assert [finding for finding in findings if finding.status == "problem"] == []
    assert {finding.topic for finding in findings} == {"versions", "hardware", "caches", "extras", "models", "trial"}


def test_versions_are_told() -> None:
    assert look("versions", "Dynaroute").details["version"] == __version__
    assert look("versions", "PyTorch").details["version"] == torch.__version__


def test_whatever_is_not_ok_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_find_version", lambda package: None)
    findings = list(examine())
    assert [finding for finding in findings if (finding.status == "ok") != (finding.remedy == "")] == []
    assert {"matplotlib", *EXTRAS} <= {finding.subject for finding in findings if finding.status == "note"}


def test_library_that_cannot_be_loaded_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = importlib.import_module

    def load(name: str, *others: Any) -> Any:
        if name == "torch":
            raise OSError("libc10.so: cannot open shared object file\nand another line")
        return usual(name, *others)

    monkeypatch.setattr(importlib, "import_module", load)
    (problem,) = [finding for finding in examine() if finding.status == "problem"]
    assert problem.subject == "PyTorch"
    assert "libc10.so: cannot open shared object file and another line" in problem.found
    assert "pip install" in problem.remedy


def test_a_fault_of_the_examination_itself_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "count_cores", lambda: 1 // 0)
    assert "ZeroDivisionError" in look("hardware", "hardware").found


def test_gpu_is_described(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.kernels._has_triton", lambda: False)
    details = look("hardware", "GPU 0").details
    assert details == {"name": "Imaginary GPU", "memory_gib": 8.0, "capability": "9.0", "driver": "580.1"}


def test_without_triton_a_gpu_is_used_more_slowly(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.kernels._has_triton", lambda: False)
    finding = look("hardware", "kernels on GPU 0")
    assert (finding.status, finding.details) == ("note", {"usable": False})


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [(True, "ok", "right result"), (False, "problem", "wrong result"), (RuntimeError("no ptxas"), "problem", "ptxas")],
    ids=["right", "wrong", "error"],
)
def test_kernel_is_tried_on_a_gpu(
    gpu: None, monkeypatch: pytest.MonkeyPatch, outcome: bool | Exception, status: str, words: str
) -> None:
    def probe(device: torch.device) -> bool:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    pytest.importorskip("triton")
    monkeypatch.setattr("dynaroute.kernels.probe.probe_kernels", probe)
    finding = look("hardware", "kernels on GPU 0")
    assert finding.status == status
    assert words in finding.found


@pytest.mark.parametrize(
    ("cuda", "remedy"), [(None, "Install a CUDA build"), ("13.0", "Update the driver")], ids=["CPU build", "old driver"]
)
def test_gpu_that_cannot_be_used_is_a_note(
    monkeypatch: pytest.MonkeyPatch, no_trial: None, cuda: str | None, remedy: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(examination, "_ask_driver", lambda: "Imaginary GPU, driver 400.1")
    finding = look("hardware", "GPU")
    assert finding.status == "note"
    assert "Imaginary GPU" in finding.found
    assert remedy in finding.remedy


def test_trial_that_fails_on_a_gpu_names_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of resource: shared memory")

    monkeypatch.setattr("dynaroute.base.machine.choose_device", lambda device: "cuda")
    monkeypatch.setattr("dynaroute.solving.solve.solve", fail)
    finding = look("trial", "solve")
    assert finding.status == "problem"
    assert "shared memory" in finding.found
    assert "--device cpu" in finding.remedy


def test_cache_that_can_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "not" / "made"))
    monkeypatch.setattr(examination, "_find_version", lambda package: "1.0")
    finding = look("caches", "Triton's kernels")
    assert finding.details == {"folder": str(tmp_path / "not" / "made"), "writable": True}
    assert list(tmp_path.iterdir()) == []


def test_cache_that_cannot_be_written_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(examination, "_find_version", lambda package: "1.0")
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    finding = look("caches", "Triton's kernels")
    assert (finding.status, finding.details["writable"]) == ("note", False)
    assert "Permission denied" in finding.found
    assert "TRITON_CACHE_DIR" in finding.remedy


def test_search_that_is_not_compiled_yet_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.search.core.compiled.find_cache_folder", lambda: tmp_path)
    assert "python -m dynaroute.search" in look("caches", "compiled search").remedy
    (tmp_path / "kernel.nbi").touch()
    assert look("caches", "compiled search").status == "ok"


def test_search_that_is_kept_nowhere_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.search.core.compiled.find_cache_folder", lambda: None)
    assert "NUMBA_CACHE_DIR" in look("caches", "compiled search").remedy


def test_extra_that_lacks_a_package_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_find_version", lambda package: None if package == "uvicorn" else "1.0")
    finding = look("extras", "serve")
    assert finding.details == {"installed": False, "missing": ["uvicorn"]}
    assert "'.[serve]'" in finding.remedy


def test_extras_are_those_that_are_declared() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert declared["project"]["optional-dependencies"].keys() == EXTRAS.keys()


def test_every_package_of_an_extra_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_find_version", lambda package: None)
    assert look("extras", "ray").details["missing"] == ["pyarrow", "ray"]
    assert look("extras", "bench").details["missing"] == ["hygese", "ortools", "pyvrp"]


def test_missing_models_are_a_problem(shelf: Path) -> None:
    assert look("models", "shipped models").status == "problem"


def test_damaged_model_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ModelError(f"the weights of {name} are damaged.")

    monkeypatch.setattr("dynaroute.model.Policy.from_pretrained", refuse)
    finding = look("models", "amd-100")
    assert finding.status == "problem"
    assert "damaged" in finding.found
