"""Batches from and to an object store: a local S3 server, moto, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.fs
import pytest
from batches import SAVINGS, SameProcess, read_out, routes_of, run, write_input

from dynaroute.base.errors import FileError, FormatError
from dynaroute.scale.engines.local import LocalEngine
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.run import BatchRequest, run_batch

pytest.importorskip("moto", reason="moto, the local S3 server, is not installed")

SOON = 60.0  # seconds
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
# Sends all that it has, and dies before it can say that this was all.
DIES_DURING_AN_UPLOAD = """
import os, sys
from dynaroute.scale import places

class Stream:
    def __init__(self, stream):
        self.stream = stream
    def write(self, content):
        self.stream.write(content)
        os.kill(os.getpid(), 9)

class Store:
    def __init__(self, system):
        self.system = system
    def open_output_stream(self, path):
        return Stream(self.system.open_output_stream(path))

resolve = places._resolve
def resolve_slowly(address):
    system, path = resolve(address)
    return Store(system), path
places._resolve = resolve_slowly
places.StoragePlace(sys.argv[1]).write("part", bytes(12_000_000))
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        chosen: int = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(chosen)]
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process,
    ):
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        try:
            _wait_for(chosen)
            yield chosen
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise AssertionError("the S3 server does not start")


@pytest.fixture
def bucket(port: int, tmp_path: Path) -> str:
    """The address of an empty folder in the store, up to its name."""
    query = f"?endpoint_override=127.0.0.1:{port}&scheme=http"
    system, _ = pyarrow.fs.FileSystem.from_uri(f"s3://bucket{query}&allow_bucket_creation=true")
    system.create_dir("bucket")
    return f"s3://bucket/{tmp_path.name}/{{}}{query}"


def upload(file: Path, bucket: str) -> str:
    """Copy a file into the store; its address there."""
    StoragePlace(bucket.format("in")).write(file.name, file.read_bytes())
    return bucket.format(f"in/{file.name}")


def test_a_batch_goes_from_store_to_store(bucket: str, tmp_path: Path) -> None:
    file = write_input(tmp_path, 10)
    request = BatchRequest(upload(file, bucket), bucket.format("out"), SAVINGS, block=4)

    run_batch(request, LocalEngine(1))
    run(file, tmp_path / "here", block=4)

    assert routes_of(bucket.format("out")) == routes_of(tmp_path / "here")
    assert list(StoragePlace(bucket.format("out")).list_files())[:2] == ["_manifest.json", "_summary.json"]


def test_double_ids_in_files_of_the_store_are_refused(bucket: str, tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    for name in ("a.parquet", "b.parquet"):
        StoragePlace(bucket.format("in")).write(name, file.read_bytes())

    with pytest.raises(FormatError, match="the same id"):
        run_batch(BatchRequest(bucket.format("in"), bucket.format("out"), SAVINGS), SameProcess())


def test_a_run_in_the_store_continues(bucket: str, tmp_path: Path) -> None:
    address, out = upload(write_input(tmp_path, 10), bucket), bucket.format("out")
    run_batch(BatchRequest(address, out, SAVINGS, block=4), SameProcess())
    before = routes_of(out)
    StoragePlace(out).remove("part-000000000004-000000000008.parquet")

    summary = run_batch(BatchRequest(address, out, SAVINGS, block=4, resumes=True), SameProcess())

    assert (summary.solved, summary.tally.rows) == (4, 10)
    assert routes_of(out) == before


def test_a_driver_that_was_killed_leaves_whole_parts_in_the_store(bucket: str, tmp_path: Path) -> None:
    address, out = upload(write_input(tmp_path, 16), bucket), bucket.format("out")
    command = [sys.executable, "-m", "dynaroute", "batch", address, "--out", out, "--block", "2"]
    options = ["--iterations", "20000", "--workers", "1"]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        end = time.monotonic() + SOON
        while not Parts(StoragePlace(out)).find():
            assert driver.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)

    written = read_out(out)
    subprocess.run([*command, *options, "--resume"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    found = read_out(out)
    assert 0 < len(written) < len(found)
    assert [each.row for each in found] == list(range(16))
    assert all(each.checked for each in found)


def test_an_upload_that_was_not_completed_is_not_there(bucket: str) -> None:
    died = subprocess.run([sys.executable, "-c", DIES_DURING_AN_UPLOAD, bucket.format("out")], env=os.environ)

    assert died.returncode == -signal.SIGKILL
    assert StoragePlace(bucket.format("out")).list_files() == {}


def test_an_address_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be used"):
        run_batch(BatchRequest("nowhere://bucket/in.parquet", str(tmp_path / "out"), SAVINGS), SameProcess())
