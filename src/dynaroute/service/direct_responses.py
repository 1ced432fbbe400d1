"""Responses that only need the body: checks, conversions and insertions. Made in the process that reads the body."""

from __future__ import annotations

import json
from dataclasses import asdict

from dynaroute.decimals import plain_number
from dynaroute.errors import gather_notes
from dynaroute.formats import instance_to_json
from dynaroute.plans.insertion import insert_customers, insertions_to_json
from dynaroute.service.reading import Judgement, read_insertion, read_judgement, read_problem
from dynaroute.service.replies import refuse_large_answer
from dynaroute.service.request_schemas import FileOptions
from dynaroute.service.response_schemas import CheckResponse, ViolationSchema
from dynaroute.service.sizes import ReadingLimits
from dynaroute.solution import check, recompute_cost

__all__ = ["convert", "insert", "judge"]

_MOST_VIOLATIONS = 1_000  # listed; the others are only counted


def judge(body: bytes, *, content_type: str, limits: ReadingLimits) -> str:
    """Check the solution in a body."""
    answer = _judge(read_judgement(body, content_type, limits))
    return answer.model_dump_json(exclude={"left_out"} if answer.left_out is None else None)


def convert(body: bytes, *, content_type: str, query: FileOptions, limits: ReadingLimits, largest: int) -> str:
    """Convert the problem in a body to JSON, with notes about the input."""
    problem = read_problem(body, content_type, query, limits)
    instance = instance_to_json(problem.instance)
    if problem.notes:
        instance["messages"] = list(problem.notes)
    document = json.dumps(instance, ensure_ascii=False, allow_nan=False)
    refuse_large_answer(document.encode(), largest)  # checked here, so that it need not be sent to the other process
    return document


def insert(body: bytes, *, content_type: str, limits: ReadingLimits) -> str:
    """Insert the new customers in a body into its plan."""
    with gather_notes() as notes:
        plan, customers = read_insertion(body, content_type, limits)
        result = insert_customers(plan, customers)
    return json.dumps({**insertions_to_json(result, plan.cost), "messages": notes}, allow_nan=False)


def _judge(judgement: Judgement) -> CheckResponse:
    violations = check(judgement.instance, judgement.solution)
    has_unknown = any(violation.kind in ("unknown", "no_such_vehicle") for violation in violations)
    return CheckResponse(
        ok=not violations,
        cost=None if has_unknown else plain_number(recompute_cost(judgement.instance, judgement.solution)),
        violations=[ViolationSchema(**asdict(violation)) for violation in violations[:_MOST_VIOLATIONS]],
        left_out=max(0, len(violations) - _MOST_VIOLATIONS) or None,
    )
