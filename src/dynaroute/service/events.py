"""Server-sent events: what a job finds, as it finds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic import BaseModel

from dynaroute.service.jobs import Job

__all__ = ["stream_events"]

_GAP = 0.05  # seconds between improvements: more often nobody can look
_HEARTBEAT = b": still here\n\n"


async def stream_events(job: Job, heartbeat: float) -> AsyncIterator[bytes]:
    """Tell of every improvement, beginning with the best so far; the last event is the end of the job.

    A listener that is slower than the search gets the latest improvement each time, and misses those between.

    Parameters
    ----------
    job
        To be followed; others may follow it, too.
    heartbeat
        Longest silence, in seconds.
    """
    told = 0
    while True:
        if job.improvements > told and job.best is not None:
            told = job.improvements
            yield _format_event("improvement", told, job.best)
            await asyncio.sleep(_GAP)
        elif job.has_ended:
            yield _format_event("end", told + 1, job.describe())
            return
        else:
            try:
                async with asyncio.timeout(heartbeat):
                    await job.wait_for_change()
            except TimeoutError:
                yield _HEARTBEAT


def _format_event(name: str, number: int, data: BaseModel) -> bytes:
    return f"event: {name}\nid: {number}\ndata: {data.model_dump_json()}\n\n".encode()
