"""What all tests share; its folder is on the path, so that they can say ``from strategies import instances``."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from quick_interpreter import quicken_interpreter

from dynaroute.weights import shipped_models

if shutil.which("nvidia-smi") is None:
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is first imported: kernels run without a GPU
    quicken_interpreter()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # what shells give to programs in the background; the tests of Ctrl-C, and processes they start, need the usual one
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("local"), max_examples=400)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from side_by_side import FileScheduling

    return FileScheduling(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark instances and published weights that lies beside the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the benchmark data beside the repository (../shared/data) are not there")
    return folder


@pytest.fixture
def shelf(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for shipped models, for tests that should not depend on what ships."""
    place = tmp_path_factory.mktemp("shelf")
    monkeypatch.setattr("dynaroute.weights._FOLDER", place)
    shipped_models.cache_clear()
    yield place
    shipped_models.cache_clear()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small policy with random weights, called tiny."""
    from policies import make_policy

    from dynaroute.model import ModelCard

    folder = tmp_path_factory.mktemp("models") / "tiny"
    make_policy(card=ModelCard(name="tiny")).save_pretrained(folder)
    return folder
