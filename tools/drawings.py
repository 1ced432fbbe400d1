"""Draw the pictures of the pages about the policy, the engine and the searches: docs/images/*.svg.

python tools/drawings.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
BLUE, ORANGE, GREEN, GREY, PALE, INK = "#3566a8", "#c8631e", "#3a8a5b", "#9aa3ad", "#e8ecf1", "#2b3138"
ROUTE_COLOURS = (BLUE, ORANGE, GREEN)

Point = tuple[float, float]
DEPOT: Point = (5.0, 5.0)
ROUTES: tuple[tuple[Point, ...], ...] = (
    ((4.0, 7.0), (2.8, 8.6), (1.2, 7.6), (2.2, 6.0)),
    ((6.4, 6.6), (8.0, 8.2), (9.1, 6.4), (7.4, 5.2)),
    ((3.4, 3.6), (2.0, 1.8), (4.4, 1.0), (6.2, 2.2), (7.4, 3.4)),
)


def make_axes(figure: Figure, rows: int, columns: int, number: int, title: str, size: Point = (10, 10)) -> Axes:
    """Make axes without a frame, with their own units."""
    ax = figure.add_subplot(rows, columns, number)
    ax.set_xlim(0, size[0])
    ax.set_ylim(0, size[1])
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title, fontsize=10, color=INK, loc="left")
    return ax


def draw_nodes(ax: Axes, points: Sequence[Point], colour: str, *, is_hollow: bool = False) -> None:
    """Draw customers as dots."""
    faces = "white" if is_hollow else colour
    across, up = zip(*points, strict=True)
    ax.scatter(across, up, s=48, facecolors=faces, edgecolors=colour, linewidths=1.2, zorder=3)


def draw_depot(ax: Axes) -> None:
    """Draw the depot as a square."""
    ax.scatter(*DEPOT, s=90, marker="s", color=INK, zorder=4)


def draw_route(ax: Axes, route: Sequence[Point], colour: str, *, width: float = 1.8) -> None:
    """Draw a closed route through the depot."""
    ax.plot(*zip(DEPOT, *route, DEPOT, strict=True), color=colour, linewidth=width, zorder=2)


def draw_attention(ax: Axes, points: Sequence[Point]) -> None:
    """Draw thin lines between all nodes that see each other."""
    seen = [DEPOT, *points]
    for index, here in enumerate(seen):
        for there in seen[:index]:
            ax.plot(*zip(here, there, strict=True), color=GREY, linewidth=0.4, alpha=0.6, zorder=1)


def draw_box(ax: Axes, at: Point, size: Point, words: str, colour: str = PALE, ink: str = INK) -> None:
    """Draw a box with words in it; `at` is its lower left corner."""
    ax.add_patch(FancyBboxPatch(at, *size, boxstyle="round,pad=0,rounding_size=0.25", facecolor=colour, edgecolor=ink))
    ax.text(at[0] + size[0] / 2, at[1] + size[1] / 2, words, ha="center", va="center", fontsize=8.5, color=INK)


def draw_arrow(ax: Axes, start: Point, end: Point, words: str = "", bend: float = 0.0) -> None:
    """Draw an arrow, with words next to its middle."""
    style = f"arc3,rad={bend}"
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=11, color=INK, connectionstyle=style, linewidth=1.1
        )
    )
    ax.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.25, words, ha="center", fontsize=8, color=INK)


def draw_encoding_anew() -> Figure:
    """Compare AM with AM-D: what each of them has encoded when it starts a route."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    for number in range(3):
        left = [point for route in ROUTES[number:] for point in route]
        done = [point for route in ROUTES[:number] for point in route]
        everything = [*left, *done]
        for row, (model, seen) in enumerate((("AM", everything), ("AM-D", left))):
            ax = make_axes(figure, 2, 3, 3 * row + number + 1, f"{model}, before route {number + 1}")
            draw_attention(ax, seen)
            for index in range(number):
                draw_route(ax, ROUTES[index], ROUTE_COLOURS[index], width=1.2)
                draw_nodes(ax, ROUTES[index], ROUTE_COLOURS[index], is_hollow=True)
            draw_nodes(ax, left, INK)
            draw_depot(ax)
    figure.text(0.995, 0.005, "grey: nodes that see each other in the encoding", ha="right", fontsize=8, color=INK)
    return figure


def draw_tile() -> Figure:
    """Draw a tile of the fused kernel: the remaining nodes of several trajectories, stage after stage."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    ax = make_axes(figure, 1, 1, 1, "One program: a tile of rows, stage after stage", (30, 12.5))
    stages = (
        ((12, BLUE, "A"), (12, ORANGE, "B")),
        ((9, BLUE, "A"), (8, ORANGE, "B"), (7, GREEN, "C")),
        ((5, BLUE, "A"), (5, ORANGE, "B"), (7, GREEN, "C"), (7, GREY, "D")),
    )
    for number, stage in enumerate(stages):
        left, bottom = 0.6 + 10 * number, 2.6
        for rows, colour, name in stage:
            height = rows * 0.35
            ax.add_patch(Rectangle((left, bottom), 4.6, height, facecolor=colour, alpha=0.35, edgecolor=colour))
            ax.text(left + 2.3, bottom + height / 2, name, ha="center", va="center", fontsize=11, color=INK)
            bottom += height
        ax.add_patch(Rectangle((left, 2.6), 4.6, 24 * 0.35, fill=False, edgecolor=INK, linewidth=1.4))
        ax.text(left + 2.3, 11.4, f"stage {number + 1}", ha="center", fontsize=9, color=INK)
        if number < 2:
            draw_arrow(ax, (left + 5.0, 6.8), (left + 9.6, 6.8), "one route\neach")
    words = "Letters are trajectories: the depot and the remaining customers of each. A tile is encoded on chip,\n"
    words += "every trajectory drives one route, served customers are dropped, and new trajectories fill the space."
    ax.text(0.6, 1.9, words, fontsize=8.5, color=INK, va="top")
    return figure


def draw_replay() -> Figure:
    """Draw the layout of a finished solution for training: one suffix per route."""
    figure = Figure(figsize=(9, 3.9), layout="constrained")
    ax = make_axes(
        figure, 1, 1, 1, "Replay of a finished solution: the nodes that remain before each route are a suffix", (30, 11)
    )
    routes = ((1, 2, 3, 4), (5, 6, 7), (8, 9, 10))
    customers = [customer for route in routes for customer in route]
    for number, route in enumerate(routes):
        bottom, first = 7.8 - 2.6 * number, route[0]
        ax.text(0.2, bottom + 0.65, f"before route {number + 1}", fontsize=8.5, va="center", color=INK)
        draw_box(ax, (5.6, bottom), (1.9, 1.3), "depot", PALE)
        for customer in customers:
            is_left, is_driven = customer >= first, customer in route
            colour = ROUTE_COLOURS[number] if is_driven else PALE if is_left else "white"
            ax.add_patch(
                FancyBboxPatch(
                    (5.8 + 2.1 * customer, bottom),
                    1.7,
                    1.3,
                    boxstyle="round,pad=0,rounding_size=0.2",
                    facecolor=colour,
                    alpha=0.45 if is_driven else 1.0,
                    edgecolor=INK if is_left else "#d5d9de",
                )
            )
            label = str(customer) if is_left else ""
            ax.text(6.65 + 2.1 * customer, bottom + 0.65, label, ha="center", va="center", fontsize=9, color=INK)
    words = "Coloured: the steps of the route. At step p, slots 1 to p are visited, so every mask is a comparison\n"
    words += "of numbers, and all steps of all routes are decoded at once."
    ax.text(0.2, 1.7, words, fontsize=8.5, color=INK, va="top")
    return figure


def draw_ruin_and_recreate() -> Figure:
    """Draw one iteration of ruin and recreate."""
    figure = Figure(figsize=(9, 3.3), layout="constrained")
    before = make_axes(figure, 1, 3, 1, "1. routes")
    ruined = make_axes(figure, 1, 3, 2, "2. neighbouring strings are removed")
    after = make_axes(figure, 1, 3, 3, "3. inserted where they cost least")
    first = ((4.0, 7.0), (2.8, 8.6), (1.2, 7.6), (2.0, 1.8))
    last = ((2.2, 6.0), (3.4, 3.6), (4.4, 1.0), (6.2, 2.2), (7.4, 3.4))
    strings = {*first[2:], *last[:2]}
    for ax in (before, ruined, after):
        draw_depot(ax)
    for colour, bad, better in zip(ROUTE_COLOURS, (first, ROUTES[1], last), ROUTES, strict=True):
        for ax, route in (
            (before, bad),
            (ruined, [point for point in bad if point not in strings]),
            (after, better),
        ):
            draw_route(ax, route, colour)
            draw_nodes(ax, route, colour)
    draw_nodes(ruined, sorted(strings), INK, is_hollow=True)
    return figure


def draw_search() -> Figure:
    """Draw the stages of a search with a time limit."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    ax = make_axes(figure, 1, 1, 1, "A search with a time limit", (30, 10.5))
    draw_box(ax, (0.3, 5.2), (5.4, 2.6), "first routes\nsavings, a policy,\nor routes you have")
    draw_box(ax, (8.4, 5.2), (5.6, 2.6), "ruin and recreate\nwith simulated\nannealing", "#dbe6f4")
    draw_box(ax, (17.0, 5.2), (6.2, 2.6), "genetic search\ncross, cut into routes,\nimprove by local search", "#f6e3d5")
    draw_box(ax, (25.8, 5.2), (3.9, 2.6), "best routes", "#dcefe3")
    draw_arrow(ax, (5.8, 6.5), (8.3, 6.5))
    draw_arrow(ax, (14.1, 6.5), (16.9, 6.5), "best")
    draw_arrow(ax, (23.3, 6.5), (25.7, 6.5))
    draw_arrow(ax, (11.2, 5.1), (27.0, 5.1), bend=0.25)
    ax.text(
        19.0, 2.1, "too large, or too little time: ruin and recreate to the end", ha="center", fontsize=8.5, color=INK
    )
    return figure


DRAWINGS = {
    "encoding-anew": draw_encoding_anew,
    "tile": draw_tile,
    "replay": draw_replay,
    "ruin-and-recreate": draw_ruin_and_recreate,
    "search": draw_search,
}


def main() -> None:
    """Draw all of them; the same code gives the same files."""
    matplotlib.rcParams["svg.hashsalt"] = "dynaroute"
    for name, draw in DRAWINGS.items():
        draw().savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
