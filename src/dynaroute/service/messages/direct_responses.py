"""Responses that only need the body: checks, conversions and insertions. Made in the process that reads the body.

All have at most `largest` bytes, so that no large answer is sent to the other process.
"""

from __future__ import annotations

from dataclasses import asdict

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import gather_notes
from dynaroute.formats import instance_to_json
from dynaroute.plans.changes.insertion import insert_customers, insertions_to_json
from dynaroute.problem.solution import check, recompute_cost
from dynaroute.problem.unserved import explain_unserved
from dynaroute.service.messages.reading import Judgement, read_insertion, read_judgement, read_problem
from dynaroute.service.messages.replies import write_json
from dynaroute.service.messages.request_schemas import FileOptions
from dynaroute.service.messages.response_schemas import MOST_VIOLATIONS, CheckResponse, UnservedSchema, ViolationSchema
from dynaroute.service.messages.sizes import ReadingLimits

__all__ = ["convert", "insert", "judge"]


def judge(body: bytes, *, content_type: str, limits: ReadingLimits, largest: int) -> bytes:
    """Check the solution in a body."""
    answer = _judge(read_judgement(body, content_type, limits))
    absent = {key for key in ("unserved", "left_out") if getattr(answer, key) is None}
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
    unserved = () if has_unknown else explain_unserved(instance, solution, MOST_VIOLATIONS)
    return CheckResponse(
        ok=not violations,
        cost=None if has_unknown else plain_number(recompute_cost(instance, solution)),
        violations=[ViolationSchema(**asdict(violation)) for violation in violations[:MOST_VIOLATIONS]],
        unserved=[UnservedSchema(id=instance.customer_name(found.customer), **asdict(found)) for found in unserved]
        or None,
        left_out=max(0, len(violations) - MOST_VIOLATIONS) or None,
    )
