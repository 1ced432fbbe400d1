"""``dynaroute merge``: the parts of several batches, checked again and put together."""

from __future__ import annotations

from typing import Annotated

import typer

from dynaroute.cli.batch import print_summary
from dynaroute.cli.exit_codes import ROWS_WITH_ERRORS, WRONG_SOLUTION
from dynaroute.cli.options import JsonOption
from dynaroute.cli.output import print_error


def merge(
    parts: Annotated[list[str], typer.Argument(metavar="PARTS", help="Folders that batch wrote, one for each shard.")],
    out: Annotated[str, typer.Option("--out", metavar="FOLDER", help="Folder to write.")],
    data: Annotated[
        str | None, typer.Option("--data", metavar="IN", help="The input of the batches, if it is elsewhere now.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Put the parts of several batches together, and check every row again.

    A missing or a double id is named, and nothing is written; the exit code
    is 2. So it is with routes that are wrong, with the exit code 1. Rows that
    batch could not solve keep their errors, and the exit code is 3.

    Example:
      dynaroute merge part-1/ part-2/ part-3/ --out routes/
    """
    from dynaroute.scale.merging import Merging

    merging = Merging(parts, data)
    wrong = merging.find_wrong()
    for row in wrong:
        print_error(f"{row.file}, id {row.id}: {row.error}")
    if wrong:
        raise typer.Exit(WRONG_SOLUTION)
    summary = merging.write(out)
    print_summary(out, summary, json=json)
    if summary.tally.failed:
        raise typer.Exit(ROWS_WITH_ERRORS)
