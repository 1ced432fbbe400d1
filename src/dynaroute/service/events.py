"""Server-sent events: what a job finds, as it finds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dynaroute.service.jobs import Job

__all__ = ["count_seen", "stream_events"]

_GAP = 0.05  # seconds between improvements: more often nobody can look
_HEARTBEAT = b": still here\n\n"
_LONGEST_NUMBER = 19


def count_seen(last_event_id: str | None) -> int:
    """How many improvements a listener has heard of, as its browser tells when it comes again.

    Parameters
    ----------
    last_event_id
        The header; whatever is no identifier of ours counts as none.
    """
    text = last_event_id or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER else 0


async def stream_events(job: Job, heartbeat: float, told: int = 0) -> AsyncIterator[bytes]:
    """Tell of every improvement, beginning with the best so far; the last event is the end of the job.

    A listener that is slower than the search gets the latest improvement each time, and misses those between.

    Parameters
    ----------
    job
        To be followed; others may follow it, too.
    heartbeat
        Longest silence, in seconds.
    told
        How many improvements the listener has heard of before.
    """
    while not job.is_put_aside:
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
