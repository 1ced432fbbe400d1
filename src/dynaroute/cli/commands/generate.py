"""``dynaroute generate``: draw random instances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from dynaroute.base.errors import OptionError, placed
from dynaroute.base.limits import refuse_large_set
from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.cli.shared.options import JsonOption, option, switch
from dynaroute.cli.shared.output import count_of, print_json, print_line, print_note

WINDOWS_PANEL = "With time windows, like Solomon's instances"
X_PANEL = "Like the X set (if any of these is given)"


def generate(
    size: Annotated[int, option("N", "Customers of each instance.", min=1)],
    out: Annotated[
        Path, option("FILE", "File to write: .npz or .parquet for many (X set: .json or .parquet), any format for one.")
    ],
    count: Annotated[
        int | None, option("C", "Number of instances; default: 1, or a whole published set.", min=1)
    ] = None,
    seed: Annotated[int, option("S", "The same seed gives the same instances.", min=0)] = 1234,
    capacity: Annotated[
        int | None, option("Q", "Vehicle capacity; 30, 40, 50 by default for N = 20, 50, 100.", min=1)
    ] = None,
    published: Annotated[
        bool,
        switch(
            "--published",
            "Exactly the published sets, with seed 1234: 10000 instances of N = 20, 50 or 100; 128 of 200 or "
            "500; 100 of 1000.",
        ),
    ] = False,
    variant: Annotated[
        str | None,
        option(
            "NAME",
            "With --published: RouteFinder's set of a variant, such as vrptw, ovrpbltw, vrpmb or mdvrptw: 1000 "
            "instances of N = 50 or 100.",
        ),
    ] = None,
    customers: Annotated[CustomerPositions | None, option(None, "Where customers lie.", X_PANEL)] = None,
    depot: Annotated[DepotPosition | None, option(None, "Where the depot lies.", X_PANEL)] = None,
    demand: Annotated[DemandKind | None, option(None, "How demands are drawn.", X_PANEL)] = None,
    route_length: Annotated[float | None, option("R", "Average number of customers per route.", X_PANEL)] = None,
    time_windows: Annotated[
        bool, switch("--time-windows", "Windows, service times and a fleet.", WINDOWS_PANEL)
    ] = False,
    share: Annotated[
        float | None, option("P", "Share of customers with a window; 1 by default.", WINDOWS_PANEL)
    ] = None,
    width: Annotated[float | None, option("W", "Mean width of a window; 60 by default.", WINDOWS_PANEL)] = None,
    horizon: Annotated[float | None, option("H", "When the depot closes; 500 by default.", WINDOWS_PANEL)] = None,
    service: Annotated[
        float | None, option("S", "Service time of each customer; 10 by default.", WINDOWS_PANEL)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Generate random instances, by default like the paper's.

    The paper's customers are uniform in the unit square, with demands 1 to 9.
    With --time-windows they are in a square of side 100, uniformly or as given
    by --customers, and travel time equals distance.

    Example:
      dynaroute generate --size 100 --published --out test.npz
      dynaroute generate --size 100 --published --variant vrptw --out vrptw.npz
      dynaroute generate --size 200 --customers clustered --out clustered.vrp
      dynaroute generate --size 50 --time-windows --width 30 --out day.txt
    """
    of_windows = {"share": share, "width": width, "horizon": horizon, "service": service}
    given = {name: value for name, value in of_windows.items() if value is not None}
    if variant is not None:
        of_others = {"time_windows": time_windows, "capacity": capacity, "customers": customers}
        _refuse_together("--variant", **of_others, depot=depot, demand=demand, route_length=route_length, **given)
        if not published:
            raise OptionError.about("--variant", "it only applies to published sets.", "Add --published.")
        _generate_variant(variant, size, out, count, seed, json)
        return
    if time_windows:
        _refuse_together("--time-windows", published=published, depot=depot, demand=demand, route_length=route_length)
        _generate_with_windows(size, out, count or 1, seed, given, customers, capacity, json)
        return
    for name in given:
        raise OptionError.about(f"--{name}", "it only applies to instances with time windows.", "Add --time-windows.")
    is_x = any(chosen is not None for chosen in (customers, depot, demand, route_length))
    if is_x and published:
        raise OptionError.about("--published", "the published sets are uniform.", "Leave out the options of the X set.")
    if is_x and capacity is not None:
        raise OptionError.about(
            "--capacity", "the capacity of X instances follows from --route-length.", "Use that instead."
        )

    import numpy as np

    from dynaroute.draw import XSettings, draw_paper_set, draw_published_set, draw_x_set, published_set
    from dynaroute.formats import write

    whole = published_set(size).count
    wanted = count if count is not None else whole if published else 1
    refuse_large_set(wanted, wanted * size, "--size, --count")
    if is_x:
        settings = XSettings(size, customers or "uniform", depot or "centre", demand or "unitary", route_length)
        drawn = draw_x_set(settings, wanted, np.random.default_rng(seed))
    elif published:
        drawn = draw_published_set(size, wanted, seed, capacity)
    else:
        drawn = draw_paper_set(size, wanted, np.random.default_rng(seed), capacity)
    instances = drawn.instances()
    write(replace(instances[0], name=out.stem) if wanted == 1 else instances, out)
    if published:
        _tell_of_other_count(wanted, whole)

    _report(out, wanted, size, seed, int(drawn.capacity.min()), int(drawn.capacity.max()), json)


def _refuse_together(flag: str, **others: object) -> None:
    """Raise if an option is given that another one excludes."""
    for name, value in others.items():
        if value:
            message = f"it cannot be combined with {flag}."
            raise OptionError.about(f"--{name.replace('_', '-')}", message, "Leave out one of the two.")


def _tell_of_other_count(wanted: int, whole: int) -> None:
    if wanted != whole:
        print_note(
            f"the published set has {whole} instances, drawn at once; {wanted} are different instances, not a part of "
            "it."
        )


def _generate_variant(name: str, size: int, out: Path, count: int | None, seed: int, json: bool) -> None:
    from dynaroute.base.files import write_bytes
    from dynaroute.draw.variants import VARIANT_SET_COUNT, VARIANTS, draw_variant_set
    from dynaroute.formats import write

    if name.lower() not in VARIANTS:
        remedy = f"Use one of {', '.join(VARIANTS)}."
        raise OptionError.about("--variant", f"the variant {name!r} is unknown.", remedy)
    wanted = VARIANT_SET_COUNT if count is None else count
    refuse_large_set(wanted, wanted * size, "--size, --count")
    drawn = draw_variant_set(VARIANTS[name.lower()], size, wanted, seed)
    if out.suffix.lower() == ".npz":
        write_bytes(out, drawn.to_npz())
    else:
        instances = drawn.instances()
        write(replace(instances[0], name=out.stem) if wanted == 1 else instances, out)
    _tell_of_other_count(wanted, VARIANT_SET_COUNT)
    _report(out, wanted, size, seed, drawn.capacity, drawn.capacity, json)


def _report(out: Path, count: int, size: int, seed: int, smallest: int, largest: int, json: bool) -> None:
    """Print what was written."""
    if json:
        capacities = {"smallest": smallest, "largest": largest}
        print_json({"out": str(out), "count": count, "size": size, "seed": seed, "capacity": capacities})
    else:
        print_line(f"wrote {out}: {count_of(count, 'instance')} of {count_of(size, 'customer')}, seed {seed}")


def _generate_with_windows(
    size: int,
    out: Path,
    count: int,
    seed: int,
    given: dict[str, Any],
    customers: CustomerPositions | None,
    capacity: int | None,
    json: bool,
) -> None:
    import numpy as np

    from dynaroute.draw.fleets import SolomonSettings, draw_solomon_set
    from dynaroute.formats import write

    refuse_large_set(count, count * size, "--size, --count")
    held = {} if capacity is None else {"capacity": capacity}
    with placed(lambda where: replace(where, field=f"--{where.field}")):
        settings = SolomonSettings(size, customers or "uniform", **given, **held)
    instances = draw_solomon_set(settings, count, np.random.default_rng(seed))
    write(replace(instances[0], name=out.stem) if count == 1 else instances, out)
    _report(out, count, size, seed, settings.capacity, settings.capacity, json)
