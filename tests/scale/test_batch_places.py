from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from batches import SAVINGS, SameProcess, write_input

from dynaroute.base.errors import FileError
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace, find_place
from dynaroute.scale.run import BatchRequest, run_batch


@pytest.fixture(params=["folder", "fsspec"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StoragePlace:
    """A folder that is not there yet, on disk and in a store that fsspec alone knows."""
    return StoragePlace(str(tmp_path / "new") if request.param == "folder" else f"memory://{secrets.token_hex(4)}/new")


def test_what_is_written_is_read_and_listed(place: StoragePlace) -> None:
    place.make()
    place.write("b", b"two")
    place.write("a", b"one")
    assert place.list_files() == {"a": 3, "b": 3}
    assert place.read("b") == b"two"


def test_what_is_written_again_is_replaced(place: StoragePlace) -> None:
    place.make()
    for content in (b"longer", b"new"):
        place.write("a", content)
    assert place.read("a") == b"new"


def test_a_folder_that_is_not_there_is_empty(place: StoragePlace) -> None:
    assert place.list_files() == {}


def test_what_is_removed_is_gone(place: StoragePlace) -> None:
    place.make()
    place.write("a", b"one")
    place.remove("a")
    assert place.list_files() == {}


def test_a_file_that_is_not_there_is_named(place: StoragePlace) -> None:
    with pytest.raises(FileError, match="new/a"):
        place.read("a")


def test_a_file_is_found_in_its_folder(place: StoragePlace) -> None:
    place.make()
    place.write("a", b"one")
    found, name = find_place(place.file("a"))
    assert (found.read("a"), name) == (b"one", "a")
    assert find_place(place.address) == (place, None)


def test_the_parameters_of_an_address_stay_at_its_end() -> None:
    address = "s3://bucket/folder?endpoint_override=localhost:5000"
    assert StoragePlace(address).file("a") == "s3://bucket/folder/a?endpoint_override=localhost:5000"


def test_an_unknown_kind_of_address_is_refused_by_name() -> None:
    with pytest.raises(FileError, match="nonsense://there"):
        StoragePlace("nonsense://there").list_files()


def test_a_batch_reads_from_and_writes_to_a_store(tmp_path: Path) -> None:
    root = f"memory://{secrets.token_hex(4)}"
    StoragePlace(f"{root}/in").make()
    StoragePlace(f"{root}/in").write("set.parquet", write_input(tmp_path, 5).read_bytes())
    for address in (f"{root}/in", f"{root}/in/set.parquet"):
        out = f"{root}/{secrets.token_hex(4)}"
        summary = run_batch(BatchRequest(address, out, SAVINGS), SameProcess())
        assert (summary.tally.rows, summary.tally.failed) == (5, 0)
        assert sum(map(len, Parts(StoragePlace(out)).find())) == 5
        assert run_batch(BatchRequest(address, out, SAVINGS, resumes=True), SameProcess()).solved == 0
