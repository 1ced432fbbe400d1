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

from dynaroute.errors import OptionError
from dynaroute.formats import instance_from_json
from dynaroute.formats.json_document import load_json
from dynaroute.instance import Instance
from dynaroute.service.engine import Engine
from dynaroute.service.job import Job
from dynaroute.service.job_archive import JobArchive
from dynaroute.service.job_file import JobFile, _write_instance
from dynaroute.service.jobs import JobStore
from dynaroute.service.searches import SearchPool
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
    monkeypatch.setattr("dynaroute.service.job_file._PATIENCE", 0.01)
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
        database.execute("INSERT INTO jobs VALUES ('x', 1, '{}', '[]', 'nonsense', ?)", (time.time(),))
    database.close()

    file = JobFile(str(tmp_path))

    assert file.load() == []
    assert "skipped" in caplog.text
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


def test_15_6_damaged_pages_of_the_file_do_not_keep_the_service_from_starting(tmp_path: Path) -> None:
    file = JobFile(str(tmp_path))
    for _ in range(20):
        file.add(Job(INSTANCE, SEARCH, ("a note " * 100,)).keep())
    file.close()
    path = tmp_path / "jobs.sqlite3"
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\xff" * (len(content) - 4096 * 4)
    path.write_bytes(content)

    assert JobFile(str(tmp_path)).load() == []
