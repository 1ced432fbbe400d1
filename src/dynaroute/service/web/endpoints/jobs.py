"""Endpoints for jobs, searches in the background, and the streams of their events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dynaroute.service.jobs.jobs import Job
from dynaroute.service.messages.reading import read_solvable_problem
from dynaroute.service.messages.replies import reply
from dynaroute.service.messages.request_schemas import QueryOptions
from dynaroute.service.messages.response_schemas import JobResponse
from dynaroute.service.web.openapi import EVENTS_ANSWER, JOB_ANSWER, SOLVE_BODY, describe_failures, describe_reading
from dynaroute.service.work.service import Service
from dynaroute.service.work.streams import name_client

JobIdentifier = Annotated[str, Path(alias="id", description="The id returned by POST /v1/jobs.", max_length=64)]
LastEventIdentifier = Annotated[
    str | None, Header(description="The last event received; earlier ones are not sent again.")
]
_GAP = 0.05  # least seconds between improvements
_HEARTBEAT = b": still here\n\n"
_LONGEST_NUMBER = 19


def make_jobs_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
    largest = service.settings.answer_bytes

    @router.post(
        "",
        status_code=HTTPStatus.ACCEPTED,
        response_model=JobResponse,
        **describe_reading(SOLVE_BODY, JOB_ANSWER),
    )
    async def create_job(request: Request, query: Annotated[QueryOptions, Query()]) -> Response:
        """Start a search, for 10 s if no time limit is given."""
        service.refuse_unready()
        problem = await service.read(request, read_solvable_problem, query=query)
        job = await service.add_job(problem, service.choose_for_job(problem))
        return reply(job.describe(), largest, HTTPStatus.ACCEPTED, {"Location": f"/v1/jobs/{job.identifier}"})

    @router.get("/{id}", response_model=JobResponse, responses=describe_failures(401, 404, 422))
    async def get_job(identifier: JobIdentifier) -> Response:
        """Return the state of a job, with its best routes so far."""
        return reply(service.jobs.get(identifier).describe(), largest)

    @router.delete("/{id}", response_model=JobResponse, responses=describe_failures(401, 404, 422))
    async def delete_job(identifier: JobIdentifier) -> Response:
        """Stop a job if it is running, return its best routes, and delete it."""
        job = await service.jobs.remove(identifier)
        return reply(job.describe(), largest)

    @router.get(
        "/{id}/events",
        response_class=StreamingResponse,
        responses={**describe_failures(401, 404, 422, 429), **EVENTS_ANSWER},
    )
    async def follow_job(
        request: Request, identifier: JobIdentifier, last_event_id: LastEventIdentifier = None
    ) -> Response:
        """Follow a job with server-sent events.

        Each `improvement` contains the best routes so far, the first at once; `end` contains the finished job.
        """
        job = service.jobs.get(identifier)
        told = count_seen(last_event_id)
        if (
            job.has_ended and told == job.improvements + 1
        ):  # the end was received; this status tells a browser not to reconnect
            return Response(status_code=HTTPStatus.NO_CONTENT)
        events = stream_events(job, service.settings.heartbeat_seconds, told if told <= job.improvements else 0)
        return service.streams.open(events, identifier, name_client(request.scope))

    return router


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
