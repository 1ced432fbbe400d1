from __future__ import annotations

import logging

import pytest

from dynaroute.service.work.connections import Connections, afford_connections
from dynaroute.service.work.throttled_log import ThrottledLog


class FakeConnection:
    def __init__(self, unread: int = 0) -> None:
        self.unread = unread
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def make_connections(most: int = 3, most_unread: int = 100) -> Connections:
    return Connections(most, most_unread, ThrottledLog())


def dropped(connections: list[FakeConnection]) -> list[int]:
    return [index for index, connection in enumerate(connections) if connection.is_dropped]


def test_longest_idle_is_dropped_first() -> None:
    everybody, some = make_connections(), [FakeConnection() for _ in range(5)]
    for connection in some[:3]:
        everybody.add(connection)
    everybody.note_request(some[0])
    everybody.note_request(some[1])
    everybody.note_answer(some[1])

    for connection in some[3:]:
        everybody.add(connection)

    assert dropped(some) == [1, 2]
    assert len(everybody) == 3


def test_newcomer_is_dropped_where_all_are_busy() -> None:
    everybody, some = make_connections(most=1), [FakeConnection(), FakeConnection()]
    everybody.add(some[0])
    everybody.note_request(some[0])

    everybody.add(some[1])

    assert dropped(some) == [1]


def test_who_does_not_read_for_longest_is_dropped_first() -> None:
    everybody, some = make_connections(), [FakeConnection(60) for _ in range(3)]
    for connection in some:
        everybody.add(connection)
    for connection in some[:2]:
        everybody.note_stall(connection)
    assert dropped(some) == [0]
    everybody.note_progress(some[1])

    everybody.note_stall(some[2])

    assert dropped(some) == [0]
    assert everybody.stalled == 1


def test_single_large_answer_may_be_taken() -> None:
    everybody, connection = make_connections(), FakeConnection(1_000)
    everybody.add(connection)

    everybody.note_stall(connection)

    assert not connection.is_dropped


def test_unread_are_dropped_in_the_end() -> None:
    everybody, some = make_connections(), [FakeConnection(1), FakeConnection(0)]
    for connection in some:
        everybody.add(connection)

    everybody.drop_unread()

    assert dropped(some) == [0]


def test_connections_leave_handles_for_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 1_024))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)

    assert afford_connections(100) == 100
    assert 500 < afford_connections(2_048) < 1_000


def test_repeated_warning_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    log = ThrottledLog()

    with caplog.at_level(logging.WARNING):
        for _ in range(1_000):
            log.warn("Something is wrong.")

    assert [record.getMessage() for record in caplog.records] == ["Something is wrong."]
