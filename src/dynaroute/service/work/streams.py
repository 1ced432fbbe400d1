"""Limits on event streams, in total, per job and per client."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from dynaroute.service.messages.refusals import RequestError, make_busy_error

_RETRY_SECONDS = 10.0  # seconds


class Streams:
    """Counts open streams.

    Parameters
    ----------
    most
        Most streams in total.
    most_of_job, most_of_client
        Most streams per job and per client.
    """

    def __init__(self, *, most: int, most_of_job: int, most_of_client: int) -> None:
        self._most = most
        self._most_of_job = most_of_job
        self._most_of_client = most_of_client
        self._by_job: Counter[str] = Counter()
        self._by_client: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._by_job.total()

    def open(self, events: AsyncIterator[bytes], job: str, client: str) -> StreamingResponse:
        """Send events; the stream counts until the response has ended.

        Raises
        ------
        RequestError
            429 if there are too many streams.
        """
        if self._by_job[job] >= self._most_of_job:
            raise make_busy_error(_RETRY_SECONDS, "streams of this job")
        if refusal := self.refuse_client(client):
            raise refusal
        self._by_job[job] += 1
        self._by_client[client] += 1
        return _CountedStream(events, self, job, client)

    def refuse_client(self, client: str) -> RequestError | None:
        """Return why a client may not open a stream, whatever the job; None if it may."""
        if self._by_client[client] >= self._most_of_client:
            return make_busy_error(_RETRY_SECONDS, "streams of this client")
        if len(self) >= self._most:
            return make_busy_error(_RETRY_SECONDS, "streams")
        return None

    def close(self, job: str, client: str) -> None:
        """Stop counting a stream."""
        for counter, key in ((self._by_job, job), (self._by_client, client)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]  # otherwise it would grow with every client


class _CountedStream(StreamingResponse):
    """Server-sent events, counted until they end."""

    def __init__(self, events: AsyncIterator[bytes], streams: Streams, job: str, client: str) -> None:
        # X-Accel-Buffering: proxies should pass on each event at once
        super().__init__(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._streams = streams
        self._job = job
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.close(self._job, self._client)


def name_client(scope: Scope) -> str:
    """Return the client's address, as seen here or as named by a proxy on this machine."""
    host: str = (scope.get("client") or ("",))[0]
    return host
