"""What the service answers, as pydantic models: they write the JSON and describe it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dynaroute.vocabulary import ViolationKind

__all__ = [
    "CheckResponse",
    "ErrorResponse",
    "FaultPlaceSchema",
    "HealthResponse",
    "ImprovementSchema",
    "InsertResponse",
    "InsertionSchema",
    "JobResponse",
    "JobState",
    "ModelSchema",
    "ModelsResponse",
    "SolveResponse",
    "TimingSchema",
    "TracePoint",
    "ViolationSchema",
]

JobState = Literal["queued", "running", "finished", "stopped", "failed"]


class ResponseSchema(BaseModel):
    """Holds what is declared, and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FaultPlaceSchema(ResponseSchema):
    """Where a fault is; what is not known is null."""

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


class TimingSchema(ResponseSchema):
    """Where the time of a request went."""

    waited: float = Field(description="Seconds in the queue.")
    solved: float = Field(description="Seconds of solving, the whole batch's where there is one.")
    batch: int = Field(description="Requests that were solved together.")


class TracePoint(ResponseSchema):
    """A better solution that a search found."""

    seconds: float = Field(description="Since the search began.")
    cost: float


class ViolationSchema(ResponseSchema):
    """One thing that is wrong with a solution."""

    kind: ViolationKind
    route: int | None
    customer: int | None
    message: str


class SolveResponse(ResponseSchema):
    """Routes and what is known about them."""

    instance: str = Field(description="Name of the instance.")
    cost: float = Field(description="Total length, in the instance's own units and rounding.")
    routes: list[list[int]] = Field(
        description="Customers 1..n, in the order in which the policy built the routes; the depot is not written."
    )
    loads: list[float] = Field(description="Load of each route, in the unit of the demands.")
    route_costs: list[float] = Field(description="Length of each route.")
    seconds: float = Field(description="Time of solving; of requests solved together, an equal share.")
    method: str = Field(description="How: greedy, greedy x8 + 2opt, savings + search 2 s, ...")
    model: str | None = Field(description="The policy; null if none built the routes.")
    ids: list[list[str]] = Field(default=[], description="The routes once more, with the customers' own ids.")
    unit: str | None = Field(
        default=None, description="Unit of all lengths and costs: m, or null where the problem does not say it."
    )
    messages: list[str] = Field(description="What a user should know about the input and the choice of the model.")
    timing: TimingSchema
    trace: list[TracePoint] = Field(description="Cost over time; empty without a search.")
    is_interrupted: bool = Field(description="Whether a search was ended before its time.")
    vehicles: list[str | int] | None = Field(
        default=None, description="Of a fleet: the type of each route, by its name, or by its number from 0."
    )
    unserved: list[int] | None = Field(default=None, description="Of a fleet: customers that no route was found for.")
    arrivals: list[list[float]] | None = Field(default=None, description="Seconds, a list for each route.")
    violations: list[ViolationSchema] | None = Field(
        default=None, description="Of a fleet: what is wrong with the best plan that was found in time."
    )


class ImprovementSchema(ResponseSchema):
    """The best routes so far."""

    seconds: float = Field(description="When they were found, since the job began to run.")
    cost: float
    routes: list[list[int]]
    loads: list[float]
    route_costs: list[float]


class JobResponse(ResponseSchema):
    """A job: what becomes of it, and the best so far."""

    id: str
    state: JobState
    instance: str
    time_limit: float | None = Field(description="Seconds of the search.")
    seconds: float = Field(description="How long it has been running.")
    improvements: int = Field(description="How many better solutions were found so far.")
    best: ImprovementSchema | None = Field(description="The best so far; null before the first.")
    result: SolveResponse | None = Field(
        description="The answer, once the job has ended; null if it failed, or was stopped before it began."
    )
    error: ErrorResponse | None = Field(description="Why it failed.")


class CheckResponse(ResponseSchema):
    """The judgement of a solution."""

    ok: bool
    cost: float | None = Field(description="Recomputed; null if an unknown customer is visited.")
    violations: list[ViolationSchema]
    left_out: int | None = Field(default=None, description="How many more there are; absent if all are listed.")


class InsertionSchema(ResponseSchema):
    """Where a new customer goes."""

    customer: int = Field(description="Its number, following those of the plan.")
    id: str
    route: int | None = Field(description="From 1; null if it fits nowhere.")
    stop: int | None = Field(description="Which stop of the route it is, from 1.")
    cost: float | None = Field(description="How much longer the plan becomes by it.")
    opens_route: bool = Field(description="Whether one more vehicle drives for it.")


class InsertResponse(ResponseSchema):
    """A plan with new customers in it."""

    insertions: list[InsertionSchema]
    unserved: list[int] = Field(description="New customers that fit nowhere.")
    cost_before: float
    cost: float
    unit: str | None
    routes: list[list[int]]
    ids: list[list[str]]
    loads: list[float]
    messages: list[str] = Field(description="Remarks about the input.")


class ModelSchema(ResponseSchema):
    """A model that can be asked for."""

    name: str
    size: int | None = Field(description="Customers of the instances it was trained on.")
    kind: Literal["AM-D", "AM"]
    greedy_lengths: dict[str, float] = Field(
        description="Mean greedy length on the 10,000 published instances, by number of customers."
    )


class ModelsResponse(ResponseSchema):
    """The models that ship."""

    models: list[ModelSchema]


class HealthResponse(ResponseSchema):
    """A sign of life."""

    status: Literal["live", "ready"]
