"""Schemas of requests: options, which are validated, and bodies, for the API description only.

Bodies are read by `dynaroute.formats`, whose errors name the field and, for files, the line.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from dynaroute.base.vocabulary import Backhauls, Language, Objective, Rounding
from dynaroute.problem.instance import LARGEST_INTEGER
from dynaroute.problem.lengths import LONGEST_LENGTH
from dynaroute.solving.options import DECLARATIONS

MOST_NEW_CUSTOMERS = 100
_MOST_SAMPLES = 1_000_000
_MOST_IGNORED, _LONGEST_NAME = 100, 200


def _expose(name: str, description: str | None = None, **more: Any) -> Any:
    """Make the field of an optional solve option, with its declared limits and, by default, its declared help."""
    declared = DECLARATIONS[name]
    # a number with thousands of digits could not even be shown in an error
    most = min(declared.most, _MOST_SAMPLES) if name == "samples" else declared.most
    limits = {"ge": declared.least, "le": most, "gt": declared.above}
    stated: dict[str, Any] = {name: limit for name, limit in limits.items() if math.isfinite(limit)}
    return Field(default=None, description=description or declared.help, **stated, **more)


def show_examples(*examples: dict[str, Any]) -> ConfigDict:
    """Make the settings of a body without other keys than its fields, with examples for the API's description."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


_Ignored = Annotated[
    list[Annotated[str, Field(max_length=_LONGEST_NAME)]] | None,
    Field(
        description="Columns or keys to plan without. A problem that asks for something unsupported, such as breaks, "
        "is refused otherwise.",
        max_length=_MOST_IGNORED,
    ),
]


_Text = Annotated[str | None, Field(min_length=1, max_length=10 * _LONGEST_NAME)]


class OptionsSchema(BaseModel):
    """How to solve; all options are optional."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    model: str | None = _expose(
        "model",
        "auto: the model that suits the instance, or savings if better. savings: no policy. Or a name listed by GET "
        "/v1/models.",
    )
    decode: Literal["greedy", "sample", "multistart"] | None = _expose(  # the work of others is not known before
        "decode",
        "greedy: always the likeliest next stop. sample: the best of several samples. multistart: the best of several "
        "first customers.",
    )
    samples: int | None = _expose("samples")
    augment: bool | None = _expose("augment", strict=True)
    improve: Literal["none", "2opt", "local", "search"] | None = _expose(
        "improve",
        "none; 2opt: within each route; local: local search within and between routes; search: runs until the time "
        "limit. By default search if there is a time limit, else none.",
    )
    time_limit: float | None = _expose("time_limit", "Seconds of the search.")
    objective: Objective | None = _expose(
        "objective", "What a search minimises: distance (the default), or first the number of vehicles."
    )
    seed: int | None = _expose("seed", "Seed of samples and searches; 0 by default.")


class BodyOptions(OptionsSchema):
    """The options in a JSON body."""

    ignore: _Ignored = None


class FileOptions(BaseModel):
    """How to read a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    capacity: float | None = Field(
        default=None, gt=0, description="Capacity of a vehicle, for a table that does not state it."
    )
    sheet: _Text = Field(default=None, description="Sheet of a workbook; by default the first with a header of stops.")
    vehicles_sheet: _Text = Field(default=None, description="Sheet of a workbook with the types of vehicles.")
    columns: _Text = Field(
        default=None,
        description="Meanings of a table's columns, by heading or letter: Mng=demand,B=lon,C=lat.",
    )
    speed: _Text = Field(default=None, description="Speed of vehicles, if the file has no travel times: 40km/h.")
    detour: float | None = Field(
        default=None, ge=1, le=5, description="Factor for straight-line distances, such as 1.3, instead of roads."
    )
    ignore: _Ignored = None


class QueryOptions(FileOptions, OptionsSchema):
    """The options as query parameters."""

    model_config = ConfigDict(strict=False)

    @field_validator("augment", mode="before")
    @classmethod
    def read_truth(cls, value: object) -> object:
        """Accept only the two words of OpenAPI, not pydantic's yes, on and 1."""
        return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


class _Document(BaseModel):
    """An object whose unknown keys are ignored and reported in the response's messages."""


Time = Annotated[
    float | str,
    Field(description="Seconds (28800), a number with a unit (8h, 90 min) or a clock time (08:00)."),
]
Window = Annotated[
    list[Time | None] | str,
    Field(description='Earliest and latest start of service, as two times or a text such as "08:00-12:00".'),
]


class Depot(_Document):
    """When the depot is open."""

    window: Window | None = Field(default=None, description="Earliest departure and latest return.")


_Amount = Annotated[float, Field(ge=0, le=LARGEST_INTEGER)]
Amount = Annotated[
    _Amount | dict[str, _Amount], Field(description='A number, or one by dimension: {"kg": 3, "pallets": 1}.')
]


class BreakOfDay(_Document):
    """A break, either in a window or after so much driving."""

    duration: Time
    window: Window | None = None
    after_driving: Time | None = None


class VehicleSchema(_Document):
    """A vehicle type; omitted limits do not apply. Prices are per km, or unit of distance, and per hour."""

    name: str | None = None
    capacity: Amount
    count: int | None = Field(default=None, ge=1, description="Number of vehicles; unlimited by default.")
    max_duration: Time | None = Field(default=None, description="Longest time from departure to the end of a route.")
    max_distance: float | None = Field(default=None, gt=0, description="Longest route.")
    shift: Window | None = Field(default=None, description="Earliest departure and latest end.")
    max_stops: int | None = Field(default=None, ge=1)
    end: str | None = Field(
        default=None, description="depot: return there. open: end at the last customer. Or the name of a place."
    )
    start: str | None = Field(default=None, description="depot, or the name of a place.")
    fixed_cost: float | None = Field(default=None, ge=0)
    distance_cost: float | None = Field(default=None, ge=0)
    time_cost: float | None = Field(default=None, ge=0)
    overtime: list[Time | None] | None = Field(default=None, description="After, at most, and cost per hour.")
    max_driving: Time | None = None
    speed_factor: float | None = Field(default=None, gt=0, description="How many times faster it drives.")
    service_factor: float | None = Field(default=None, ge=0, description="How many times longer it serves.")
    breaks: list[BreakOfDay] | None = None
    reload: bool | str | list[str] | None = Field(default=None, description="Where it may load again.")
    max_trips: int | None = Field(default=None, ge=1)
    min_vehicles: int | None = Field(default=None, ge=0, description="How many of them must be used at least.")
    loading: Time | None = Field(default=None, description="How long loading again takes.")
    skills: str | list[str] | None = None
    initial_load: Amount | None = None
    profile: str | None = Field(default=None, description="One of the profiles.")
    beginning: list[str | int] | None = Field(default=None, description="Ids of the stops that its route begins with.")


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
    """A customer without a position, for a matrix of distances."""

    id: str | int | None = Field(default=None, description="Your own name for it.")
    demand: Amount = Field(description="At most the capacity.")
    service: Time | None = Field(default=None, description="How long the stop takes.")
    window: Window | None = Field(default=None, description="When its service may begin.")
    windows: list[Window] | None = Field(default=None, description="Several windows, in order.")
    pickup: Amount | None = Field(default=None, description="What is brought back.")
    shipment: str | int | None = Field(default=None, description="The same at a pickup and its delivery.")
    max_ride: Time | None = None
    lifo: bool | None = Field(default=None, description="At a pickup: what is loaded later leaves first.")
    late_cost: float | None = Field(default=None, ge=0, description="Price of an hour after the last window.")
    release: Time | None = Field(default=None, description="When its goods are at the depot.")
    prize: float | None = Field(default=None, ge=0, description="What is lost if it is not served.")
    priority: float | None = Field(default=None, ge=0, le=100)
    optional: bool | None = None
    skills: str | list[str] | None = None
    vehicles: str | list[str] | None = Field(default=None, description="Vehicle types that alone may serve it.")
    not_vehicles: str | list[str] | None = None
    same_vehicle: str | int | None = None
    one_of: str | int | None = None
    not_together: str | int | None = None
    usual_vehicle: str | None = Field(default=None, description="The vehicle that served it in the plan before.")


class Customer(CustomerWithoutPlace, Place):
    """A customer in the plane."""


class GlobeCustomer(CustomerWithoutPlace, GlobePlace):
    """A customer on the globe."""


class InstanceSchema(_Document):
    """A routing problem with one depot, and as many vehicles as needed unless vehicle types are given."""

    version: int | None = Field(
        default=None, ge=1, le=3, description="2 if vehicles or times are used, 3 if further rules are."
    )
    name: str | None = None
    capacity: Amount | None = Field(
        default=None, description="Capacity of a vehicle, above 0; optional if vehicles are given."
    )
    depot: PlaceOfDepot | GlobePlaceOfDepot | Depot | None = Field(
        default=None, description="Optional if distances are given."
    )
    customers: Annotated[
        list[Customer] | list[GlobeCustomer] | list[CustomerWithoutPlace],
        Field(description="At least one, with the same kind of position as the depot."),
    ]
    distances: list[list[float]] | None = Field(
        default=None, description="Matrix from row to column, the depot first; used instead of straight lines."
    )
    unit: Literal["m"] | None = Field(default=None, description="m if the distances are metres.")
    durations: list[list[float]] | None = Field(default=None, description="Matrix of seconds, the depot first.")
    speed: float | None = Field(default=None, gt=0, description="Distance units per second, if there are no durations.")
    vehicles: list[VehicleSchema] | None = Field(
        default=None, description="Vehicle types; by default any number of one type."
    )
    rounding: Rounding | None = Field(default=None, description="Rounding of each leg; none by default.")
    language: Language | None = Field(default=None, description="The language of drivers' sheets; en by default.")
    places: list[dict[str, Any]] | None = Field(
        default=None, description="Further depots, homes and places to load again: id, position, window, loading."
    )
    shipments: list[dict[str, Any]] | None = Field(
        default=None,
        description="Stops pickup and delivery, demand, and optionally id, prize, priority, max_ride, lifo, one_of.",
    )
    backhauls: Backhauls | None = Field(default=None, description="strict: deliveries come before pickups.")
    buffer: Time | None = Field(default=None, description="Time before the end of windows in which no service begins.")
    balance: dict[str, Any] | None = Field(
        default=None, description="A price of work above a target: of (hours, stops or load), weight and target."
    )
    compactness: float | None = Field(
        default=None, ge=0, description="Price of a km of each stop from the centre of its route."
    )
    profiles: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Of vehicles that name it: matrices distances or durations, speed_by_hour (24 factors).",
    )
    locked: list[list[str | int]] | None = Field(
        default=None, description="Pairs of ids: the second follows directly after the first."
    )
    change_cost: float | None = Field(
        default=None, ge=0, description="Price of a customer that another vehicle serves than before."
    )


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
    """The problem as it was read."""

    messages: list[str] | None = Field(default=None, description="Notes about the input; absent if there are none.")


class SolveRequest(InstanceSchema):
    """An instance, and how to solve it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [EXAMPLE_INSTANCE, {**EXAMPLE_INSTANCE, "options": {"augment": True, "improve": "2opt"}}]
        }
    )

    options: BodyOptions | None = None


class StatedViolationSchema(_Document):
    """A violation that is known."""

    kind: str
    route: int | None = Field(default=None, description="Number of the route, from 1.")
    customer: int | None = None


class SolutionSchema(_Document):
    """Routes to check. What is stated about them is checked too."""

    routes: list[list[int]] = Field(description="Customers 1..n, without the depot.")
    cost: float | None = Field(default=None, description="The stated cost.")
    ids: list[list[str | int]] | None = Field(default=None, description="The routes with the customers' ids.")
    loads: list[float] | None = Field(default=None, description="Load of each route.")
    route_costs: list[float] | None = Field(default=None, description="Length of each route.")
    unserved: list[int] | None = Field(default=None, description="Customers on no route.")
    violations: list[StatedViolationSchema] | None = Field(default=None, description="What is known to be wrong.")
    vehicles: list[int] | list[str] | None = Field(
        default=None, description="Vehicle type of each route, by number from 0 or by name."
    )


class CheckRequest(BaseModel):
    """An instance and a solution."""

    model_config = show_examples({"instance": EXAMPLE_INSTANCE, "solution": {"routes": [[1, 2], [3]], "cost": 14}})

    instance: InstanceSchema
    solution: SolutionSchema
    timetable: bool = Field(default=False, description="Whether to answer with the timetable, too.")
    ignore: _Ignored = None


class PlanSchema(SolutionSchema):
    """An instance and its routes, as in plan.json. It may be wrong only where `unserved` or `violations` say so."""

    instance: InstanceSchema


class InsertRequest(BaseModel):
    """A plan, and customers to insert into it."""

    model_config = show_examples(
        {
            "plan": {"instance": EXAMPLE_INSTANCE, "routes": [[1, 2], [3]]},
            "customers": [{"id": "new", "x": 1, "y": 1, "demand": 1}],
        }
    )

    plan: PlanSchema
    customers: Annotated[
        list[Customer] | list[GlobeCustomer],
        Field(
            description="With the same kind of position as those of the plan.",
            min_length=1,
            max_length=MOST_NEW_CUSTOMERS,
        ),
    ]
    ignore: _Ignored = None


class UploadRequest(BaseModel):
    """A form with a file; its other fields are options."""

    file: str = Field(
        description="A .vrp, .csv, .tsv, .txt, .xlsx or .json file, recognised by its suffix.",
        json_schema_extra={"format": "binary"},
    )
