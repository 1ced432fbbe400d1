"""Schemas of the requests and responses about plans: comparing, explaining, other days, and a day that changes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dynaroute.service.messages.request_schemas import EXAMPLE_INSTANCE, PlanSchema
from dynaroute.service.messages.response_schemas import ResponseSchema

__all__ = ["CompareRequest", "CompareResponse", "ExplainRequest", "ExplainResponse"]

EXAMPLE_PLAN: dict[str, Any] = {"instance": EXAMPLE_INSTANCE, "routes": [[1, 2], [3]]}


class CompareRequest(BaseModel):
    """Two plans of the same customers."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"before": EXAMPLE_PLAN, "after": {**EXAMPLE_PLAN, "routes": [[2, 1], [3]]}}]},
    )

    before: PlanSchema
    after: PlanSchema


class PlanFiguresSchema(ResponseSchema):
    """What a plan comes to."""

    cost: float
    length: float
    hours: float | None = Field(description="Of all vehicles, from departure to end; null if times are unknown.")
    vehicles: int = Field(description="How many drive.")
    late: int = Field(description="Customers who are served after their window.")
    lateness: float = Field(description="By how many seconds, together.")
    unserved: list[str] = Field(description="Ids of customers on no route.")


class VisitSchema(ResponseSchema):
    """Who serves a customer and when."""

    vehicle: str = Field(description="Named as in the timetable: the second of several vans is van 2.")
    route: int
    stop: int = Field(description="From 1; stops to load again count too.")
    arrival: float | None


class StopChangeSchema(ResponseSchema):
    """One customer in two plans; null where nobody serves it."""

    id: str
    before: VisitSchema | None
    after: VisitSchema | None
    moved: bool = Field(description="Whether another vehicle serves it.")
    minutes: float | None = Field(description="By how much it is reached later; null if that is unknown.")


class CompareResponse(ResponseSchema):
    """Two plans side by side."""

    before: PlanFiguresSchema
    after: PlanFiguresSchema
    unit: str | None
    moved: int = Field(description="How many customers another vehicle serves.")
    stops: list[StopChangeSchema]


class ExplainRequest(BaseModel):
    """A plan, and perhaps one of its customers."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"plan": EXAMPLE_PLAN, "id": "harbour"}, {"plan": EXAMPLE_PLAN}]},
    )

    plan: PlanSchema
    id: str | None = Field(default=None, description="The customer to explain; all of them if left out.")


class ExtraSchema(ResponseSchema):
    """What a change adds."""

    cost: float
    length: float
    seconds: float | None = Field(description="Of work; null if times are unknown.")


class OtherPlaceSchema(ResponseSchema):
    """The best place for a customer on another route, or why there is none."""

    vehicle: str
    route: int | None = Field(description="Null for an unused vehicle.")
    stop: int | None
    extra: ExtraSchema | None = Field(description="What the whole plan would gain; null if it cannot be there.")
    reason: str = Field(description="Why it cannot be there: part of a sentence, about the least wrong place.")


class CustomerExplanationSchema(ResponseSchema):
    """Where a customer is, and where else it could be."""

    id: str
    vehicle: str | None
    route: int | None
    stop: int | None
    together_with: str = Field(description="The other stop of its shipment, which moves with it.")
    saved: ExtraSchema = Field(description="What leaving it out would save.")
    places: list[OtherPlaceSchema] = Field(description="The cheapest first; for all customers, only that one.")


class ExplainResponse(ResponseSchema):
    """The customers of a plan, explained."""

    unit: str | None
    customers: list[CustomerExplanationSchema]
