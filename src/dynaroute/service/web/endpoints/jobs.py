"""Endpoints for jobs: searches in the background."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dynaroute.service.jobs.events import count_seen, stream_events
from dynaroute.service.messages.replies import reply
from dynaroute.service.messages.request_schemas import QueryOptions
from dynaroute.service.messages.response_schemas import JobResponse
from dynaroute.service.web.endpoints.solving import READING_FAILURES, receive_problem
from dynaroute.service.web.openapi import EVENTS_ANSWER, JOB_ANSWER, SOLVE_BODY, describe_failures
from dynaroute.service.work.service import Service
from dynaroute.service.work.streams import name_client

__all__ = ["make_jobs_router"]

JobIdentifier = Annotated[str, Path(alias="id", description="The id returned by POST /v1/jobs.", max_length=64)]
LastEventIdentifier = Annotated[
    str | None, Header(description="The last event received; earlier ones are not sent again.")
]


def make_jobs_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
    largest = service.settings.answer_bytes

    @router.post(
        "",
        status_code=HTTPStatus.ACCEPTED,
        response_model=JobResponse,
        responses={**describe_failures(*READING_FAILURES), **JOB_ANSWER},
        openapi_extra=SOLVE_BODY,
    )
    async def create_job(request: Request, query: Annotated[QueryOptions, Query()]) -> Response:
        """Start a search, for 10 s if no time limit is given."""
        service.refuse_unready()
        problem = await receive_problem(service, request, query)
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
