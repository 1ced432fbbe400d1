"""One service for all tests that leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from running_service import RunningService, running_service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with the usual limits, but less patience."""
    folder = tmp_path_factory.mktemp("service")
    with running_service(folder, body_seconds=1, heartbeat_seconds=0.1, batch_seconds=0.05) as running:
        yield running


@pytest.fixture(scope="session")
def client(service: RunningService) -> Iterator[httpx.Client]:
    """A well-behaved client of it."""
    with service.client() as client:
        yield client
