"""Measure active search beside the search without a policy: the gap to the best known cost over CPU time.

    python benchmarks/active.py FOLDER --names X-n101-k25,X-n110-k13 [--seconds 1,5,15] [--model amd]
    python benchmarks/active.py --quick

FOLDER holds .vrp files and best_known.csv. It prints a Markdown table: the first routes (savings; the best of eight
orientations, with which active search begins), and what both have reached after so many CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import csv
import time
from bisect import bisect_right
from dataclasses import replace
from pathlib import Path

import torch

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Augmented, Greedy, construct
from dynaroute.construct.active import search_actively
from dynaroute.draw import draw_published_set
from dynaroute.formats import read
from dynaroute.model import Policy
from dynaroute.problem.instance import Instance
from dynaroute.solving.solve import solve

Curve = list[tuple[float, float]]  # CPU seconds and cost, the last the best


def run_active(policy: Policy, instance: Instance, most: float) -> Curve:
    """Tune the policy on an instance for this many CPU seconds."""
    batch = InstanceBatch.from_instances([instance])
    began = time.process_time()
    first = construct(policy, batch, Augmented(Greedy()))
    curve = [(time.process_time() - began, float(first.lengths(batch)))]
    for best in search_actively(policy, batch, first, 0, lambda: None):
        curve.append((time.process_time() - began, float(best.lengths(batch))))
        if curve[-1][0] > most:
            return curve
    return curve


def run_search(instance: Instance, most: float) -> Curve:
    """Search an instance without a policy for this many CPU seconds."""
    solve(instance, iterations=100)  # loads the machine code
    began = time.process_time()
    curve: Curve = []
    solve(
        instance,
        time_limit=1e6,
        is_cancelled=lambda: time.process_time() - began > most,
        on_improvement=lambda _, better: curve.append((time.process_time() - began, better.cost)),
    )
    return curve


def read_cases(folder: Path, names: list[str]) -> list[tuple[Instance, float]]:
    """Read instances of a folder with their best known costs."""
    with (folder / "best_known.csv").open() as table:
        known = {row["name"]: float(row["best_known_cost"]) for row in csv.DictReader(table)}
    return [(replace(read(folder / f"{name}.vrp"), name=name), known[name]) for name in names]


def draw_case() -> tuple[Instance, float]:
    """Draw a small instance, beside what a short search finds."""
    (instance,) = draw_published_set(20, 1).instances()
    return replace(instance, name="n=20"), solve(instance, iterations=20_000).cost


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--names", default="X-n101-k25,X-n110-k13", help="instances, with commas between")
    parser.add_argument("--seconds", default="1,5,15", help="CPU seconds, with commas between")
    parser.add_argument("--model", default="amd", help="a shipped model or a folder")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.folder is None and not arguments.quick:
        parser.error("name a folder with .vrp files and best_known.csv")
    torch.set_num_threads(1)
    marks = [0.5] if arguments.quick else [float(each) for each in arguments.seconds.split(",")]
    cases = [draw_case()] if arguments.folder is None else read_cases(arguments.folder, arguments.names.split(","))
    policy = Policy.from_pretrained(arguments.model).eval()
    print("| instance | method | first | " + " | ".join(f"{mark:g} s" for mark in marks) + " |")
    print("|---|---|---|" + "---|" * len(marks))
    for instance, known in cases:
        curves = {"search": run_search(instance, max(marks)), "active": run_active(policy, instance, max(marks))}
        for method, curve in curves.items():
            moments = [moment for moment, _ in curve]
            reached = [curve[max(0, bisect_right(moments, mark) - 1)][1] for mark in marks]
            gaps = [f"{100 * (cost / known - 1):.2f} %" for cost in (curve[0][1], *reached)]
            print(f"| {instance.name} | {method} | {' | '.join(gaps)} |", flush=True)


if __name__ == "__main__":
    main()
