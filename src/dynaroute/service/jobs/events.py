"""Server-sent events of a job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dynaroute.service.jobs.jobs import Job

__all__ = ["count_seen", "stream_events"]

_GAP = 0.05  # least seconds between improvements
_HEARTBEAT = b": still here\n\n"
_LONGEST_NUMBER = 19


def count_seen(last_event_id: str | None) -> int:
    """Return how many improvements a reconnecting client has seen, from its Last-Event-ID header."""
    text = last_event_id or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER else 0


async def stream_events(job: Job, heartbeat: float, told: int = 0) -> AsyncIterator[bytes]:
    """Send the best so far, then every improvement; the last event is the end of the job.

    A slow client gets the latest improvement each time, and misses those in between.
    """
    while not job.is_suspended:
        if job.improvements > told and job.best_json is not None:
            told = job.improvements
            yield _format_event("improvement", told, job.best_json)
            await asyncio.sleep(_GAP)
        elif job.has_ended:
            yield _format_event("end", job.improvements + 1, job.describe().model_dump_json())
            return
        else:
            try:
                async with asyncio.timeout(heartbeat):
                    await job.wait_for_change()
            except TimeoutError:
                yield _HEARTBEAT


def _format_event(name: str, number: int, data: str) -> bytes:
    return f"event: {name}\nid: {number}\ndata: {data}\n\n".encode()
