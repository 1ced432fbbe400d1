"""Endpoints that answer directly: solving, checking, converting, inserting."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.service.messages.direct_responses import convert, insert, judge
from dynaroute.service.messages.reading import Problem, read_solvable_problem
from dynaroute.service.messages.replies import reply, reply_json
from dynaroute.service.messages.request_schemas import ConvertResponse, FileOptions, QueryOptions
from dynaroute.service.messages.response_schemas import CheckResponse, InsertResponse, SolveResponse
from dynaroute.service.web.client_presence import cancel_with_client
from dynaroute.service.web.openapi import (
    CHECK_BODY,
    CONVERT_BODY,
    INSERT_BODY,
    SOLVE_BODY,
    WRONG_PLAN,
    describe_failures,
)
from dynaroute.service.work.service import Service

__all__ = ["make_solving_router", "receive_problem"]

READING_FAILURES = (400, 401, 408, 413, 415, 422, 429, 503)


def make_solving_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1")
    limits, largest = service.reading_limits, service.settings.answer_bytes

    @router.post(
        "/solve",
        response_model=SolveResponse,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=SOLVE_BODY,
        tags=["solve"],
    )
    async def solve(request: Request, query: Annotated[QueryOptions, Query()]) -> Response:
        """Solve a problem and wait for the routes.

        Small problems that arrive at the same time are solved together. With a time limit, it is a search.
        """
        service.refuse_unready()
        problem = await receive_problem(service, request, query)
        options = service.choose(problem)
        work = service.solve(problem, options)
        answer = await (work if service.is_batched(problem, options) else cancel_with_client(work, request))
        return reply(answer, largest)

    @router.post(
        "/check",
        response_model=CheckResponse,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=CHECK_BODY,
        tags=["check"],
    )
    async def check_solution(request: Request) -> Response:
        """Check a solution: every customer once, no overload, the stated cost."""
        content_type = request.headers.get("content-type", "")
        work = partial(judge, content_type=content_type, limits=limits, largest=largest)
        return reply_json(await service.intake.take(request, work))

    @router.post(
        "/convert",
        response_model=ConvertResponse,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=CONVERT_BODY,
        tags=["check"],
    )
    async def convert_problem(request: Request, query: Annotated[FileOptions, Query()]) -> Response:
        """Convert a problem in any format to JSON."""
        content_type = request.headers.get("content-type", "")
        work = partial(convert, content_type=content_type, query=query, limits=limits, largest=largest)
        return reply_json(await service.intake.take(request, work))

    @router.post(
        "/insert",
        response_model=InsertResponse,
        responses=describe_failures(*READING_FAILURES) | WRONG_PLAN,
        openapi_extra=INSERT_BODY,
        tags=["solve"],
    )
    async def insert_customers(request: Request) -> Response:
        """Insert new customers into a plan, each where it costs least; other stops do not change."""
        content_type = request.headers.get("content-type", "")
        work = partial(insert, content_type=content_type, limits=limits, largest=largest)
        return reply_json(await service.intake.take(request, work))

    return router


async def receive_problem(service: Service, request: Request, query: FileOptions) -> Problem:
    """Read the problem of a request."""
    content_type = request.headers.get("content-type", "")
    work = partial(read_solvable_problem, content_type=content_type, query=query, limits=service.reading_limits)
    return await service.intake.take(request, work)
