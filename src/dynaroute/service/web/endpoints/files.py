"""Endpoints about files: looking at a table before it is read, and writing a plan in any format."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.plans.plan import Plan
from dynaroute.service.messages.exports import export_file
from dynaroute.service.messages.file_schemas import PlanFormat, PreviewResponse
from dynaroute.service.messages.previews import preview_table
from dynaroute.service.messages.reading import read_export, read_table_file
from dynaroute.service.messages.refusals import make_large_error
from dynaroute.service.messages.replies import reply
from dynaroute.service.messages.request_schemas import FileOptions
from dynaroute.service.messages.sizes import ReadingLimits
from dynaroute.service.web.openapi import (
    EXPORT_ANSWER,
    EXPORT_BODY,
    MEDIA_TYPES,
    PREVIEW_BODY,
    WRONG_PLAN,
    describe_reading,
)
from dynaroute.service.work.service import Service

_NO_NAME = re.compile(r"[^\w.-]+")


def make_files_router(service: Service) -> APIRouter:
    """Make the endpoints."""
    router = APIRouter(prefix="/v1", tags=["files"])
    largest = service.settings.answer_bytes

    @router.post("/preview", response_model=PreviewResponse, **describe_reading(PREVIEW_BODY))
    async def preview_file(request: Request, query: Annotated[FileOptions, Query()]) -> Response:
        """Look at a table before it is read: its sheets, its first rows, and what each column seems to mean."""
        return reply(await service.read(request, preview, query=query), largest)

    @router.post("/export", response_class=Response, **describe_reading(EXPORT_BODY, WRONG_PLAN, EXPORT_ANSWER))
    async def export_plan(request: Request) -> Response:
        """Write a plan as a file: sheets for drivers, tables, maps or a picture."""
        plan, format = await service.read(request, read_export)
        content = await asyncio.to_thread(export_file, plan, format)
        if len(content) > largest:
            raise make_large_error(f"the file has more than {largest} bytes.")
        return Response(content, media_type=MEDIA_TYPES[format], headers=_name_file(plan, format))

    return router


def preview(body: bytes, *, content_type: str, query: FileOptions, limits: ReadingLimits) -> PreviewResponse:
    """Look at the table in a body."""
    return preview_table(read_table_file(body, content_type, query, limits))


def _name_file(plan: Plan, format: PlanFormat) -> dict[str, str]:
    name = _NO_NAME.sub("-", plan.instance.name).strip("-.") or "plan"
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}.{format}"}
