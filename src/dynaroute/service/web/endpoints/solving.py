"""Endpoints that answer directly: solving, checking, converting, inserting; they stop when their client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import gather_notes
from dynaroute.formats import instance_to_json
from dynaroute.plans.changes.insertion import insert_customers, insertions_to_json
from dynaroute.plans.timetable import describe_timetable
from dynaroute.problem.solution import check, recompute_cost
from dynaroute.problem.unserved import explain_unserved
from dynaroute.service.messages.reading import (
    Judgement,
    read_insertion,
    read_judgement,
    read_problem,
    read_solvable_problem,
)
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.messages.replies import reply, reply_json, write_json
from dynaroute.service.messages.request_schemas import ConvertResponse, FileOptions, QueryOptions
from dynaroute.service.messages.response_schemas import (
    MOST_VIOLATIONS,
    CheckResponse,
    InsertResponse,
    SolveResponse,
    TimetableRouteSchema,
    UnservedSchema,
    ViolationSchema,
)
from dynaroute.service.messages.sizes import ReadingLimits
from dynaroute.service.web.openapi import (
    CHECK_BODY,
    CONVERT_BODY,
    INSERT_BODY,
    SOLVE_BODY,
    WRONG_PLAN,
    describe_reading,
)
from dynaroute.service.work.service import Service

Value = TypeVar("Value")


def make_solving_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1")
    largest = service.settings.answer_bytes

    @router.post("/solve", response_model=SolveResponse, tags=["solve"], **describe_reading(SOLVE_BODY))
    async def solve(request: Request, query: Annotated[QueryOptions, Query()]) -> Response:
        """Solve a problem and wait for the routes.

        Small problems that arrive at the same time are solved together. With a time limit, it is a search.
        """
        service.refuse_unready()
        problem = await service.read(request, read_solvable_problem, query=query)
        options = service.choose(problem)
        work = service.solve(problem, options)
        answer = await (work if service.is_batched(problem, options) else cancel_with_client(work, request))
        return reply(answer, largest)

    @router.post("/check", response_model=CheckResponse, tags=["check"], **describe_reading(CHECK_BODY))
    async def check_solution(request: Request) -> Response:
        """Check a solution: every customer once, no overload, the stated cost; and print its timetable, if asked to."""
        return reply_json(await service.read(request, judge, largest=largest))

    @router.post("/convert", response_model=ConvertResponse, tags=["check"], **describe_reading(CONVERT_BODY))
    async def convert_problem(request: Request, query: Annotated[FileOptions, Query()]) -> Response:
        """Convert a problem in any format to JSON."""
        return reply_json(await service.read(request, convert, query=query, largest=largest))

    @router.post("/insert", response_model=InsertResponse, tags=["solve"], **describe_reading(INSERT_BODY, WRONG_PLAN))
    async def insert_customers(request: Request) -> Response:
        """Insert new customers into a plan, each where it costs least; other stops do not change."""
        return reply_json(await service.read(request, insert, largest=largest))

    return router


async def cancel_with_client(work: Coroutine[None, None, Value], request: Request) -> Value:
    """Await work, but cancel it when the client disconnects."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
    finally:
        leaving.cancel()
        working.cancel()
    raise RequestError(HTTPStatus.BAD_REQUEST, "disconnected", "the client disconnected before the answer.")


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def judge(body: bytes, *, content_type: str, limits: ReadingLimits, largest: int) -> bytes:
    """Check the solution in a body."""
    answer = _judge(read_judgement(body, content_type, limits))
    absent = {key for key in ("unserved", "left_out", "timetable") if getattr(answer, key) is None}
    return write_json(answer.model_dump(exclude=absent), largest)


def convert(body: bytes, *, content_type: str, query: FileOptions, limits: ReadingLimits, largest: int) -> bytes:
    """Convert the problem in a body to JSON, with notes about the input."""
    problem = read_problem(body, content_type, query, limits)
    instance = instance_to_json(problem.instance)
    if problem.notes:
        instance["messages"] = list(problem.notes)
    return write_json(instance, largest)


def insert(body: bytes, *, content_type: str, limits: ReadingLimits, largest: int) -> bytes:
    """Insert the new customers in a body into its plan."""
    with gather_notes() as notes:
        plan, customers = read_insertion(body, content_type, limits)
        result = insert_customers(plan, customers)
    messages = [*notes, *(departure.message for departure in result.earlier)]
    return write_json({**insertions_to_json(result, plan.cost), "messages": messages}, largest)


def _judge(judgement: Judgement) -> CheckResponse:
    instance, solution = judgement.instance, judgement.solution
    violations = check(instance, solution)
    has_unknown = any(violation.kind in ("unknown", "no_such_vehicle") for violation in violations)
    wants_timetable = judgement.wants_timetable and not has_unknown
    routes = describe_timetable(instance, solution) if wants_timetable else []
    unserved = () if has_unknown else explain_unserved(instance, solution, MOST_VIOLATIONS)
    return CheckResponse(
        ok=not violations,
        cost=None if has_unknown else plain_number(recompute_cost(instance, solution)),
        violations=[ViolationSchema(**asdict(violation)) for violation in violations[:MOST_VIOLATIONS]],
        unserved=[UnservedSchema(id=instance.customer_name(found.customer), **asdict(found)) for found in unserved]
        or None,
        left_out=max(0, len(violations) - MOST_VIOLATIONS) or None,
        timetable=[TimetableRouteSchema(**route) for route in routes] if wants_timetable else None,
    )
