"""Schemas of requests and responses about files: looking at a table, and writing a plan."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from dynaroute.service.messages.request_schemas import EXAMPLE_INSTANCE, PlanSchema, show_examples
from dynaroute.service.messages.response_schemas import ResponseSchema

PlanFormat = Literal["html", "pdf", "xlsx", "csv", "json", "geojson", "gpx", "kml", "sol", "vrp", "svg", "png"]
SheetKind = Literal["stops", "vehicles", "other"]


class ExportRequest(BaseModel):
    """A plan, and the format of the file to make of it."""

    model_config = show_examples({"plan": {"instance": EXAMPLE_INSTANCE, "routes": [[1, 2], [3]]}, "format": "html"})

    plan: PlanSchema
    format: PlanFormat = Field(
        description="html and pdf: sheets for drivers; csv and xlsx: a row per stop; geojson, gpx and kml: maps, which "
        "need degrees; svg and png: a picture; json: the plan; sol: its routes; vrp: its problem."
    )


class PreviewSheet(ResponseSchema):
    """A sheet of a workbook; the name of a text's only table is empty."""

    name: str
    kind: SheetKind = Field(description="What it seems to contain.")
    rows: int


class PreviewColumn(ResponseSchema):
    """A column of a table."""

    letter: str = Field(description="As spreadsheets call it: A, B, ...")
    heading: str
    meaning: str | None = Field(description="What it is read as; null if it is only passed on.")


class PreviewResponse(ResponseSchema):
    """A table before it is read."""

    sheets: list[PreviewSheet]
    sheet: str = Field(description="The sheet that is shown.")
    line: int | None = Field(description="Line of the header; null if none was found.")
    columns: list[PreviewColumn]
    meanings: list[str] = Field(description="All meanings that a column of this kind of table can have.")
    rows: list[list[str]] = Field(description="The first rows below the header.")
    count: int = Field(description="Number of rows below the header.")
    problem: str | None = Field(description="What is unclear about the header.")
