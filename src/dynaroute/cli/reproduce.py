"""``dynaroute reproduce``: the paper's tables, measured with the shipped weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.options import DeviceOption, JsonOption
from dynaroute.cli.output import print_json, print_note
from dynaroute.cli.progress import show_work
from dynaroute.reference_lengths import PUBLISHED_COUNT


def reproduce(
    count: Annotated[
        int,
        typer.Option("--count", metavar="N", min=2, help="Instances of each size; other than 10000: another set."),
    ] = PUBLISHED_COUNT,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="PAGE.md", help="Replace the tables in this page, at its marks, as well."),
    ] = None,
    device: DeviceOption = None,
    json: JsonOption = False,
) -> None:
    """Print the paper's Tables 1 and 2 with what the shipped weights reach.

    Seconds on a GPU; on two cores of a CPU the whole of it takes most of an
    hour, and --count 500 three minutes.

    Example:
      dynaroute reproduce --count 500
      dynaroute reproduce --into docs/results.md
    """
    from dynaroute.reproduction import insert_tables, split_page
    from dynaroute.reproduction import reproduce as measure

    if into is not None:
        split_page(into)  # a page that cannot be used is told now, not after most of an hour
    if count != PUBLISHED_COUNT:
        print_note(f"{count} instances are not the published set: lengths differ from it by chance.")
    with show_work("starting") as progress:
        measured = measure(count, device or "auto", progress)
    tables = measured.to_markdown()
    if into is not None:
        insert_tables(into, tables)
    if not json:
        typer.echo(tables, nl=False)
        return
    entries = [
        {"row": row, "size": size, "length": entry.length, "seconds": entry.seconds}
        for (row, size), entry in measured.entries.items()
    ]
    print_json({"count": count, "hardware": measured.hardware, "entries": entries, "minutes": dict(measured.minutes)})
