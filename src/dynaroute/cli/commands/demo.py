"""``dynaroute demo``: the paper at work, in half a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dynaroute.cli.shared.options import JsonOption, option
from dynaroute.cli.shared.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from dynaroute.study.demo import Demonstration


def demo(
    out: Annotated[Path, option("FOLDER", "Where the instance, the routes and the picture go.")] = Path("demo"),
    json: JsonOption = False,
) -> None:
    """Solve a published problem stage by stage, and draw how the policy sees it.

    The instance is the first of the 10,000 published ones with 100 customers.
    Savings is the classical heuristic that everything starts from otherwise.
    The policy (AM-D) encodes all customers, drives one route, and encodes
    again what is left. Then 2OPT, all eight orientations of the map, and a
    search improve its routes. All routes are checked.

    Example:
      dynaroute demo --out demo
    """
    from dynaroute.formats.write import write
    from dynaroute.study.demo import demonstrate

    shown = demonstrate()
    out.mkdir(parents=True, exist_ok=True)
    write(shown.instance, out / "instance.vrp")
    write(shown.best, out / "instance.sol")
    picture = _draw(shown, out / "demo.png")
    if json:
        print_json({**shown.to_json(), "picture": str(picture)})
    else:
        _print(shown)
        print_line(f"Everything was checked. The picture is {picture}.")


def _print(shown: Demonstration) -> None:
    from dynaroute.study.demo import BEST_FOUND, COUNT

    print_line(f"{shown.instance.name}, 100 customers; the best routes found so far are {BEST_FOUND:.4f} long")
    print_table(
        ("Routes by", "Length", "Gap", "Time"),
        [
            (each.name, f"{each.result.cost:.4f}", f"{each.gap:.2f} %", _show_seconds(each.seconds))
            for each in shown.stages
        ],
    )
    print_line("")
    print_line(f"The first {COUNT} of the 10,000 published instances, mean length")
    print_table(
        ("Routes by", f"These {COUNT}", "Time for each", "All 10,000", "In the paper"),
        [
            (
                row.name,
                f"{row.length:.3f}",
                _show_seconds(row.seconds / COUNT),
                f"{row.all_of_them:.3f}",
                "" if row.paper is None else f"{row.paper:.2f}",
            )
            for row in shown.rows
        ],
    )


def _show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _draw(shown: Demonstration, path: Path) -> Path:
    from dynaroute.plotting.growing import plot_growing
    from dynaroute.plotting.pictures import save_figure

    alone, searched = shown.stage("AM-D, greedy"), shown.stages[-1]
    titles = (f"AM-D, greedy: {alone.result.cost:.3f}", f"After a search of 2 s: {searched.result.cost:.3f}")
    changes = [view.spread(shown.instance.size) for view in shown.views]
    save_figure(plot_growing(shown.instance, alone.result.solution, changes, searched.result.solution, titles), path)
    return path
