"""The application: endpoints, error responses, the page, and the gate in front of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp

from dynaroute import __version__
from dynaroute.base.errors import DynarouteError
from dynaroute.service.messages.refusals import INTERNAL, RequestError, make_invalid_error, to_response
from dynaroute.service.web.endpoints.desk import make_desk_router
from dynaroute.service.web.endpoints.files import make_files_router
from dynaroute.service.web.endpoints.jobs import make_jobs_router
from dynaroute.service.web.endpoints.solving import make_solving_router
from dynaroute.service.web.endpoints.state import make_state_router
from dynaroute.service.web.gate import Gate
from dynaroute.service.web.openapi import describe_api
from dynaroute.service.web.page_files import make_page_router
from dynaroute.service.work.service import Service

_METHODS = ("GET", "POST", "DELETE")


def make_application(service: Service) -> ASGIApp:
    """Build the application; it starts and stops the service."""

    @asynccontextmanager
    async def run_service(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    application = FastAPI(
        title="Dynaroute",
        version=__version__,
        description="Plans routes for vehicles of limited capacity with a policy that learned to build them.",
        lifespan=run_service,
        openapi_url=None,  # it would generate the description for every request
        docs_url=None,  # it would load scripts from other servers
        redoc_url=None,
        redirect_slashes=False,
    )
    application.include_router(make_state_router(service))
    application.include_router(make_solving_router(service))
    application.include_router(make_files_router(service))
    application.include_router(make_desk_router(service))
    application.include_router(make_jobs_router(service))
    application.include_router(make_page_router(service.settings))
    description = describe_api(application, service.settings)
    application.openapi = lambda: description  # type: ignore[method-assign]
    _serve_description(application, json.dumps(description).encode())
    _answer_failures(application)
    gate = Gate(application, service)
    origins = service.settings.cors_origins
    if not origins:
        return gate
    return CORSMiddleware(gate, allow_origins=origins, allow_methods=_METHODS, allow_headers=["*"])


def _serve_description(application: FastAPI, document: bytes) -> None:
    @application.get("/openapi.json", include_in_schema=False)
    async def get_description() -> Response:
        return Response(document, media_type="application/json")


def _answer_failures(application: FastAPI) -> None:
    """Give all errors the same shape."""

    async def answer_own(_: Request, error: Any) -> Response:
        return to_response(error)

    async def answer_invalid(_: Request, error: Any) -> Response:
        return to_response(make_invalid_error(error.errors()))

    async def answer_http(request: Request, error: Any) -> Response:
        return to_response(_translate(error, request, application.routes))

    async def answer_unforeseen(_: Request, __: Exception) -> Response:
        return to_response(INTERNAL)

    application.add_exception_handler(DynarouteError, answer_own)
    application.add_exception_handler(RequestValidationError, answer_invalid)
    application.add_exception_handler(HTTPException, answer_http)
    application.add_exception_handler(Exception, answer_unforeseen)


def _translate(error: HTTPException, request: Request, routes: list[BaseRoute]) -> RequestError:
    """Translate an error of the framework into ours."""
    status = HTTPStatus(error.status_code)
    if status == HTTPStatus.NOT_FOUND:
        return RequestError(
            status, "not_found", "there is nothing at this address.", remedy="See /openapi.json for all addresses."
        )
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(_allowed_methods(request, routes))
        return RequestError(
            status,
            "method",
            "this address does not support this method.",
            remedy=f"Use {allowed}.",
            headers={"Allow": allowed},
        )
    return RequestError(status, "http", f"{status.phrase.lower()}.", headers=error.headers)


def _allowed_methods(request: Request, routes: list[BaseRoute]) -> list[str]:
    """List all methods of an address; the framework names only those of the first route."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
