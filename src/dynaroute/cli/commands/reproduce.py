"""``dynaroute reproduce``: the paper's tables, measured with the shipped weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import ProverName
from dynaroute.cli.shared.options import DeviceOption, JsonOption, option, switch
from dynaroute.cli.shared.output import print_json, print_note
from dynaroute.cli.shared.progress import show_work
from dynaroute.study.reference_lengths import PUBLISHED_COUNT

GENERALISATION = "Table of generalisation"
OPTIMALITY = "Table of optima"
_VARIANT_SET_COUNT = 1000
_FIRST = 30  # instances whose optima are proven in seconds

_Measured = tuple[str, dict[str, object]]  # tables in Markdown, and the same for JSON


def reproduce(
    count: Annotated[
        int | None,
        option(
            "N",
            "Instances per size; default: 10000. With --generalisation, the first N of each set; default: all.",
            min=2,
        ),
    ] = None,
    into: Annotated[Path | None, option("PAGE.md", "Also replace the tables in this page, between its marks.")] = None,
    generalisation: Annotated[
        bool,
        switch(
            "--generalisation",
            "Instead, measure one model on the X set, XML100 and uniform sets of 200, 500 and 1000 customers.",
            GENERALISATION,
        ),
    ] = False,
    variants: Annotated[
        bool,
        switch(
            "--variants",
            "Instead, measure one model that knows rules beyond capacity on RouteFinder's sets, 50 and 100 customers.",
            GENERALISATION,
        ),
    ] = False,
    model: Annotated[str | None, option("NAME|FOLDER", "Default: amd, if it ships.", GENERALISATION)] = None,
    x: Annotated[
        Path | None, option("FOLDER", "Folder with the X set's .vrp files and best.csv.", GENERALISATION)
    ] = None,
    xml: Annotated[
        Path | None, option("FOLDER", "Folder with XML100's .vrp files or set, and optimum.csv.", GENERALISATION)
    ] = None,
    kool: Annotated[
        Path | None,
        option("FOLDER", "Folder with AM's published weights (cvrp_20.pt, ...), to measure in the same run."),
    ] = None,
    exact: Annotated[
        bool, switch("--exact", "Instead, prove optima at n=20 and print the gaps of all methods to them.", OPTIMALITY)
    ] = False,
    prover: Annotated[ProverName | None, option(None, "Default: gurobi if installed.", OPTIMALITY)] = None,
    proofs: Annotated[
        Path | None, option("FILE", "Store proofs in this file, and reuse those in it.", OPTIMALITY, dir_okay=False)
    ] = None,
    lkh: Annotated[
        Path | None, option("PROGRAM", "Path of your LKH3 program, to measure at all three sizes.", OPTIMALITY)
    ] = None,
    device: DeviceOption = None,
    json: JsonOption = False,
) -> None:
    """Print the paper's Tables 1 and 2, measured with the shipped weights.

    This takes seconds on a GPU. On two CPU cores it takes most of an hour, or
    three minutes with --count 500. --generalisation shows how one model does on
    very different instances; sets that are not given are left out. --variants
    shows how one does with time windows, limits, open routes and backhauls, beside
    published figures. --exact proves optima at n=20 by branch and cut and compares all methods with them.
    --lkh runs your own LKH3. Both use the first 30 instances of a size, or as
    many as --count says.

    Example:
      dynaroute reproduce --count 500
      dynaroute reproduce --into docs/results.md
      dynaroute reproduce --generalisation --x X --xml XML100
      dynaroute reproduce --variants --model my-run
      dynaroute reproduce --exact --count 1000 --proofs optima.jsonl
    """
    measures_optimality = exact or lkh is not None
    if not measures_optimality:
        _refuse_without("--exact", prover=prover, proofs=proofs)
    if not (measures_optimality or generalisation):
        _refuse_without("--generalisation", x=x, xml=xml, **({} if variants else {"model": model}))
    if measures_optimality:
        what, measure = "optima", partial(_measure_optimality, exact, prover, proofs, lkh, count, device)
    elif generalisation:
        what, measure = "generalisation", partial(_measure_generalisation, model, x, xml, count, device)
    elif variants:
        what, measure = "variants", partial(_measure_variants, model, count, device)
    else:
        what, measure = "tables", partial(_measure_tables, count or PUBLISHED_COUNT, kool, device)

    from dynaroute.study.reproduction import insert_tables, split_page

    if into is not None:
        split_page(into, what)  # report an unusable page now, not after most of an hour
    tables, document = measure()
    if into is not None:
        insert_tables(into, tables, what)
    if json:
        print_json(document)
    else:
        typer.echo(tables, nl=False)


def _refuse_without(needed: str, **options: object) -> None:
    """Raise if an option is given that only has a meaning together with another."""
    for name, value in options.items():
        if value is not None:
            raise OptionError.about(name, f"this option needs {needed}.", f"Add {needed}.")


def _measure_tables(count: int, kool: Path | None, device: str | None) -> _Measured:
    from dynaroute.study.reproduction import reproduce as measure

    if count != PUBLISHED_COUNT:
        print_note(f"{count} instances are not the published set, so lengths differ by chance.")
    with show_work("starting") as progress:
        measured = measure(count, device or "auto", progress, kool)
    entries = [
        {"row": row, "size": size, "length": entry.length, "seconds": entry.seconds}
        for (row, size), entry in measured.entries.items()
    ]
    minutes = dict(measured.minutes)
    document = {"count": count, "hardware": measured.hardware, "entries": entries, "minutes": minutes}
    return measured.to_markdown(), document


def _measure_optimality(
    exact: bool,
    prover: ProverName | None,
    proofs: Path | None,
    lkh: Path | None,
    count: int | None,
    device: str | None,
) -> _Measured:
    from dynaroute.study.exact import choose_prover
    from dynaroute.study.optimality import measure_optimality

    chosen = choose_prover(prover) if exact else False
    with show_work("starting") as progress:
        measured = measure_optimality(
            count or _FIRST, exact=chosen, proofs=proofs, lkh=lkh, device=device or "cpu", progress=progress
        )
    for missing in measured.skipped:
        print_note(f"{missing} is not installed, so it is left out.")
    entries = [
        {
            "row": row,
            "size": size,
            "mean_length": entry.mean,
            "gap": entry.mean / measured.best(size) - 1,
            "seconds_per_instance": entry.seconds,
        }
        for (row, size), entry in measured.entries.items()
    ]
    document = {"count": measured.count, "entries": entries, "skipped": list(measured.skipped)}
    return measured.to_markdown(), document


def _measure_variants(model: str | None, count: int | None, device: str | None) -> _Measured:
    from dynaroute.study.variant_sets import measure_variants

    if count is not None and count != _VARIANT_SET_COUNT:
        print_note(f"{count} instances are not the published sets, so lengths differ by chance.")
    with show_work("starting") as progress:
        measured = measure_variants(model, count, device or "auto", progress)
    if measured.skipped:
        print_note(f"{measured.model} does not know the rules of {', '.join(measured.skipped)}.")
    entries = [
        {"variant": each.name, "size": each.size, "length": each.length, "gap": each.gap, "seconds": each.seconds}
        for each in measured.entries
    ]
    document = {"model": measured.model, "hardware": measured.hardware, "count": measured.count, "entries": entries}
    return measured.to_markdown(), document


def _measure_generalisation(
    model: str | None,
    x: Path | None,
    xml: Path | None,
    count: int | None,
    device: str | None,
) -> _Measured:
    from dynaroute.study.evaluation import sum_up_gaps
    from dynaroute.study.generalisation import measure_generalisation

    if count is not None:
        print_note(f"the first {count} instances are not the whole set, so figures differ by chance.")
    with show_work("starting") as progress:
        measured = measure_generalisation(model, x, xml, count, device or "auto", progress)
    for name in measured.skipped:
        print_note(f"{name} was not given (--{'x' if name == 'X' else 'xml'} FOLDER), so it is left out.")
    entries = [
        {
            "row": row,
            "set": name,
            "count": entry.count,
            "mean_length": entry.mean_length,
            "seconds_per_instance": entry.seconds,
            **({} if entry.gaps is None else sum_up_gaps(entry.gaps)),
        }
        for (row, name), entry in measured.entries.items()
    ]
    document = {"model": measured.model, "hardware": measured.hardware, "skipped": list(measured.skipped)}
    return measured.to_markdown(), {**document, "entries": entries}
