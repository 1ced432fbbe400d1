"""What the service is asked: options that are checked, and the shapes of bodies for the API's description.

Bodies themselves are read by `dynaroute.formats`, whose errors name the field and, in files, the line.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from dynaroute.instance import LARGEST_INTEGER
from dynaroute.lengths import LONGEST_LENGTH
from dynaroute.solving.options import DECLARATIONS, Decode, Improve
from dynaroute.vocabulary import Objective, Rounding, RouteEnd

__all__ = [
    "CheckRequest",
    "ConvertResponse",
    "FileOptions",
    "InsertRequest",
    "InstanceSchema",
    "OptionsSchema",
    "QueryOptions",
    "SolveRequest",
    "UploadRequest",
]

MOST_NEW_CUSTOMERS = 100
_MOST_SAMPLES = 1_000_000
_AUGMENT = "Decode in all eight orientations; keep the best."


def _expose(name: str, description: str) -> Any:
    """An option of solving, which may be left out, with the limits that are declared for it."""
    declared = DECLARATIONS[name]
    # a number of thousands of digits could not even be named in a refusal
    most = min(declared.most, _MOST_SAMPLES) if name == "samples" else declared.most
    limits = {"ge": declared.least, "le": most, "gt": declared.above}
    stated: dict[str, Any] = {name: limit for name, limit in limits.items() if math.isfinite(limit)}
    return Field(default=None, description=description, **stated)


def _read_truth(value: object) -> object:
    """Only the two words that OpenAPI knows, not pydantic's yes, on and 1."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


class OptionsSchema(BaseModel):
    """How to solve; every option may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    model: str | None = _expose(
        "model",
        "auto: the model of the nearest size, or savings where that is better. savings: no policy. Or a name that GET "
        "/v1/models lists.",
    )
    decode: Decode | None = _expose(
        "decode",
        "greedy: the likeliest stop each time. sample: the best of some samples. multistart: the best of some first "
        "customers.",
    )
    samples: int | None = _expose("samples", "Samples, or first customers of multistart; 16.")
    augment: bool | None = _expose("augment", _AUGMENT)
    improve: Improve | None = _expose(
        "improve",
        "What becomes of the routes: none; 2opt within each; local search between them; or search, which goes on "
        "until the time limit. With a time limit it is search, else none.",
    )
    time_limit: float | None = _expose("time_limit", "Seconds of the search.")
    objective: Objective | None = _expose(
        "objective", "What a search makes less: distance (the usual), or first the number of vehicles."
    )
    seed: int | None = _expose("seed", "Of samples and searches; 0.")


class FileOptions(BaseModel):
    """What a file may lack."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    capacity: float | None = Field(
        default=None, gt=0, description="Capacity of a vehicle, for a CSV file that does not state it."
    )


class QueryOptions(FileOptions, OptionsSchema):
    """The options as query parameters, for files and for those who like them."""

    model_config = ConfigDict(strict=False)

    augment: Annotated[StrictBool | None, BeforeValidator(_read_truth)] = _expose("augment", _AUGMENT)


class _Document(BaseModel):
    """An object in which unknown keys are ignored, and reported in the answer's messages."""


Time = Annotated[
    float | str,
    Field(description="Seconds (28800), a number with a unit (8h, 90 min) or a time of the clock (08:00)."),
]
Window = Annotated[
    list[Time | None] | str,
    Field(description='Earliest and latest start of service, as two times or a text such as "08:00-12:00".'),
]


class Depot(_Document):
    """When the depot is open."""

    window: Window | None = Field(default=None, description="Earliest departure and latest return.")


class VehicleSchema(_Document):
    """A type of vehicles; what is left out does not limit it."""

    name: str | None = None
    capacity: float = Field(gt=0, le=LARGEST_INTEGER)
    count: int | None = Field(default=None, ge=1, description="How many there are.")
    max_duration: Time | None = Field(default=None, description="From departure to the end of a route.")
    max_distance: float | None = Field(default=None, gt=0, description="Length of a route.")
    shift: Window | None = Field(default=None, description="Earliest departure and latest end.")
    max_stops: int | None = Field(default=None, ge=1)
    end: RouteEnd | None = Field(default=None, description="depot: back there. open: at the last customer.")


class Place(_Document):
    """A position in the plane."""

    x: float = Field(ge=-LONGEST_LENGTH, le=LONGEST_LENGTH)
    y: float = Field(ge=-LONGEST_LENGTH, le=LONGEST_LENGTH)


class GlobePlace(_Document):
    """A position on the globe, in degrees; costs are in metres."""

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class PlaceOfDepot(Depot, Place):
    """The depot in the plane."""


class GlobePlaceOfDepot(Depot, GlobePlace):
    """The depot on the globe."""


class CustomerWithoutPlace(_Document):
    """A customer that only the matrix of distances places."""

    id: str | int | None = Field(default=None, description="A name of your own.")
    demand: float = Field(ge=0, le=LARGEST_INTEGER, description="At most the capacity.")
    service: Time | None = Field(default=None, description="How long the stop takes.")
    window: Window | None = Field(default=None, description="When its service may begin.")


class Customer(CustomerWithoutPlace, Place):
    """A customer in the plane."""


class GlobeCustomer(CustomerWithoutPlace, GlobePlace):
    """A customer on the globe."""


class InstanceSchema(_Document):
    """A routing problem: one depot, and as many vehicles as needed unless types of them are given."""

    version: int | None = Field(default=None, ge=1, le=2, description="2 where vehicles or times are used.")
    name: str | None = None
    capacity: float | None = Field(
        default=None, gt=0, le=LARGEST_INTEGER, description="What one vehicle holds; may be left out beside vehicles."
    )
    depot: PlaceOfDepot | GlobePlaceOfDepot | Depot | None = Field(
        default=None, description="May be left out where there are distances."
    )
    customers: Annotated[
        list[Customer] | list[GlobeCustomer] | list[CustomerWithoutPlace],
        Field(description="At least one; placed as the depot is."),
    ]
    distances: list[list[float]] | None = Field(
        default=None, description="Matrix from row to column, the depot first; used instead of straight lines."
    )
    durations: list[list[float]] | None = Field(default=None, description="Matrix of seconds, the depot first.")
    speed: float | None = Field(default=None, gt=0, description="Distance units a second, without durations.")
    vehicles: list[VehicleSchema] | None = Field(default=None, description="Types; any number of one by default.")
    rounding: Rounding | None = Field(default=None, description="Of each leg; none.")


EXAMPLE_INSTANCE: dict[str, Any] = {
    "name": "small",
    "capacity": 10,
    "depot": {"x": 0, "y": 0},
    "customers": [
        {"x": 3, "y": 4, "demand": 2},
        {"x": 3, "y": 0, "demand": 7},
        {"id": "harbour", "x": -1, "y": 0, "demand": 9},
    ],
    "rounding": "nearest",
}


class ConvertResponse(InstanceSchema):
    """A problem that was read."""

    messages: list[str] | None = Field(default=None, description="Remarks about the input; absent if there are none.")


class SolveRequest(InstanceSchema):
    """An instance, and how to solve it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [EXAMPLE_INSTANCE, {**EXAMPLE_INSTANCE, "options": {"augment": True, "improve": "2opt"}}]
        }
    )

    options: OptionsSchema | None = None


class SolutionSchema(_Document):
    """Routes to judge."""

    routes: list[list[int]] = Field(description="Customers 1..n; the depot is not written.")
    cost: float | None = Field(default=None, description="A stated cost, to be judged as well.")
    vehicles: list[int] | list[str] | None = Field(
        default=None, description="Type of the vehicle of each route, by its number from 0 or by its name."
    )


class CheckRequest(BaseModel):
    """An instance and a solution of it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"instance": EXAMPLE_INSTANCE, "solution": {"routes": [[1, 2], [3]], "cost": 14}}]
        },
    )

    instance: InstanceSchema
    solution: SolutionSchema


class PlanSchema(_Document):
    """An instance and its routes, as plan.json holds them."""

    instance: InstanceSchema
    routes: list[list[int]] = Field(description="Customers 1..n; the depot is not written.")


class InsertRequest(BaseModel):
    """A plan, and customers to put into it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "plan": {"instance": EXAMPLE_INSTANCE, "routes": [[1, 2], [3]]},
                    "customers": [{"id": "new", "x": 1, "y": 1, "demand": 1}],
                }
            ]
        },
    )

    plan: PlanSchema
    customers: Annotated[
        list[Customer] | list[GlobeCustomer],
        Field(description="Placed as those of the plan are.", min_length=1, max_length=MOST_NEW_CUSTOMERS),
    ]


class UploadRequest(BaseModel):
    """A form with a file; its other fields are options."""

    file: str = Field(
        description="A .vrp, .csv, .tsv, .txt, .xlsx or .json file; the name's suffix tells which.",
        json_schema_extra={"format": "binary"},
    )
