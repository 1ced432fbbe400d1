"""Jobs on disk, and what becomes of them when a service begins with them."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from policies import draw_instances
from strategies import instances
from test_jobs import FakeEngine, until

from dynaroute.base.errors import OptionError
from dynaroute.formats import instance_from_json
from dynaroute.formats.json.document import load_json
from dynaroute.problem.instance import Instance
from dynaroute.service.jobs.archive import JobArchive
from dynaroute.service.jobs.file import JobFile, _write_instance
from dynaroute.service.jobs.job import Job
from dynaroute.service.jobs.jobs import JobStore
from dynaroute.service.work.engine import Engine
from dynaroute.service.work.searches import SearchPool
from dynaroute.solving.options import SolveOptions

(INSTANCE,) = draw_instances(3)
SEARCH = SolveOptions(improve="search", time_limit=5.0, model="amd-20", seed=7)


class Life:
    """One life of a service: its jobs, from a folder."""

    def __init__(self, folder: Path) -> None:
        self.engine = FakeEngine()
        self.pool = SearchPool(1, 10)
        self.archive = JobArchive(JobFile(str(folder)))
        self.store = JobStore(cast(Engine, self.engine), self.pool, most=10, age=1000.0, archive=self.archive)
        self.store.restore()

    def add(self) -> Job:
        job = Job(INSTANCE, SEARCH, ("a note",))
        self.store.add(job)
        return job

    def end(self) -> None:
        self.store.stop_all()
        self.pool.stop()
        self.archive.close()


def test_ended_job_is_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Life(tmp_path)
        job = first.add()
        first.engine.improve.release(2)
        await job.wait_for_end()
        await asyncio.sleep(0)
        first.end()

        second = Life(tmp_path)

        again = second.store.get(job.identifier)
        assert again.describe() == job.describe()
        assert again.has_ended
        second.end()

    asyncio.run(scenario())


def test_running_job_goes_on_from_its_best(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Life(tmp_path)
        job = first.add()
        first.engine.improve.release()
        await until(job, lambda: job.improvements == 1)
        first.end()
        await job.wait_for_end()  # which it does not reach in this life

        second = Life(tmp_path)
        again = second.store.get(job.identifier)
        assert (again.state, again.improvements) == ("queued", 1)
        remaining = again.remaining
        assert remaining.start is not None
        assert (remaining.model, remaining.seed) == ("auto", 7)
        assert 0 < (remaining.time_limit or 0.0) < 5.0
        second.store.resume()
        second.engine.improve.release(2)
        await again.wait_for_end()

        answer = again.describe()
        assert (answer.state, answer.improvements, answer.time_limit) == ("finished", 2, 5.0)
        assert answer.result is not None
        assert answer.result.messages[0] == "a note"
        assert "restart" in answer.result.messages[-1]
        second.end()

    asyncio.run(scenario())


def test_deleted_job_does_not_come_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Life(tmp_path)
        waiting, job = first.add(), first.add()
        await first.store.remove(job.identifier)
        first.end()

        second = Life(tmp_path)
        assert len(second.store) == 1
        removed = await second.store.remove(waiting.identifier)  # before it went on
        assert removed.state == "stopped"
        second.end()

        third = Life(tmp_path)
        assert len(third.store) == 0
        third.end()

    asyncio.run(scenario())


def test_problem_of_an_ended_job_is_not_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        life = Life(tmp_path)
        job = life.add()
        life.engine.improve.release(2)
        await job.wait_for_end()
        with pytest.raises(AssertionError):
            _ = job.instance
        await asyncio.sleep(0)
        life.end()

        with sqlite3.connect(tmp_path / "jobs.sqlite3") as database:
            assert database.execute("SELECT COUNT(*) FROM problems").fetchone() == (0,)

    asyncio.run(scenario())


def test_folder_belongs_to_one_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.service.jobs.file._PATIENCE", 0.01)
    file = JobFile(str(tmp_path))

    with pytest.raises(OptionError) as caught:
        JobFile(str(tmp_path))

    assert caught.value.where.field == "DYNAROUTE_JOBS_FOLDER"
    file.close()
    JobFile(str(tmp_path)).close()


def test_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite3").write_bytes(b"no database at all, but long enough to be one" * 100)

    with pytest.raises(OptionError, match=r"jobs\.sqlite3"):
        JobFile(str(tmp_path))


def test_file_is_for_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "jobs"

    JobFile(str(folder)).close()

    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "jobs.sqlite3").stat().st_mode & 0o077 == 0


def test_job_that_cannot_be_read_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    JobFile(str(tmp_path)).close()
    with sqlite3.connect(tmp_path / "jobs.sqlite3") as database:
        database.execute("INSERT INTO jobs VALUES ('x', 1, '{}', '[]', 'nonsense', ?, 'none')", (time.time(),))
    database.close()

    file = JobFile(str(tmp_path))

    assert file.load() == []
    assert "x: its checksum does not match its content" in caplog.text
    file.close()


@given(instances())
def test_instance_comes_back_as_it_was(instance: Instance) -> None:
    assert instance_from_json(load_json(_write_instance(instance))) == instance


def test_15_6_job_whose_problem_is_gone_is_left_out(tmp_path: Path) -> None:
    file = JobFile(str(tmp_path))
    file.add(Job(INSTANCE, SEARCH, ()).keep())
    file.close()
    with sqlite3.connect(tmp_path / "jobs.sqlite3") as database:
        database.execute("DELETE FROM problems")
    database.close()

    assert JobFile(str(tmp_path)).load() == []  # it was begun, and failed with a traceback


def write_jobs(folder: Path, count: int) -> list[str]:
    """Write jobs that are long enough to fill several pages, and return their ids."""
    file = JobFile(str(folder))
    jobs = [Job(INSTANCE, SEARCH, ("a note " * 100,)) for _ in range(count)]
    for job in jobs:
        file.add(job.keep())
    file.close()
    return [job.identifier for job in jobs]


def load_ids(folder: Path) -> list[str]:
    file = JobFile(str(folder))
    kept = [job.answer.id for job in file.load()]
    file.close()
    return kept


def change(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "jobs.sqlite3") as database:
        database.execute(statement, values)
    database.close()


def test_15_6_damaged_pages_of_the_file_do_not_keep_the_service_from_starting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    identifiers = write_jobs(tmp_path, 20)
    path = tmp_path / "jobs.sqlite3"
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\xff" * (len(content) - 4096 * 4)
    path.write_bytes(content)

    kept = load_ids(tmp_path)

    (aside,) = tmp_path.glob("jobs.damaged-*.sqlite3")
    assert aside.read_bytes() == content
    assert f"The damaged file is kept as {aside.name}" in caplog.text
    assert all(identifier in caplog.text for identifier in set(identifiers) - set(kept))


@pytest.mark.parametrize("damage", [bytes(4096), b"\xff" * 4096])
def test_jobs_beside_a_damaged_page_are_kept_and_the_others_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    identifiers = write_jobs(tmp_path, 20)
    path = tmp_path / "jobs.sqlite3"
    content = path.read_bytes()
    pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
    last = max(number for number, page in enumerate(pages) if b"a note " in page)  # a leaf: it holds only rows
    path.write_bytes(b"".join([*pages[:last], damage, *pages[last + 1 :]]))

    kept = load_ids(tmp_path)

    lost = [identifier for identifier in identifiers if identifier not in kept]
    assert 0 < len(lost) < len(identifiers)
    assert all(identifier in caplog.text for identifier in lost)
    assert not any(identifier in caplog.text for identifier in kept)
    assert load_ids(tmp_path) == kept


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE jobs SET answer = replace(answer, 'queued', 'failed')", "its checksum does not match"),
        ("UPDATE jobs SET options = '{}'", "its checksum does not match"),
        ("UPDATE jobs SET ended_at = 5.0", "its checksum does not match"),
        ("UPDATE jobs SET checksum = NULL", "its checksum does not match"),
        ("UPDATE problems SET instance = replace(instance, '0', '1')", "the checksum of its problem does not match"),
        ("DELETE FROM problems", "its problem is missing"),
    ],
)
def test_job_that_was_changed_is_left_out_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, statement: str, reason: str
) -> None:
    first, second = write_jobs(tmp_path, 2)
    change(tmp_path, f"{statement} WHERE id = ?", second)

    assert load_ids(tmp_path) == [first]
    assert f"{second}: {reason}" in caplog.text
    assert first not in caplog.text


def test_job_that_was_continued_still_matches_its_checksum(tmp_path: Path) -> None:
    write_jobs(tmp_path, 1)
    file = JobFile(str(tmp_path))
    (kept,) = file.load()
    file.update(kept.answer.model_copy(update={"improvements": 3}), None)
    file.close()

    file = JobFile(str(tmp_path))
    assert [job.answer.improvements for job in file.load()] == [3]
    file.close()


def test_file_without_checksums_is_read_with_a_note_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    identifiers = write_jobs(tmp_path, 2)
    for table in ("jobs", "problems"):
        change(tmp_path, f"ALTER TABLE {table} DROP COLUMN checksum")
    change(tmp_path, "PRAGMA user_version = 1")

    assert load_ids(tmp_path) == identifiers
    assert "2 jobs of an earlier version in jobs.sqlite3 had no checksum" in caplog.text

    caplog.clear()
    assert load_ids(tmp_path) == identifiers
    assert not caplog.text
