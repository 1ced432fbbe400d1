"""Endpoints about plans: comparing, explaining, other days, and a day that changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.base.stopping import OutOfTimeError
from dynaroute.desk.comparing import compare, comparison_to_json
from dynaroute.desk.explaining import explain_all, explain_customer, explanation_to_json
from dynaroute.desk.relaxing import relax, relaxed_to_json
from dynaroute.desk.replanning import replan, replanned_to_json
from dynaroute.desk.trying import SearchTime, trials_to_json, what_if
from dynaroute.service.messages.desk_reading import (
    DayChangeWanted,
    DayToExplain,
    ExplanationWanted,
    WhatIfWanted,
    read_day_change,
    read_explanation,
    read_two_plans,
    read_what_if,
)
from dynaroute.service.messages.desk_schemas import CompareResponse, ExplainResponse, ReplanResponse, WhatIfResponse
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.messages.replies import reply_json, write_json
from dynaroute.service.web.endpoints.solving import cancel_with_client
from dynaroute.service.web.openapi import (
    COMPARE_BODY,
    EXPLAIN_BODY,
    REPLAN_BODY,
    WHAT_IF_BODY,
    WRONG_PLAN,
    describe_reading,
)
from dynaroute.service.work.service import Service

_SECONDS_PER_CUSTOMER = 0.01  # estimated, for the queue


def make_desk_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1", tags=["plans"])
    largest, longest = service.settings.answer_bytes, service.settings.solve_seconds

    @router.post("/compare", response_model=CompareResponse, **describe_reading(COMPARE_BODY, WRONG_PLAN))
    async def compare_plans(request: Request) -> Response:
        """Compare two plans: their figures, and who is served by another vehicle or at another time."""
        before, after = await service.read(request, read_two_plans)
        return reply_json(write_json(comparison_to_json(compare(before, after)), largest))

    @router.post("/explain", response_model=ExplainResponse, **describe_reading(EXPLAIN_BODY, WRONG_PLAN))
    async def explain(request: Request) -> Response:
        """Explain where customers are in a plan: what leaving one out saves, and its best place on other routes.

        Of a day without a plan: the smallest changes that make it possible, each found by a search.
        """
        wanted = await service.read(request, read_explanation, longest=longest)
        if isinstance(wanted, DayToExplain):
            service.refuse_unready()
            work = service.work(partial(_explain_day, wanted), wanted.seconds * wanted.searches)
            return reply_json(write_json(await cancel_with_client(work, request), largest))
        seconds = _SECONDS_PER_CUSTOMER * wanted.plan.instance.size
        work = service.work(partial(_explain, wanted), seconds)
        return reply_json(write_json(await cancel_with_client(work, request), largest))

    @router.post("/what-if", response_model=WhatIfResponse, **describe_reading(WHAT_IF_BODY, WRONG_PLAN))
    async def try_other_days(request: Request) -> Response:
        """Search a plan with other vehicles or windows, or without each promise, all for the same time."""
        service.refuse_unready()
        wanted = await service.read(request, read_what_if, longest=longest)
        work = service.work(partial(_try_other_days, wanted), wanted.seconds * (len(wanted.variants) + 1))
        return reply_json(write_json(await cancel_with_client(work, request), largest))

    @router.post("/replan", response_model=ReplanResponse, **describe_reading(REPLAN_BODY, WRONG_PLAN))
    async def replan_day(request: Request) -> Response:
        """Plan the rest of a day again: what has happened stays, and goods on board stay with their vehicle."""
        service.refuse_unready()
        wanted = await service.read(request, read_day_change, longest=longest)
        work = service.work(partial(_replan, wanted), wanted.seconds)
        return reply_json(write_json(await cancel_with_client(work, request), largest))

    return router


def _explain(wanted: ExplanationWanted, is_cancelled: Callable[[], bool]) -> dict[str, object]:
    plan = wanted.plan
    try:
        found = (
            explain_all(plan, is_cancelled) if wanted.customer is None else (explain_customer(plan, wanted.customer),)
        )
    except OutOfTimeError:
        message = f"explaining all {plan.instance.size} customers takes longer than this service allows."
        raise RequestError(
            HTTPStatus.UNPROCESSABLE_ENTITY, "too_long", message, remedy="Ask for one customer: give its id."
        ) from None
    return {"unit": plan.instance.unit, "customers": [explanation_to_json(each) for each in found]}


def _explain_day(wanted: DayToExplain, is_cancelled: Callable[[], bool]) -> dict[str, object]:
    relaxed = relax(wanted.instance, SearchTime(wanted.seconds, threads=1, is_cancelled=is_cancelled))
    return {"unit": wanted.instance.unit, "customers": [], "day": relaxed_to_json(relaxed)}


def _try_other_days(wanted: WhatIfWanted, is_cancelled: Callable[[], bool]) -> dict[str, object]:
    search = SearchTime(wanted.seconds, threads=1, is_cancelled=is_cancelled)
    return trials_to_json(what_if(wanted.plan, wanted.variants, search))


def _replan(wanted: DayChangeWanted, is_cancelled: Callable[[], bool]) -> dict[str, object]:
    replanned = replan(
        wanted.plan,
        now=wanted.now,
        cancel=wanted.cancel,
        add=wanted.add,
        broken=wanted.broken,
        change_cost=wanted.change_cost,
        time_limit=wanted.seconds,
        is_cancelled=is_cancelled,
    )
    document = replanned_to_json(replanned)
    return {**document, "messages": [*wanted.notes, *replanned.messages]}
