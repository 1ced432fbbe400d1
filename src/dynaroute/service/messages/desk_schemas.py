"""Schemas of the requests and responses about plans: comparing, explaining, other days, and a day that changes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from dynaroute.service.messages.request_schemas import (
    EXAMPLE_INSTANCE,
    Customer,
    GlobeCustomer,
    InstanceSchema,
    PlanSchema,
    Time,
    show_examples,
)
from dynaroute.service.messages.response_schemas import ResponseSchema

MOST_VARIANTS = 500

EXAMPLE_VAN: dict[str, Any] = {"name": "van", "capacity": 10, "count": 3}
EXAMPLE_PLAN: dict[str, Any] = {"instance": EXAMPLE_INSTANCE, "routes": [[1, 2], [3]]}


class CompareRequest(BaseModel):
    """Two plans of the same customers."""

    model_config = show_examples({"before": EXAMPLE_PLAN, "after": {**EXAMPLE_PLAN, "routes": [[2, 1], [3]]}})

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
    """A plan, and perhaps one of its customers; or a day without a plan."""

    model_config = show_examples(
        {"plan": EXAMPLE_PLAN, "id": "harbour"},
        {"plan": EXAMPLE_PLAN},
        {"day": {**EXAMPLE_INSTANCE, "vehicles": [{**EXAMPLE_VAN, "count": 1}]}, "time_limit": 0.02},
    )

    plan: PlanSchema | None = Field(default=None, description="A plan to explain; or give a day.")
    id: str | None = Field(default=None, description="The customer to explain; all of them if left out.")
    day: InstanceSchema | None = Field(
        default=None, description="A problem without a plan: what would make it possible, if it is not."
    )
    time_limit: float | None = Field(default=None, description="Seconds of each search for a day.", gt=0)


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


class RelaxationSchema(ResponseSchema):
    """A change with which a search found a plan, judged."""

    name: str
    kind: str
    cost: float
    seconds: float = Field(description="Of the search.")


class DayExplanationSchema(ResponseSchema):
    """Whether a day can be planned, and what would make it possible."""

    possible: bool
    reason: str = Field(description="Why no plan was found; empty if there is one.")
    tried: int = Field(description="How many changes were searched.")
    relaxations: list[RelaxationSchema] = Field(description="Those that make it possible, the cheapest first.")


class ExplainResponse(ResponseSchema):
    """The customers of a plan, explained; or a day."""

    unit: str | None
    customers: list[CustomerExplanationSchema] = Field(description="Empty for a day without a plan.")
    day: DayExplanationSchema | None = None


class WhatIfRequest(BaseModel):
    """A plan, and what might be different; every variant is searched for the same time."""

    model_config = show_examples(
        {
            "plan": {**EXAMPLE_PLAN, "instance": {**EXAMPLE_INSTANCE, "vehicles": [EXAMPLE_VAN]}},
            "vehicles": ["2..3"],
            "time_limit": 0.02,
        }
    )

    plan: PlanSchema
    vehicles: list[str] | None = Field(
        default=None, description="Numbers of vehicles: 3, 2..5 or, with several types, van=2..5."
    )
    without_window: list[str] | None = Field(default=None, description="Ids of customers to serve at any time.")
    window_until: dict[str, Time] | None = Field(
        default=None, description="Ids of customers, and when their windows might end."
    )
    promises: bool | None = Field(default=None, description="Whether to drop every window, skill and vehicle in turn.")
    time_limit: float | None = Field(
        default=None,
        gt=0,
        description="Seconds of each search; by default 1, or less if there are many. All searches together take at "
        "most as long as one request may.",
    )


class TrialSchema(ResponseSchema):
    """What was found for a variant."""

    name: str = Field(description="What is different, in words.")
    kind: str = Field(description="plan, vehicles, window, skill or vehicle.")
    possible: bool = Field(description="Whether a plan was found that serves all.")
    figures: PlanFiguresSchema | None
    change: float | None = Field(description="Of the cost, from that of the plan as it is.")
    seconds: float = Field(description="How long the search took.")
    reason: str = Field(description="Why there is no plan, as far as that is known.")


class WhatIfResponse(ResponseSchema):
    """The plan as it is, searched like the others, and all variants."""

    unit: str | None
    base: TrialSchema
    variants: list[TrialSchema]


class ReplanRequest(BaseModel):
    """A plan with travel times, and what happens during the day."""

    model_config = show_examples(
        {
            "plan": {**EXAMPLE_PLAN, "instance": {**EXAMPLE_INSTANCE, "speed": 0.01}},
            "now": "00:01",
            "time_limit": 0.02,
        }
    )

    plan: PlanSchema
    now: Time = Field(description="The time of day; everybody keeps to the timetable.")
    cancel: list[str] | None = Field(default=None, description="Ids of customers who want nothing any more.")
    add: list[Customer] | list[GlobeCustomer] | None = Field(default=None, description="New customers.")
    broken: list[str] | None = Field(
        default=None, description="Vehicles that go no further, named as in the timetable: the second van is van 2."
    )
    change_cost: float | None = Field(
        default=None,
        ge=0,
        description="Price of a customer whom another vehicle serves than planned, in the unit of the cost; by default "
        "half of what a customer costs on average.",
    )
    time_limit: float | None = Field(default=None, gt=0, description="Seconds of the search.")


class LeftOutCustomerSchema(ResponseSchema):
    """A customer on no route, and why."""

    id: str
    reason: str


class ReplanResponse(CompareResponse):
    """The new plan of the whole day, compared with the old one."""

    plan: dict[str, Any] = Field(description="As in plan.json; every vehicle is a type of its own, with its name.")
    ok: bool = Field(description="Whether the day can be done as wanted.")
    cancelled: list[str]
    added: list[str]
    customers_to_call: list[str] = Field(
        description="Who is new, not served any more, or reached a quarter of an hour earlier or later."
    )
    drivers_to_call: list[str] = Field(description="Vehicles whose stops, or their order, are not what they were.")
    violations: list[str] = Field(description="What is wrong with the plan.")
    left_out: list[LeftOutCustomerSchema]
    messages: list[str] = Field(description="What becomes of the goods in broken vehicles, and notes about the input.")
    seconds: float
