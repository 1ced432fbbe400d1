"""Parts of the API description that FastAPI cannot infer: bodies in several formats, limits, errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dynaroute.service.messages.desk_schemas import CompareRequest, ExplainRequest, ReplanRequest, WhatIfRequest
from dynaroute.service.messages.file_schemas import ExportRequest, PlanFormat
from dynaroute.service.messages.request_schemas import (
    CheckRequest,
    InsertRequest,
    InstanceSchema,
    SolveRequest,
    UploadRequest,
)
from dynaroute.service.messages.response_schemas import ErrorResponse, PlanErrorResponse
from dynaroute.service.settings import ServiceSettings
from dynaroute.weights import shipped_models

_FAILURES = {
    400: "The body is not JSON, or not a form.",
    401: "The token is missing or wrong.",
    404: "There is no such job.",
    408: "The body did not arrive in time.",
    413: "The body or the problem is too large.",
    415: "The body's media type is not supported.",
    422: "The problem or an option is invalid; `where.field` says where.",
    429: "Too many requests are waiting.",
    503: "The service is starting or stopping.",
}
_READING_FAILURES = (400, 401, 408, 413, 415, 422, 429, 503)
WRONG_PLAN: dict[int | str, dict[str, Any]] = {
    422: {
        "model": PlanErrorResponse | ErrorResponse,
        "description": "The plan or a customer is invalid; `where.field` says where, and `violations` what is wrong "
        "with the plan.",
    }
}
_BODIES = (
    SolveRequest,
    CheckRequest,
    InsertRequest,
    UploadRequest,
    ExportRequest,
    CompareRequest,
    ExplainRequest,
    WhatIfRequest,
    ReplanRequest,
)
_RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}

_CSV_EXAMPLE = "# capacity: 10\nx,y,demand\n0,0,0\n3,4,2\n3,0,7\n-1,0,9\n"
_VRP_EXAMPLE = (
    "NAME : small\nTYPE : CVRP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY : 10\n"
    "NODE_COORD_SECTION\n1 0 0\n2 3 4\n3 3 0\nDEMAND_SECTION\n1 0\n2 2\n3 7\nDEPOT_SECTION\n1\n-1\nEOF\n"
)


def _refer(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _describe_problem(document: type[BaseModel]) -> dict[str, Any]:
    content = {
        "application/json": {"schema": _refer(document)},
        "text/plain": {"schema": {"type": "string", "description": "A .vrp file."}, "example": _VRP_EXAMPLE},
        "text/csv": {"schema": {"type": "string", "description": "A .csv file."}, "example": _CSV_EXAMPLE},
        "multipart/form-data": {"schema": _refer(UploadRequest)},
    }
    return {"requestBody": {"required": True, "content": content}}


def _describe_document(document: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _refer(document)}}}}


SOLVE_BODY = _describe_problem(SolveRequest)
CONVERT_BODY = _describe_problem(InstanceSchema)
CHECK_BODY, INSERT_BODY = _describe_document(CheckRequest), _describe_document(InsertRequest)
COMPARE_BODY, EXPLAIN_BODY = _describe_document(CompareRequest), _describe_document(ExplainRequest)
WHAT_IF_BODY, REPLAN_BODY = _describe_document(WhatIfRequest), _describe_document(ReplanRequest)
EXPORT_BODY = _describe_document(ExportRequest)
PREVIEW_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string", "description": "A .csv file."}, "example": _CSV_EXAMPLE},
            "multipart/form-data": {"schema": _refer(UploadRequest)},
        },
    }
}
MEDIA_TYPES: dict[PlanFormat, str] = {
    "html": "text/html",
    "pdf": "application/pdf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv",
    "json": "application/json",
    "geojson": "application/geo+json",
    "gpx": "application/gpx+xml",
    "kml": "application/vnd.google-earth.kml+xml",
    "sol": "text/plain",
    "vrp": "text/plain",
    "svg": "image/svg+xml",
    "png": "image/png",
}
EXPORT_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {
            kind: {"schema": {"type": "object"} if kind.endswith("json") else {"type": "string", "format": "binary"}}
            for kind in MEDIA_TYPES.values()
        },
    }
}
JOB_ANSWER: dict[int | str, dict[str, Any]] = {
    202: {"headers": {"Location": {"description": "Address of the job.", "schema": {"type": "string"}}}}
}
_EVENT = {
    "type": "object",
    "description": "One event.",
    "properties": {
        "event": {"enum": ["improvement", "end"]},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "id", "data"],
}
EVENTS_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `improvement` with the same data as a job's `best`, and one `end` with the whole job.",
        "content": {"text/event-stream": {"schema": _EVENT}},
    },
    204: {"description": "The client has already received the end."},
}
METRICS_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus's text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def describe_failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of an endpoint."""
    failures: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        failures[status] = {"model": ErrorResponse, "description": _FAILURES[status]}
        if status in (429, 503):
            failures[status]["headers"] = _RETRY_AFTER
    return failures


def describe_reading(body: dict[str, Any], *answers: dict[int | str, dict[str, Any]]) -> dict[str, Any]:
    """What FastAPI is told of an endpoint that reads a body, with other answers than the usual failures."""
    responses = describe_failures(*_READING_FAILURES)
    for answer in answers:
        responses |= answer
    return {"openapi_extra": body, "responses": responses}


def describe_api(application: FastAPI, settings: ServiceSettings) -> dict[str, Any]:
    """Make the OpenAPI document, with bodies and limits of this service."""
    document = get_openapi(
        title=application.title,
        version=application.version,
        description=application.description,
        routes=application.routes,
        tags=application.openapi_tags,
    )
    schemas = document["components"]["schemas"]
    schemas |= _describe_bodies()
    for name in ("InstanceSchema", "SolveRequest"):
        for choice in schemas[name]["properties"]["customers"]["anyOf"]:
            choice |= {"minItems": 1, "maxItems": settings.customers}
    _state_limits(schemas["BodyOptions"]["properties"], max(settings.job_seconds, settings.solve_seconds), settings)
    for path, seconds in (("/v1/solve", settings.solve_seconds), ("/v1/jobs", settings.job_seconds)):
        parameters = _forbid_null(document["paths"][path]["post"]["parameters"])
        _state_limits({parameter["name"]: parameter["schema"] for parameter in parameters}, seconds, settings)
    for path in ("/v1/convert", "/v1/preview"):
        _forbid_null(document["paths"][path]["post"]["parameters"])
    if settings.token is not None:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _describe_bodies() -> dict[str, Any]:
    _, definitions = models_json_schema(
        [(model, "validation") for model in _BODIES],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas


def _state_limits(options: dict[str, Any], longest: float, settings: ServiceSettings) -> None:
    """Put the service's limits into the schemas of the options."""
    _drop_null(options["time_limit"])["maximum"] = longest
    _drop_null(options["samples"])["maximum"] = settings.work
    _drop_null(options["model"])["enum"] = ["auto", "savings", *shipped_models()]


def _forbid_null(parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove null from query parameters, which can only be left out."""
    for parameter in parameters:
        rest = {key: value for key, value in parameter["schema"].items() if key not in ("anyOf", "default")}
        parameter["schema"] = {**rest, **_drop_null(parameter["schema"])}
    return parameters


def _drop_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the value without null."""
    return next((choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"), schema)
