"""Writing plans in any format, chosen by suffix."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from dynaroute.base.errors import UnsupportedError, Where, in_file
from dynaroute.base.files import write_bytes
from dynaroute.base.vocabulary import join_with_or
from dynaroute.formats import write
from dynaroute.formats.vrplib.sol import number_as_file
from dynaroute.plans.files.csv import format_csv_plan
from dynaroute.plans.files.geojson import format_geojson
from dynaroute.plans.files.gpx import format_gpx
from dynaroute.plans.files.html import GENERATOR_MARK, format_html_plan, format_html_sheet, format_html_unserved
from dynaroute.plans.files.json import format_json_plan
from dynaroute.plans.files.kml import format_kml
from dynaroute.plans.files.pdf import format_pdf
from dynaroute.plans.files.xlsx import format_xlsx_plan
from dynaroute.plans.plan import Plan

_FORMATS: dict[str, Callable[[Plan], str | bytes]] = {
    ".json": format_json_plan,
    ".csv": format_csv_plan,
    ".xlsx": format_xlsx_plan,
    ".html": format_html_plan,
    ".pdf": format_pdf,
    ".geojson": format_geojson,
    ".gpx": format_gpx,
    ".kml": format_kml,
}

PLAN_SUFFIXES = (".sol", *_FORMATS)

_UNSERVED = "not-served.html"  # before all routes, in the order of names
_SHEET = re.compile(rf"route-[0-9]{{2,}}\.html|{re.escape(_UNSERVED)}")
_HEAD = 4096  # bytes that contain the head of a page, up to the title


def write_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan, completely or not at all.

    Parameters
    ----------
    plan
        An instance and its routes.
    path
        The file to create or replace. Its suffix determines the content: .json instance and routes; .csv and .xlsx one
        row per stop; .html and .pdf sheets for drivers; .geojson, .gpx and .kml maps, which need degrees; .sol only
        routes.

    Raises
    ------
    UnsupportedError
        If the format cannot store the plan; the error says which formats can.
    DynarouteError
        If the suffix is unknown or the file cannot be written.
    """
    file = Path(path)
    suffix = require_plan_suffix(file)
    if suffix == ".sol":
        write(number_as_file(plan.solution, plan.instance), file)
        return
    with in_file(os.fspath(path)):
        content = format_plan(plan, suffix)
    write_bytes(file, content)


def format_plan(plan: Plan, suffix: str) -> bytes:
    """Write a plan in the format of a suffix other than .sol, as the content of a file."""
    content = _FORMATS[suffix](plan)
    return content.encode("utf-8", errors="replace") if isinstance(content, str) else content


def require_plan_suffix(path: Path) -> str:
    """Return the suffix in lower case, or raise if plans have no such format."""
    suffix = path.suffix.lower()
    if suffix in PLAN_SUFFIXES:
        return suffix
    raise UnsupportedError(
        f"a plan has no format {suffix!r}." if suffix else "the file name has no suffix.",
        where=Where(file=str(path)),
        remedy=f"Use {join_with_or(PLAN_SUFFIXES)}.",
    )


def list_sheets(routes: int, folder: Path) -> list[Path]:
    """List the files that `write_sheets` writes for this many routes."""
    digits = max(2, len(str(routes)))
    return [folder / f"route-{number:0{digits}}.html" for number in range(1, routes + 1)]


def write_sheets(plan: Plan, folder: str | os.PathLike[str]) -> list[Path]:
    """Write one printable HTML sheet per driver into a folder, which is created if necessary.

    If customers are not served, a page with all of them and the reasons comes first, and each sheet begins with the
    first few.

    Leftover sheets of an earlier plan are deleted, so that nobody drives one of them.

    Parameters
    ----------
    plan
        An instance and its routes.
    folder
        Folder for not-served.html, route-01.html and so on.

    Returns
    -------
    list[Path]
        The files.
    """
    pages = {Path(folder) / _UNSERVED: format_html_unserved(plan)} if plan.unserved else {}
    sheets = list_sheets(len(plan.routes), Path(folder))
    pages |= {file: format_html_sheet(plan, route) for file, route in zip(sheets, plan.routes, strict=True)}
    Path(folder).mkdir(exist_ok=True)
    for file, page in pages.items():
        write_bytes(file, page.encode("utf-8", errors="replace"))
    for found in set(Path(folder).iterdir()) - set(pages):
        if _SHEET.fullmatch(found.name) and _is_ours(found):
            found.unlink()
    return list(pages)


def _is_ours(page: Path) -> bool:
    """Whether a page is one that `write_sheets` made."""
    if page.is_symlink() or not page.is_file():
        return False
    with page.open("rb") as file:
        return GENERATOR_MARK.encode() in file.read(_HEAD)
