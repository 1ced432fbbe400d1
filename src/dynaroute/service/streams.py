"""Streams of events: a share of them for each job and each client, and none of the requests that are solved."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from dynaroute.service.refusals import RequestError, refuse_busy

__all__ = ["Streams", "name_client"]

_COME_BACK = 10.0  # seconds


class Streams:
    """Counts the streams that are open.

    Parameters
    ----------
    most
        In all.
    most_of_job, most_of_client
        Of one of them.
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
        """Send events; the share is taken now, and given back when the response has ended.

        Parameters
        ----------
        events
            To be sent.
        job
            Whose events these are.
        client
            Address of who listens.

        Raises
        ------
        RequestError
            429 if the share is used up.
        """
        if self._by_job[job] >= self._most_of_job:
            raise refuse_busy(_COME_BACK, "streams of this job")
        if refusal := self.refuse_client(client):
            raise refusal
        self._by_job[job] += 1
        self._by_client[client] += 1
        return _Stream(events, self, job, client)

    def refuse_client(self, client: str) -> RequestError | None:
        """Why a client gets no stream, whatever the job; None if it may."""
        if self._by_client[client] >= self._most_of_client:
            return refuse_busy(_COME_BACK, "streams of this client")
        if len(self) >= self._most:
            return refuse_busy(_COME_BACK, "streams")
        return None

    def close(self, job: str, client: str) -> None:
        """Give a share back."""
        for counter, key in ((self._by_job, job), (self._by_client, client)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]  # or it would remember everybody who ever came


class _Stream(StreamingResponse):
    """Server-sent events, which hold their share until they end."""

    def __init__(self, events: AsyncIterator[bytes], streams: Streams, job: str, client: str) -> None:
        # X-Accel-Buffering: a proxy shall pass on each event at once
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
    """The address that a request comes from, or that a proxy on this machine names."""
    host: str = (scope.get("client") or ("",))[0]
    return host
