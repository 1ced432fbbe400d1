"""``dynaroute simulate``: whether a plan holds when driving and service take longer or shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.cli.commands.desk.showing import PlanArgument, show_minutes, show_name
from dynaroute.cli.shared.options import JsonOption
from dynaroute.cli.shared.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from dynaroute.desk.simulating import SimulatedStop
    from dynaroute.problem.instance import Instance


def simulate(
    plan: PlanArgument,
    travel: Annotated[
        float, typer.Option("--travel", metavar="F", help="How much driving times vary: 0.2 is 20 % up or down.")
    ] = 0.2,
    service: Annotated[float, typer.Option("--service", metavar="F", help="How much service times vary.")] = 0.3,
    days: Annotated[int, typer.Option("--days", metavar="N", help="How many days to drive the plan.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same days.")] = 0,
    json: JsonOption = False,
) -> None:
    """Drive a plan on many days, on which driving and service vary by chance.

    Every leg and every service varies by itself, on average as planned (a
    lognormal distribution with these standard deviations). Vehicles depart as
    planned; who is early waits. For each stop: the share of days on which it
    is on time, risky below 95 %, and the window in which service begins on 95 %
    of the days, which can be promised to the customer.

    Example:
      dynaroute simulate plan.json --travel 0.2 --service 0.3 --days 1000
    """
    from dynaroute.desk.simulating import simulate as drive_many_days
    from dynaroute.desk.simulating import simulation_to_json
    from dynaroute.plans import read_plan

    known = read_plan(plan)
    simulated = drive_many_days(known, travel=travel, service=service, days=days, seed=seed)
    if json:
        print_json(simulation_to_json(simulated))
        return
    rows = [_make_row(known.instance, stop) for stop in simulated.stops]
    print_table(("Customer", "Vehicle", "Arrival", "On time", "Late by", "Can be promised", ""), rows)
    risky = sum(stop.is_risky for stop in simulated.stops)
    print_line(
        f"{_show_share(simulated.on_time)} of all stops are on time, on {simulated.days:,} days; {risky} of "
        f"{len(simulated.stops)} stops are risky"
    )
    print_line(
        f"every stop is on time on {_show_share(simulated.all_on_time)} of the days, and every vehicle is back in time "
        f"on {_show_share(simulated.back_on_time)}"
    )


def _make_row(instance: Instance, stop: SimulatedStop) -> tuple[str, ...]:
    first, last = map(instance.shown_time, stop.promise)
    return (
        show_name(stop.id),
        show_name(stop.vehicle),
        instance.shown_time(stop.arrival),
        _show_share(stop.on_time),
        show_minutes(stop.mean_lateness) if stop.mean_lateness else "",
        f"{first}-{last}",
        "risky" if stop.is_risky else "",
    )


def _show_share(share: float) -> str:
    return f"{100 * share:.1f} %"
