from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.web.endpoints.jobs import count_seen
from dynaroute.service.work.streams import Streams


async def no_events() -> AsyncIterator[bytes]:
    yield b""


def open_many(streams: Streams, pairs: list[tuple[str, str]]) -> None:
    for job, client in pairs:
        streams.open(no_events(), job, client)


@pytest.mark.parametrize(
    ("pairs", "one_more", "words"),
    [
        ([("a", "1"), ("a", "2")], ("a", "3"), "of this job"),
        ([("a", "1"), ("b", "1"), ("c", "1")], ("d", "1"), "of this client"),
        ([("a", "1"), ("b", "1"), ("c", "2"), ("d", "2")], ("e", "3"), "streams at"),
    ],
)
def test_share_is_bounded(pairs: list[tuple[str, str]], one_more: tuple[str, str], words: str) -> None:
    streams = Streams(most=4, most_of_job=2, most_of_client=3)
    open_many(streams, pairs)

    with pytest.raises(RequestError) as caught:
        streams.open(no_events(), *one_more)

    assert caught.value.status == 429
    assert words in caught.value.message
    streams.close(*pairs[0])
    streams.open(no_events(), *one_more)
    assert len(streams) == len(pairs)


@pytest.mark.parametrize(
    ("header", "seen"), [(None, 0), ("", 0), ("7", 7), ("-7", 0), ("seven", 0), ("7.5", 0), ("9" * 5_000, 0)]
)
def test_last_event_id_is_a_number_or_nothing(header: str | None, seen: int) -> None:
    assert count_seen(header) == seen
