"""Reading problems and solutions from bodies of requests, with the parsers for files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Any, NoReturn, cast, get_args

from pydantic import ValidationError

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import FormatError, OptionError, Where, gather_notes, in_file, placed
from dynaroute.formats import instance_from_json, solution_from_json
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.json.document import load_json, require, require_list, require_object
from dynaroute.formats.json.ignored import leave_out_of_customers
from dynaroute.formats.tables.headers import read_renames
from dynaroute.formats.text import decode_text, shorten
from dynaroute.plans.changes.additions import Customers
from dynaroute.plans.files.json import plan_from_json
from dynaroute.plans.plan import Plan
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.roads.source import use_detour
from dynaroute.service.messages.file_schemas import PlanFormat
from dynaroute.service.messages.multipart import read_form
from dynaroute.service.messages.previews import TableFile
from dynaroute.service.messages.refusals import RequestError, make_invalid_error, make_large_error
from dynaroute.service.messages.request_schemas import MOST_NEW_CUSTOMERS, BodyOptions, FileOptions, QueryOptions
from dynaroute.service.messages.sizes import ReadingLimits
from dynaroute.service.messages.uploads import TEXT_TABLES, Upload, read_text, refuse_options_of_tables

JSON = "application/json"
FORM = "multipart/form-data"
SUFFIXES = {JSON: ".json", "text/csv": ".csv", "text/plain": ".vrp"}
_UPLOADS = (*SUFFIXES.values(), ".tsv", ".txt", ".xlsx")  # in forms, where the file's name tells its format

_CONSTANT = re.compile(r"NaN|Infinity")


@dataclass(frozen=True)
class Problem:
    """A problem to solve.

    Attributes
    ----------
    instance
        The problem.
    options
        The given options by name.
    notes
        Notes about the input.
    """

    instance: Instance
    options: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Judgement:
    """A solution to check, with its instance, and whether its timetable is wanted."""

    instance: Instance
    solution: Solution
    wants_timetable: bool = False


def read_problem(body: bytes, content_type: str, query: FileOptions, limits: ReadingLimits) -> Problem:
    """Read a problem from a body.

    Raises
    ------
    DynarouteError
        If it is not a supported problem; a `RequestError` if the status is not 422.
    """
    upload = _receive(body, content_type, query.model_dump(exclude_none=True))
    with gather_notes() as notes, _in_upload(upload.name):
        if upload.suffix == ".json":
            instance, options = _read_document(upload, limits)
        else:
            instance, options = read_text(upload, limits)
        limits.refuse_large_instance(instance)
        if (detour := options.pop("detour", None)) is not None:
            instance = use_detour(instance, detour)
        instance = limits.measure(instance)
    return Problem(instance, options, tuple(notes))


def read_solvable_problem(body: bytes, content_type: str, query: FileOptions, limits: ReadingLimits) -> Problem:
    """Read a problem to solve, and raise if it would make a whole batch fail."""
    problem = read_problem(body, content_type, query, limits)
    refuse_impossible(problem.instance)
    if not problem.instance.is_plain and problem.options.get("improve") in ("2opt", "local"):
        message = "time windows, limits and vehicle types need a search."
        raise OptionError.about("improve", message, "Give a time limit, or improve search.")
    return problem


def read_judgement(body: bytes, content_type: str, limits: ReadingLimits) -> Judgement:
    """Read an instance and a solution from a body.

    Raises
    ------
    DynarouteError
        If the instance or the solution is missing or invalid.
    """
    document = read_request(body, content_type, limits)
    wants_timetable = document.pop("timetable", False)
    if not isinstance(wants_timetable, bool):
        raise FormatError.about("timetable", "the timetable is asked for by true.", "Write true, or leave it out.")
    for key in document.keys() - {"instance", "solution", "ignore"}:
        raise FormatError.about(key, "this key is missing.", "Give instance and solution.")
    problem, answer = require(document, "instance", ""), require(document, "solution", "")
    with placed(partial(_prefix, "instance")):
        limits.refuse_large_document(require_object(problem, ""))
        instance = limits.measure(instance_from_json(problem, ignore=_read_ignored(document)))
        if instance.has_times:
            instance.require_times()
    with placed(partial(_prefix, "solution")):
        limits.refuse_large_solution(answer, instance.size)
        solution = solution_from_json(answer)
    return Judgement(instance, solution, wants_timetable)


def read_insertion(body: bytes, content_type: str, limits: ReadingLimits) -> tuple[Plan, Customers]:
    """Read a plan and new customers from a body.

    Returns
    -------
    tuple[Plan, Customers]
        The plan, whose routes visit only known customers but may be wrong; and the customers as decoded JSON.
    """
    document = read_request(body, content_type, limits)
    for key in document.keys() - {"plan", "customers", "ignore"}:
        raise FormatError.about(key, "this key is missing.", "Give plan and customers.")
    customers = require_list(require(document, "customers", ""), "customers")
    if len(customers) > MOST_NEW_CUSTOMERS:
        message = f"there are {len(customers)} new customers; at most {MOST_NEW_CUSTOMERS} can be inserted at a time."
        raise make_large_error(message, "customers")
    limits.refuse_large_document({"customers": customers})
    plan = read_plan_of(document, "plan", limits, len(customers))
    return plan, leave_out_of_customers(customers, Ignored.of(_read_ignored(document)))


def read_request(body: bytes, content_type: str, limits: ReadingLimits) -> dict[str, object]:
    """Read a body that must be a JSON object."""
    if _media_type(content_type) != JSON:
        _refuse_media_type(content_type, [JSON])
    limits.refuse_large_json(body)
    return dict(require_object(_load_strictly(body), ""))


def read_plan_of(document: Mapping[str, object], key: str, limits: ReadingLimits, more: int = 0) -> Plan:
    """Read a plan below a key of a body.

    Parameters
    ----------
    document
        The body.
    key
        Where the plan is.
    limits
        What is too large.
    more
        How many customers will join it.
    """
    with placed(partial(_prefix, key)):
        given = require_object(require(document, key, ""), "")
        problem = require_object(require(given, "instance", ""), "instance")
        limits.refuse_customers(more + len(require_list(problem.get("customers"), "instance.customers")))
        limits.refuse_large_document(problem)
        limits.refuse_large_solution(given, limits.customers)
        return plan_from_json(given)


def read_instance_of(document: Mapping[str, object], key: str, limits: ReadingLimits) -> Instance:
    """Read a problem below a key of a body."""
    with placed(partial(_prefix, key)):
        problem = require_object(document[key], "")
        limits.refuse_customers(len(require_list(problem.get("customers"), "customers")))
        limits.refuse_large_document(problem)
        return limits.measure(instance_from_json(problem))


def read_export(body: bytes, content_type: str, limits: ReadingLimits) -> tuple[Plan, PlanFormat]:
    """Read a plan from a body, and the format of the file to make of it."""
    document = read_request(body, content_type, limits)
    for key in document.keys() - {"plan", "format"}:
        raise FormatError.about(key, "this key is unknown.", "Give plan and format.")
    format = require(document, "format", "")
    if format not in get_args(PlanFormat):
        known = ", ".join(get_args(PlanFormat))
        raise FormatError.about("format", f"the format {shorten(str(format))} is unknown.", f"Use one of {known}.")
    return read_plan_of(document, "plan", limits), cast("PlanFormat", format)


def read_table_file(body: bytes, content_type: str, query: FileOptions, limits: ReadingLimits) -> TableFile:
    """Receive a table to look at."""
    upload = _receive(body, content_type, query.model_dump(exclude_none=True))
    options = upload.options
    renames, ignored = read_renames(options.get("columns")), Ignored.of(options.get("ignore", ()))
    if upload.suffix == ".xlsx":
        limits.refuse_large_workbook(upload.content)
        return TableFile(upload.content, True, options.get("sheet"), renames, ignored)
    if upload.suffix not in TEXT_TABLES:
        message = f"a {upload.suffix} file is no table."
        raise FormatError(message, where=Where(file=upload.name, field="file"), remedy="Send it to /v1/convert.")
    limits.refuse_large_table(decode_text(upload.content))
    return TableFile(upload.content, False, None, renames, ignored)


def _receive(body: bytes, content_type: str, query: dict[str, Any]) -> Upload:
    media_type = _media_type(content_type)
    if media_type == FORM:
        return _unpack_form(body, content_type, query)
    if media_type not in SUFFIXES:
        _refuse_media_type(content_type, [*SUFFIXES, FORM])
    return Upload(body, SUFFIXES[media_type], "", query)


def _unpack_form(body: bytes, content_type: str, query: dict[str, Any]) -> Upload:
    parts = read_form(body, content_type)
    files = [part for part in parts if part.name == "file"]
    if len(files) != 1:
        message = "the form has no field 'file'." if not files else "the form has more than one file."
        raise FormatError.about("file", message, "Send one, as curl -F file=@my.vrp does.")
    texts = [(part.name, part.content.decode("utf-8", "replace")) for part in parts if part.name != "file"]
    ignored = [text for name, text in texts if name == "ignore"]
    given = dict(texts) | ({"ignore": ignored} if ignored else {})
    try:
        options = QueryOptions.model_validate(given).model_dump(exclude_none=True)
    except ValidationError as error:
        raise make_invalid_error(error.errors()) from None
    name = files[0].file_name or ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in _UPLOADS:
        raise FormatError(
            f"the file's suffix {suffix!r} is not one for instances.",
            where=Where(file=name, field="file"),
            remedy=f"Use one of {', '.join(_UPLOADS)}.",
        )
    return Upload(bytes(files[0].content), suffix, name, _merge(query, options))


def _read_document(upload: Upload, limits: ReadingLimits) -> tuple[Instance, dict[str, Any]]:
    limits.refuse_large_json(upload.content)
    document = dict(require_object(_load_strictly(upload.content), ""))
    options = _merge(upload.options, _read_options(document.pop("options", None)))
    # a problem with such a key would ask for more than is solved
    for name, example in (("time_limit", "5"), ("ignore", '["priority"]')):
        if name in document:
            raise FormatError.about(
                name,
                f"{name} is an option, not a part of the problem.",
                f'Put it into the options: "options": {{"{name}": {example}}}.',
            )
    refuse_options_of_tables(options)
    if "speed" in options:
        message, remedy = "JSON has its own key for the speed.", 'Write "speed": 12.5, in distance units per second.'
        raise OptionError.about("speed", message, remedy)
    limits.refuse_large_document(document)
    ignored = options.pop("ignore", ())
    return instance_from_json(document, source=upload.name, ignore=ignored), options


def _read_options(data: object) -> dict[str, Any]:
    """Read the options of a JSON body, whose numbers are decimals."""
    if data is None:
        return {}
    document = require_object(data, "options")
    plain = {
        key: value if isinstance(value, str | bool | int | dict | list) or value is None else plain_number(value)  # type: ignore[arg-type]
        for key, value in document.items()
    }
    try:
        return BodyOptions.model_validate(plain).model_dump(exclude_none=True)
    except ValidationError as error:
        raise make_invalid_error(error.errors(), "options") from None


def _merge(some: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    for name in some.keys() & others.keys():
        raise OptionError.about(name, "the option is given twice.", "Give it once.")
    return some | others


def _load_strictly(body: bytes) -> object:
    """Decode JSON; invalid JSON, including NaN and Infinity, is refused with 400."""
    try:
        text = body.decode("utf-8-sig")
        document = load_json(text)
        if _CONSTANT.search(text):  # rare, and mostly within a name, so check again
            json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise RequestError(
            HTTPStatus.BAD_REQUEST, "json", "the body is not UTF-8.", remedy="Send JSON in UTF-8."
        ) from None
    except FormatError as error:
        remedy = error.remedy if error.where.line is None else "Is the body complete?"
        raise RequestError(HTTPStatus.BAD_REQUEST, "json", error.message, where=error.where, remedy=remedy) from None
    return document


def _refuse_constant(constant: str) -> NoReturn:
    raise FormatError(f"{constant} is not JSON.", remedy="Write plain numbers.")


def _read_ignored(document: Mapping[str, object]) -> list[str]:
    """Read the keys to plan without, beside an instance or a plan."""
    if document.get("ignore") is None:
        return []
    try:
        return BodyOptions.model_validate({"ignore": document["ignore"]}).ignore or []
    except ValidationError as error:
        raise make_invalid_error(error.errors()) from None


def _refuse_media_type(content_type: str, known: list[str]) -> NoReturn:
    shown = f"bodies of type {content_type[:80]!r} are not supported" if content_type else "there is no Content-Type"
    raise RequestError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "media_type",
        f"{shown}.",
        where=Where(field="Content-Type"),
        remedy=f"Use {', '.join(known)}.",
    )


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _prefix(part: str, where: Where) -> Where:
    """Place errors in one part of the body."""
    return replace(where, field=part if where.field in (None, "document") else f"{part}.{where.field}")


@contextmanager
def _in_upload(name: str) -> Iterator[None]:
    """Name the uploaded file in errors, if it has a name."""
    if not name:
        yield
        return
    with in_file(name):
        yield
