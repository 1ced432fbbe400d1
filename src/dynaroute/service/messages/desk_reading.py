"""Reading requests about plans: comparing, explaining, other days, and a day that changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dynaroute.base.errors import FormatError, gather_notes
from dynaroute.plans.plan import Plan
from dynaroute.service.messages.reading import read_plan_of, read_request
from dynaroute.service.messages.sizes import ReadingLimits

__all__ = ["ExplanationWanted", "read_explanation", "read_two_plans"]


@dataclass(frozen=True)
class ExplanationWanted:
    """A plan to explain, and the customer it is about; None for all."""

    plan: Plan
    customer: str | None


def read_two_plans(body: bytes, content_type: str, limits: ReadingLimits) -> tuple[Plan, Plan]:
    """Read the two plans of a body."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("before", "after"))
    with gather_notes():  # they are about faults that the plans state themselves
        return read_plan_of(document, "before", limits), read_plan_of(document, "after", limits)


def read_explanation(body: bytes, content_type: str, limits: ReadingLimits) -> ExplanationWanted:
    """Read a plan and perhaps the id of a customer."""
    document = read_request(body, content_type, limits)
    _refuse_other_keys(document, ("plan", "id"))
    customer = document.get("id")
    if customer is not None and not isinstance(customer, str):
        raise FormatError.about("id", "this is not an id.", "Write the customer's id as a text, or leave it out.")
    with gather_notes():
        return ExplanationWanted(read_plan_of(document, "plan", limits), customer)


def _refuse_other_keys(document: Collection[str], known: Collection[str]) -> None:
    for key in document:
        if key not in known:
            raise FormatError.about(key, "there is no such key.", f"Give {', '.join(known)}.")
