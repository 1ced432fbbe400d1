"""``dynaroute merge``: checks the outputs of several batches again, and combines them."""

from __future__ import annotations

from typing import Annotated

import typer

from dynaroute.cli.commands.batch import print_summary
from dynaroute.cli.shared.exit_codes import ROWS_WITH_ERRORS, WRONG_SOLUTION
from dynaroute.cli.shared.options import JsonOption, argument, option
from dynaroute.cli.shared.output import print_error


def merge(
    parts: Annotated[list[str], argument("PARTS", "Output folders of batch, one per shard.")],
    out: Annotated[str, option("FOLDER", "Folder to write.")],
    data: Annotated[str | None, option("IN", "The input of the batches, if it has moved.")] = None,
    json: JsonOption = False,
) -> None:
    """Combine the outputs of several batches, and check every row again.

    If an id is missing or appears twice, it is named, nothing is written and
    the exit code is 2. If routes are wrong, it is 1, and nothing is written
    either. Rows that batch could not solve keep their errors; the exit code
    is then 3.

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
