from __future__ import annotations

import numpy as np
from policies import draw_instances

from dynaroute.plotting.growing import plot_growing
from dynaroute.search.savings import build_by_savings


def test_panels_grow_from_no_route_to_all() -> None:
    (instance,) = draw_instances(30)
    solution = build_by_savings(instance)
    changes, served = [], np.zeros(30, dtype=bool)
    for route in solution.routes:
        changes.append(np.where(served, np.nan, 0.5))
        served[np.array(route) - 1] = True

    first = plot_growing(instance, solution, changes, solution, ("before", "after"))

    panels = [each for each in first.figure.axes if each.get_title(loc="left")]
    titles = [each.get_title(loc="left") for each in panels]
    assert titles[0] == "Encode all 30 customers"
    assert titles[-2:] == ["before", "after"]
    lines = [len(panel.lines) for panel in panels]
    assert lines == sorted(lines)
    assert lines[0] == 1  # the depot
