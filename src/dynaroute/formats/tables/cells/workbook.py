"""Read the cells of one sheet of a workbook (.xlsx); formulas give their results."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, OptionError, UnsupportedError, warn_of_input
from dynaroute.base.limits import REMEDY, raised, refuse_large_content
from dynaroute.formats.tables.cells.cells import Grid, Kind, Row
from dynaroute.formats.tables.cells.sheet_marks import MOST_ROWS, SheetMarks, read_marks
from dynaroute.formats.tables.cells.text_cells import read_directive
from dynaroute.formats.text import shorten

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

_BYTES_OF_XML = 10  # bytes of memory for each byte of XML while it is read, which allows 200 MB of XML
_BYTES_OF_CELL = 200
_PADDED = re.compile("0+")  # a number format that shows 7 as 007
_DECLARATIONS = tuple(
    word.encode(encoding) for word in ("<!DOCTYPE", "<!ENTITY") for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
_ROWS = (b"<row ", b"<row>", b"<row/", b":row ", b":row>", b":row/")  # with and without a prefix for its name space
_STEP = 1 << 20
_ENTRY, _MOST_MEMBERS = b"PK\x01\x02", 1_000  # entries in a workbook's directory
_SMALL_WORKBOOK = 200_000  # unpacked bytes, below which the compression ratio does not matter
_MOST_UNPACKING = 25  # largest compression ratio; workbooks of spreadsheet programs have six to ten
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    EOFError,
    OSError,
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,  # the archive has a password, or a compression that Python does not know
)
_SAVE_AS = "Open it in a spreadsheet program and save it as an Excel workbook (.xlsx), or as CSV."


def cut_workbook(
    content: bytes,
    sheet: str | None,
    has_header: Callable[[Grid], bool],
    source: str,
    is_likely: Callable[[Grid], bool] = lambda grid: False,
) -> Grid:
    """Read the rows of one sheet.

    Parameters
    ----------
    content
        The file.
    sheet
        The sheet's name. None: the first visible one that has a header.
    has_header
        Whether a sheet has a header.
    source
        The file's path, for notes.
    is_likely
        Whether a sheet without such a header is read if there is none with one.

    Raises
    ------
    DynarouteError
        If the workbook cannot be read, is too large, or has no such sheet.
    """
    refuse_other_kinds(content)
    if (excess := find_excess(content)) is not None:
        raise FormatError(excess, remedy=REMEDY)
    with _open(content) as workbook:
        sheets = [found for found in workbook.worksheets if hasattr(found, "iter_rows")]
        if sheet is not None:
            return _cut_sheet(workbook, _find_sheet(sheets, sheet))
        visible = [found for found in sheets if found.sheet_state == "visible"]
        if not visible:
            raise FormatError("the workbook has no visible sheet.", remedy="Show one, or name one: --sheet NAME.")
        first: Grid | None = None
        likely: Grid | None = None
        for found in visible:
            grid = _cut_sheet(workbook, found)
            if has_header(grid):
                others = [other.title for other in sheets if other is not found]
                if others:
                    warn_of_input(source, f"read the sheet {found.title!r}, not {show_list(others)} (--sheet NAME).")
                return grid
            if first is None and grid.rows:
                first = grid
            if likely is None and is_likely(grid):
                likely = grid
        if likely is not None:
            if len(sheets) > 1:
                warn_of_input(source, f"read the sheet {likely.sheet!r}, which has no demands (--sheet NAME).")
            return likely
        others = [f"{other.title} ({'hidden' if other.sheet_state != 'visible' else 'visible'})" for other in sheets]
        warn_of_input(source, f"no visible sheet has a known header; the sheets are {show_list(others)}.")
        if first is None:
            raise FormatError("the visible sheets are empty.", remedy="Name another sheet: --sheet NAME.")
        return first


def list_sheets(content: bytes) -> list[str]:
    """List the titles of the visible sheets of a workbook that was read before."""
    with _open(content) as workbook:
        return [found.title for found in workbook.worksheets if found.sheet_state == "visible"]


def cut_sheets(content: bytes) -> list[Grid]:
    """Read the rows of all visible sheets; as `cut_workbook`, it raises if the workbook cannot be read."""
    refuse_other_kinds(content)
    if (excess := find_excess(content)) is not None:
        raise FormatError(excess, remedy=REMEDY)
    with _open(content) as workbook:
        sheets = [found for found in workbook.worksheets if hasattr(found, "iter_rows")]
        return [_cut_sheet(workbook, found) for found in sheets if found.sheet_state == "visible"]


def find_excess(content: bytes, most: int | None = None) -> str | None:
    """Say in what a workbook exceeds the limits, before any of it is unpacked; None if in nothing.

    Parameters
    ----------
    content
        The file.
    most
        Most unpacked bytes; None limits only how much more they are than the file's own.
    """
    if content.count(_ENTRY) > raised(_MOST_MEMBERS):
        return f"the workbook has more than {raised(_MOST_MEMBERS)} parts."
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return None  # its reader gives a better error
    limit = raised(max(_SMALL_WORKBOOK, _MOST_UNPACKING * len(content)))
    limit = limit if most is None else min(most, limit)
    return f"the workbook has {size} bytes when unpacked, more than the limit of {limit}." if size > limit else None


def refuse_other_kinds(content: bytes) -> None:
    """Refuse files that are called a workbook but are something else, and say what they are."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise FormatError(
                "the workbook is protected by a password.", remedy="Save a copy without a password and use that."
            )
        raise FormatError("this is a workbook in the old format (.xls).", remedy=_SAVE_AS)
    if start.startswith((b"<!doctype html", b"<html", b"<table", b"<meta", b"<div")):
        raise FormatError("this is a web page (HTML), not a workbook.", remedy=_SAVE_AS)
    if b"urn:schemas-microsoft-com:office:spreadsheet" in start:
        raise FormatError("this is an XML spreadsheet of 2003.", remedy=_SAVE_AS)
    if not content.startswith(b"PK"):
        raise FormatError(
            "this is not an Excel workbook.", remedy="If it is text, call it .csv; if not, save it as .xlsx."
        )


@contextmanager
def _open(content: bytes) -> Iterator[Workbook]:
    """Check the archive, then open the workbook; damage becomes a FormatError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _refuse_other_archives(archive)
            _refuse_bombs(archive)
        try:
            from openpyxl import load_workbook
        except ImportError as error:
            raise UnsupportedError(
                "openpyxl, which reads workbooks, is not installed.",
                remedy="Install openpyxl, or save the sheet as CSV.",
            ) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about extensions that it does not know and we do not need
            workbook = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    except _DAMAGES as error:
        raise _damaged(error) from error
    try:
        yield workbook
    finally:
        workbook.close()


def _damaged(error: Exception) -> FormatError:
    return FormatError(
        f"the workbook is damaged or unusual ({type(error).__name__}).",
        remedy="Open it in a spreadsheet program and save it anew as .xlsx.",
    )


def _refuse_other_archives(archive: zipfile.ZipFile) -> None:
    names = set(archive.namelist())
    if any(member.flag_bits & 1 for member in archive.infolist()):
        raise FormatError(
            "the archive is protected by a password.", remedy="Save a copy without a password and use that."
        )
    if "mimetype" in names and b"opendocument" in archive.read("mimetype")[:100]:
        raise FormatError("this is an OpenDocument file (.ods).", remedy=_SAVE_AS)
    if "xl/workbook.bin" in names:
        raise FormatError("this is a binary workbook (.xlsb).", remedy=_SAVE_AS)
    if "word/document.xml" in names or "ppt/presentation.xml" in names:
        raise FormatError("this is a text document or a presentation, not a workbook.", remedy=_SAVE_AS)
    if "[Content_Types].xml" not in names:
        raise FormatError("this archive is not an Excel workbook.", remedy=_SAVE_AS)


def _refuse_bombs(archive: zipfile.ZipFile) -> None:
    """Refuse archives that would unpack to enormous files or sheets; Python unpacks no more than they announce."""
    parts = [member for member in archive.infolist() if member.filename.lower().endswith((".xml", ".rels"))]
    refuse_large_content(_BYTES_OF_XML * sum(member.file_size for member in parts) + 1000 * len(archive.infolist()))
    for member in parts:
        with archive.open(member) as file:
            tail, rows = b"", 0
            while step := file.read(_STEP):
                if any(word in tail + step for word in _DECLARATIONS):
                    raise FormatError(
                        "the workbook declares XML entities, which no spreadsheet program does.", remedy=_SAVE_AS
                    )
                if b"purl.oclc.org/ooxml/spreadsheetml" in tail + step and member.filename == "xl/workbook.xml":
                    raise FormatError(
                        "this is a 'Strict Open XML' workbook.", remedy="Save it as a plain Excel workbook (.xlsx)."
                    )
                rows += sum(map(step.count, _ROWS)) if "worksheets/" in member.filename else 0
                if rows > MOST_ROWS:  # before openpyxl, which would look at each of them to find the last
                    raise FormatError(f"a sheet has more than {MOST_ROWS} rows.", remedy="Save the workbook again.")
                tail = step[-64:]


def _find_sheet(sheets: list[Any], name: str) -> Any:
    titles = [found.title for found in sheets]
    folded = [title.strip().casefold() for title in titles]
    if name in titles:
        return sheets[titles.index(name)]
    if name.strip().casefold() in folded:
        return sheets[folded.index(name.strip().casefold())]
    raise OptionError.about("sheet", f"there is no sheet {shorten(name)}.", f"The sheets are {show_list(titles)}.")


def _cut_sheet(workbook: Workbook, sheet: Any) -> Grid:
    try:
        # openpyxl's streaming reader does not report hidden rows, merged cells and formulas without results
        with sheet._get_source() as file:
            marks = read_marks(file)
        sheet.reset_dimensions()  # they may be wrong, and rows would be padded to them
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return _gather(sheet, marks)
    except _DAMAGES as error:
        raise _damaged(error) from error


def _gather(sheet: Any, marks: SheetMarks) -> Grid:
    rows: list[Row] = []
    directives: dict[str, tuple[str, int]] = {}
    follows_blank = False
    cells_seen = 0
    for line, cells in enumerate(sheet.iter_rows(max_row=max(1, marks.last_row)), start=1):
        cells_seen += len(cells)
        texts: list[str] = []
        kinds: dict[int, Kind] = {}
        for index, cell in enumerate(cells):
            text, kind = _read_cell(cell)
            if not text and (line, index) in marks.formulas:
                kind = "formula"
            texts.append(text)
            if kind != "text":
                kinds[index] = kind
        while texts and not texts[-1] and len(texts) - 1 not in kinds:
            texts.pop()
        if not any(texts) and not kinds:
            follows_blank = True
            continue
        refuse_large_content(_BYTES_OF_CELL * cells_seen)
        first = next((text for text in texts if text), "")
        is_comment = first.startswith("#") and not first.endswith((":", "="))  # otherwise its value is in the next cell
        if is_comment and read_directive(directives, first, line):
            continue
        rows.append(Row(tuple(texts), line, kinds, line in marks.hidden_rows, follows_blank))
        follows_blank = False
    return Grid(
        rows, sheet=sheet.title, directives=directives, hidden_columns=marks.hidden_columns, merged=marks.merged
    )


def _read_cell(cell: Any) -> tuple[str, Kind]:
    text, kind = read_value(cell.value, cell.number_format or "")
    return text, "error" if cell.data_type == "e" else kind


def read_value(value: Any, style: str = "") -> tuple[str, Kind]:
    """The text of a value as a spreadsheet shows it, in this number format, and its kind."""
    if value is None:
        return "", "text"
    if isinstance(value, bool):
        return str(value).upper(), "truth"
    if isinstance(value, int | float):
        return _show_number(value, style)
    if isinstance(value, datetime.datetime):
        if value.time() == datetime.time():
            return value.date().isoformat(), "date"
        return value.isoformat(" ", "minutes"), "date"
    if isinstance(value, datetime.date):
        return value.isoformat(), "date"
    if isinstance(value, datetime.time):
        return _show_time(value.hour * 3600 + value.minute * 60 + value.second), "time"
    if isinstance(value, datetime.timedelta):
        return _show_time(round(value.total_seconds())), "time"
    return str(value).strip(), "text"


def _show_number(value: float, style: str) -> tuple[str, Kind]:
    # spreadsheets keep and show fifteen digits: 0.1 + 0.2 is 0.3 there
    text = str(value) if isinstance(value, int) else f"{value:.15g}"
    if _PADDED.fullmatch(style):
        text = text.zfill(len(style))
    return text, "percent" if "%" in style else "number"


def _show_time(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours}h {minute}min"
    return f"{hours:02}:{minute:02}" + (f":{second:02}" if second else "")
