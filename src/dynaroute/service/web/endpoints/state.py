"""Endpoints about the service itself."""

from __future__ import annotations

import json
from pathlib import Path

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from dynaroute.service.messages.replies import reply
from dynaroute.service.messages.response_schemas import HealthResponse, ModelSchema, ModelsResponse
from dynaroute.service.web.openapi import METRICS_ANSWER, describe_failures
from dynaroute.service.work.service import Service
from dynaroute.weights import find_model, shipped_models


def make_state_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(tags=["state"])
    largest = service.settings.answer_bytes
    models = ModelsResponse(models=[_describe_model(name, find_model(name)) for name in shipped_models()])

    @router.get("/healthz", response_model=HealthResponse)
    async def get_health() -> Response:
        """Check that the service is alive."""
        return reply(HealthResponse(status="live"), largest)

    @router.get("/readyz", response_model=HealthResponse, responses=describe_failures(503))
    async def get_readiness() -> Response:
        """Check that the models are loaded and have solved a tiny instance."""
        service.refuse_unready()
        return reply(HealthResponse(status="ready"), largest)

    @router.get("/v1/models", response_model=ModelsResponse, responses=describe_failures(401))
    async def get_models() -> Response:
        """List the models that can be requested by name."""
        return reply(models, largest)

    @router.get("/metrics", response_class=Response, responses={**METRICS_ANSWER, **describe_failures(401)})
    async def get_metrics() -> Response:
        """Show metrics: requests, latencies, batches, queues."""
        return Response(service.metrics.expose(), media_type=CONTENT_TYPE_LATEST)

    return router


def _describe_model(name: str, folder: Path) -> ModelSchema:
    """Read only the model's description."""
    description = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return ModelSchema(
        name=name,
        size=description["card"]["size"],
        kind=description["kind"],
        greedy_lengths=description["card"]["greedy_lengths"],
    )
