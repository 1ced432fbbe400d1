"""Solving while the client waits, and what goes with it: reading files, checking solutions."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.decimals import plain_number
from dynaroute.formats import instance_to_json
from dynaroute.service.answers import CheckAnswer, SolveAnswer, ViolationAnswer
from dynaroute.service.openapi import CHECK_BODY, CONVERT_BODY, SOLVE_BODY, describe_failures
from dynaroute.service.patience import leave_with_client
from dynaroute.service.questions import FileOptions, InstanceQuestion, QueryOptions
from dynaroute.service.reading import Judgement, Problem, read_judgement, read_problem
from dynaroute.service.replies import reply
from dynaroute.service.service import Service
from dynaroute.solution import check, recompute_cost

__all__ = ["make_solving_router", "receive_problem"]

READING_FAILURES = (400, 401, 408, 413, 415, 422, 429, 503)


def make_solving_router(service: Service) -> APIRouter:
    """The endpoints.

    Parameters
    ----------
    service
        What does the work.
    """
    router = APIRouter(prefix="/v1")

    @router.post(
        "/solve",
        response_model=SolveAnswer,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=SOLVE_BODY,
        tags=["solve"],
    )
    async def solve(request: Request, query: Annotated[QueryOptions, Query()]) -> Response:
        """Solve a problem and wait for the routes.

        Small problems that arrive at the same time are solved together. A time limit makes it a search.
        """
        service.refuse_unready()
        problem = await receive_problem(service, request, query)
        options = service.choose(problem)
        work = service.solve(problem, options)
        answer = await (work if service.is_batched(problem, options) else leave_with_client(work, request))
        return reply(answer)

    @router.post(
        "/check",
        response_model=CheckAnswer,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=CHECK_BODY,
        tags=["check"],
    )
    async def check_solution(request: Request) -> Response:
        """Judge a solution: each customer once, no overload, the stated cost right."""
        content_type, most = request.headers.get("content-type", ""), service.settings.customers
        return reply(await service.intake.take(request, lambda body: _judge(read_judgement(body, content_type, most))))

    @router.post(
        "/convert",
        response_model=InstanceQuestion,
        responses=describe_failures(*READING_FAILURES),
        openapi_extra=CONVERT_BODY,
        tags=["check"],
    )
    async def convert(request: Request, query: Annotated[FileOptions, Query()]) -> Response:
        """Read a problem in any format, and return it in JSON."""
        content_type, most = request.headers.get("content-type", ""), service.settings.customers
        return await service.intake.take(request, lambda body: _convert(read_problem(body, content_type, query, most)))

    return router


async def receive_problem(service: Service, request: Request, query: FileOptions) -> Problem:
    """Read the body of a request for routes.

    Parameters
    ----------
    service
        Its limits.
    request
        Whose body nobody has read yet.
    query
        Options from the query.
    """
    content_type, most = request.headers.get("content-type", ""), service.settings.customers
    return await service.intake.take(request, lambda body: read_problem(body, content_type, query, most))


def _convert(problem: Problem) -> Response:
    document = json.dumps(instance_to_json(problem.instance), ensure_ascii=False, allow_nan=False)
    return Response(document, media_type="application/json")


def _judge(judgement: Judgement) -> CheckAnswer:
    violations = check(judgement.instance, judgement.solution)
    has_unknown = any(violation.kind == "unknown" for violation in violations)
    return CheckAnswer(
        ok=not violations,
        cost=None if has_unknown else plain_number(recompute_cost(judgement.instance, judgement.solution)),
        violations=[ViolationAnswer(**asdict(violation)) for violation in violations],
    )
