"""What the service is asked: options that are checked, and the shapes of bodies for the API's description.

Bodies themselves are read by `dynaroute.formats`, whose errors name the field and, in files, the line.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from dynaroute.instance import LARGEST_INTEGER
from dynaroute.lengths import LONGEST_LENGTH
from dynaroute.solving.options import Decode, Improve

__all__ = [
    "CheckQuestion",
    "FileOptions",
    "InstanceQuestion",
    "OptionsQuestion",
    "QueryOptions",
    "SolveQuestion",
    "UploadQuestion",
]

_LARGEST_SEED = 2**63 - 1


def _read_truth(value: object) -> object:
    """Only the two words that OpenAPI knows, not pydantic's yes, on and 1."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


class OptionsQuestion(BaseModel):
    """How to solve; every option may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    model: str | None = Field(
        default=None,
        description="auto: the model of the nearest size, or savings where that is better. savings: no policy. Or a "
        "name that GET /v1/models lists.",
    )
    decode: Decode | None = Field(
        default=None,
        description="greedy: the likeliest stop each time. sample: the best of some samples. multistart: the best of "
        "some first customers.",
    )
    samples: int | None = Field(default=None, ge=1, description="Samples, or first customers of multistart; 16.")
    augment: bool | None = Field(default=None, description="Decode in all eight orientations; keep the best.")
    improve: Improve | None = Field(
        default=None,
        description="What becomes of the routes: none; 2opt within each; local search between them; or search, which "
        "goes on until the time limit. With a time limit it is search, else none.",
    )
    time_limit: float | None = Field(default=None, gt=0, description="Seconds of the search.")
    seed: int | None = Field(default=None, ge=0, le=_LARGEST_SEED, description="Of samples and searches; 0.")


class FileOptions(BaseModel):
    """What a file may lack."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    capacity: float | None = Field(
        default=None, gt=0, description="Capacity of a vehicle, for a CSV file that does not state it."
    )


class QueryOptions(FileOptions, OptionsQuestion):
    """The options as query parameters, for files and for those who like them."""

    model_config = ConfigDict(strict=False)

    augment: Annotated[StrictBool | None, BeforeValidator(_read_truth)] = Field(
        default=None, description="Decode in all eight orientations; keep the best."
    )


class _Document(BaseModel):
    """An object in which unknown keys are ignored, and reported in the answer's messages."""


class Place(_Document):
    """A position in the plane."""

    x: float = Field(ge=-LONGEST_LENGTH, le=LONGEST_LENGTH)
    y: float = Field(ge=-LONGEST_LENGTH, le=LONGEST_LENGTH)


class GlobePlace(_Document):
    """A position on the globe, in degrees; costs are in metres."""

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class CustomerWithoutPlace(_Document):
    """A customer that only the matrix of distances places."""

    id: str | int | None = Field(default=None, description="A name of your own.")
    demand: float = Field(ge=0, le=LARGEST_INTEGER, description="At most the capacity.")


class Customer(CustomerWithoutPlace, Place):
    """A customer in the plane."""


class GlobeCustomer(CustomerWithoutPlace, GlobePlace):
    """A customer on the globe."""


class InstanceQuestion(_Document):
    """A routing problem: one depot, and as many vehicles as needed."""

    name: str | None = None
    capacity: float = Field(gt=0, le=LARGEST_INTEGER, description="What one vehicle holds.")
    depot: Place | GlobePlace | None = Field(default=None, description="May be left out where there are distances.")
    customers: Annotated[
        list[Customer] | list[GlobeCustomer] | list[CustomerWithoutPlace],
        Field(description="At least one; placed as the depot is."),
    ]
    distances: list[list[float]] | None = Field(
        default=None, description="Symmetric matrix, the depot first; used instead of straight lines."
    )
    rounding: Literal["none", "nearest", "up"] | None = Field(default=None, description="Of each leg; none.")


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


class SolveQuestion(InstanceQuestion):
    """An instance, and how to solve it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [EXAMPLE_INSTANCE, {**EXAMPLE_INSTANCE, "options": {"augment": True, "improve": "2opt"}}]
        }
    )

    options: OptionsQuestion | None = None


class SolutionQuestion(_Document):
    """Routes to judge."""

    routes: list[list[int]] = Field(description="Customers 1..n; the depot is not written.")
    cost: float | None = Field(default=None, description="A stated cost, to be judged as well.")


class CheckQuestion(BaseModel):
    """An instance and a solution of it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"instance": EXAMPLE_INSTANCE, "solution": {"routes": [[1, 2], [3]], "cost": 14}}]
        },
    )

    instance: InstanceQuestion
    solution: SolutionQuestion


class UploadQuestion(BaseModel):
    """A form with a file; its other fields are options."""

    file: str = Field(
        description="A .vrp, .csv or .json file; the name's suffix tells which.",
        json_schema_extra={"format": "binary"},
    )
