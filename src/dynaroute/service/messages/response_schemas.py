"""Schemas of responses: they write the JSON and describe it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dynaroute.base.vocabulary import ViolationKind

MOST_VIOLATIONS = 1_000  # listed; the others are only counted

JobState = Literal["queued", "running", "finished", "stopped", "failed"]


class ResponseSchema(BaseModel):
    """Base of all responses, without undeclared fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FaultPlaceSchema(ResponseSchema):
    """Where an error is; unknown parts are null."""

    file: str | None = Field(description="Name of the uploaded file.")
    line: int | None = Field(description="Line, from 1.")
    field: str | None = Field(description="Field, such as customers[3].demand, column, section or option.")
    customer: int | None = Field(description="Customer, from 1.")


class ErrorResponse(ResponseSchema):
    """The shape of every error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "instance",
                    "message": "the demand of customer 2 is 60, above the capacity 50.",
                    "where": {"file": None, "line": None, "field": "customers[1].demand", "customer": 2},
                    "remedy": "Split this customer, or use larger vehicles.",
                }
            ]
        }
    )

    code: str = Field(description="One word for programs: instance, format, option, json, busy, not_found, ...")
    message: str = Field(description="What is wrong, for people.")
    where: FaultPlaceSchema
    remedy: str = Field(description="What to do about it.")


class ViolationSchema(ResponseSchema):
    """One thing that is wrong with a solution."""

    kind: ViolationKind
    route: int | None
    customer: int | None
    message: str


class PlanErrorResponse(ErrorResponse):
    """A plan that is wrong and does not say so."""

    model_config = ConfigDict(json_schema_extra={})

    violations: list[ViolationSchema] = Field(description="What is wrong with it.")
    left_out: int = Field(description="Number of further violations.")


class TimingSchema(ResponseSchema):
    """Timing of a request."""

    waited: float = Field(description="Seconds in the queue.")
    solved: float = Field(description="Seconds of solving, for the whole batch if there is one.")
    batch: int = Field(description="Number of requests that were solved together.")


class TracePoint(ResponseSchema):
    """An improvement found by a search."""

    seconds: float = Field(description="Seconds since the search started.")
    cost: float


class LeftOutSchema(ResponseSchema):
    """A customer on no route."""

    id: str
    reasons: list[str]


class BreakSchema(ResponseSchema):
    """A break: its start and end in seconds, and after how many stops it is taken."""

    start: float
    end: float
    after: int


class SolveResponse(ResponseSchema):
    """The routes found."""

    instance: str = Field(description="Name of the instance.")
    cost: float = Field(description="Total length, in the instance's own units and rounding.")
    routes: list[list[int]] = Field(description="Customers 1..n, without the depot.")
    loads: list[float] = Field(description="Load of each route, in the unit of the demands.")
    route_costs: list[float] = Field(description="Length of each route.")
    seconds: float = Field(description="Time of solving; for requests solved together, an equal share.")
    method: str = Field(
        description="How routes were built and improved: greedy, greedy x8 + 2opt, savings + search 2 s, ..."
    )
    model: str | None = Field(description="The policy that built the routes, or null.")
    ids: list[list[str]] = Field(default=[], description="The routes with the customers' own ids.")
    unit: str | None = Field(default=None, description="Unit of all lengths and costs: m, or null if unknown.")
    messages: list[str] = Field(description="Notes about the input and the choice of the model.")
    timing: TimingSchema
    trace: list[TracePoint] = Field(description="Cost over time; empty without a search.")
    is_interrupted: bool = Field(description="Whether a search was ended early.")
    vehicles: list[str | int] | None = Field(
        default=None, description="With vehicle types: the type of each route, by name or by number from 0."
    )
    unserved: list[int] | None = Field(default=None, description="With limits: customers on no route.")
    arrivals: list[list[float]] | None = Field(
        default=None, description="Arrival times in seconds, one list per route."
    )
    violations: list[ViolationSchema] | None = Field(
        default=None, description="With limits: what is wrong with the best plan found in time."
    )
    length: float | None = Field(default=None, description="Total length.")
    hours: float | None = Field(default=None, description="Hours from departure to end, of all routes together.")
    money: float | None = Field(default=None, description="What the plan costs, if anything has a price.")
    spread: float | None = Field(
        default=None, description="With a price of compact routes: mean distance of a stop from its route's centre."
    )
    left_out: list[LeftOutSchema] | None = Field(
        default=None, description="Customers on no route, with a reason for each vehicle."
    )
    breaks: list[list[BreakSchema]] | None = Field(default=None, description="Breaks, a list per route.")
    trips: list[int] | None = Field(default=None, description="Number of trips of each route.")


class ImprovementSchema(ResponseSchema):
    """The best routes so far."""

    seconds: float = Field(description="When they were found, since the job started to run.")
    cost: float
    routes: list[list[int]]
    loads: list[float]
    route_costs: list[float]


class JobResponse(ResponseSchema):
    """A job: its state, and the best routes so far."""

    id: str
    state: JobState
    instance: str
    time_limit: float | None = Field(description="Seconds of the search.")
    seconds: float = Field(description="How long it has been running.")
    improvements: int = Field(description="Number of improvements found so far.")
    best: ImprovementSchema | None = Field(description="The best so far; null before the first.")
    result: SolveResponse | None = Field(
        description="The result, once the job has ended; null if it failed or was stopped before it started."
    )
    error: ErrorResponse | None = Field(description="Why it failed.")


class UnservedSchema(ResponseSchema):
    """A customer on no route."""

    customer: int = Field(description="Its number, from 1.")
    id: str
    reason: str = Field(description="Why no route serves it, as part of a sentence.")


class TimetableStopSchema(ResponseSchema):
    """One stop of a timetable; times are in seconds, and null where travel times are unknown."""

    customer: int = Field(description="Its number; 0 or above that of the customers where the vehicle loads again.")
    arrival: float | None
    waiting: float | None
    start: float | None = Field(description="Start of service.")
    leave: float | None
    windows: list[list[float | None]] = Field(description="Earliest and latest start of service; null for no end.")
    slack: float | None = Field(
        description="How much later service may begin within its window; below 0 where it is late."
    )
    distance: float = Field(description="Driven so far.")
    loads: list[float] = Field(
        description="In each dimension what was delivered so far; with pickups or reloads, what is on board."
    )


class TimetableRouteSchema(ResponseSchema):
    """One route of a timetable."""

    vehicle: str | int = Field(description="The type, by name or by number from 0.")
    called: str = Field(description="The vehicle's own name: the second of several vans is van 2.")
    type: int = Field(description="The type, by number from 0.")
    cost: float = Field(description="Its length, or money where anything has a price.")
    departure: float | None
    end: float | None
    duration: float | None
    driving: float | None
    distance: float
    load: float = Field(description="The largest load, in the first dimension.")
    loads: list[float] = Field(description="The largest load in each dimension.")
    capacities: list[float]
    stops: list[TimetableStopSchema]
    breaks: list[BreakSchema] = []


class CheckResponse(ResponseSchema):
    """The result of a check."""

    ok: bool
    cost: float | None = Field(description="Recomputed cost; null if an unknown customer is visited.")
    violations: list[ViolationSchema]
    unserved: list[UnservedSchema] | None = Field(
        default=None,
        description="Customers on no route, and why; absent without any, and if an unknown customer or type is used.",
    )
    left_out: int | None = Field(default=None, description="Number of further violations; absent if all are listed.")
    timetable: list[TimetableRouteSchema] | None = Field(
        default=None,
        description="Each route, stop by stop; absent unless asked for, and if an unknown customer or type is used.",
    )


class InsertionSchema(ResponseSchema):
    """Where a new customer goes."""

    customer: int = Field(description="Its number, following those of the plan.")
    id: str
    route: int | None = Field(description="Route, from 1; null if it fits nowhere.")
    stop: int | None = Field(description="Its stop on the route, from 1.")
    cost: float | None = Field(description="Extra cost of the plan.")
    opens_route: bool = Field(description="Whether it needs another vehicle.")


class EarlierDepartureSchema(ResponseSchema):
    """A vehicle that departs earlier than before."""

    route: int
    vehicle: str = Field(description="Name of its type; empty if types have no names.")
    before: float = Field(description="Departure before, in seconds; for a new route, of the first vehicle.")
    after: float = Field(description="Departure now.")
    message: str = Field(description="The same in words.")


class InsertResponse(ResponseSchema):
    """A plan with new customers in it."""

    insertions: list[InsertionSchema]
    unserved: list[int] = Field(
        description="Customers on no route: new ones that fit nowhere, and those that the plan did not serve before."
    )
    cost_before: float
    cost: float
    unit: str | None
    routes: list[list[int]]
    ids: list[list[str]]
    loads: list[float]
    vehicles: list[int] | None = Field(
        default=None, description="The vehicle type of each route, by number from 0; absent without vehicle types."
    )
    earlier: list[EarlierDepartureSchema] = Field(description="Vehicles that depart earlier than before.")
    messages: list[str] = Field(description="Notes about the plan and the input.")


class ModelSchema(ResponseSchema):
    """A model that can be requested."""

    name: str
    size: int | None = Field(description="Number of customers in training.")
    kind: str = Field(description="Kind of policy: AM-D, AM or RL.")
    greedy_lengths: dict[str, float] = Field(
        description="Mean greedy length on the 10,000 published instances, by number of customers."
    )


class ModelsResponse(ResponseSchema):
    """The shipped models."""

    models: list[ModelSchema]


class HealthResponse(ResponseSchema):
    """A sign of life."""

    status: Literal["live", "ready"]
