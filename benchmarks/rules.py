"""Teach the generalist all rules beyond capacity, and measure it on RouteFinder's sets: one command for a GPU.

    python benchmarks/rules.py rules --minutes 300                  trains into the folder rules, then measures
    python benchmarks/rules.py rules                                goes on after a break, or only measures
    python benchmarks/rules.py rules --variants vrptw,mdcvrp --size 10 --minutes 4 --count 20    a trial on a CPU

Stages, instances and rates are those of `dynaroute train --recipe rules`. The folder has checkpoints, the model
that validates best, and at the end gaps.json: greedy with eight orientations on every set whose rules the model knows,
1,000 instances each, gaps to the reference lengths in percent, and their means. `check` judges every route.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from dynaroute.study.variant_sets import VariantTable, measure_variants

_PLAN = "plan.toml"  # every run has one


def train(folder: Path, minutes: float, size: int | None, variants: str | None, device: str) -> None:
    """Begin a run, or go on with it."""
    words = ["--resume", folder] if (folder / _PLAN).exists() else ["--out", folder, "--minutes", minutes]
    if not (folder / _PLAN).exists():
        words += ["--recipe", "rules"] if size is None else ["--size", size, "--variants", variants or "all"]
    command = [sys.executable, "-m", "dynaroute", "train", *map(str, words), "--device", device]
    subprocess.run(command, check=True)


def list_gaps(table: VariantTable) -> dict[str, object]:
    """List all gaps and their means as JSON."""
    rows = [
        {"variant": each.name, "size": each.size, "length": each.length, "gap": each.gap, "seconds": each.seconds}
        for each in table.entries
    ]
    return {"model": table.model, "hardware": table.hardware, "count": table.count, "means": table.means, "sets": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the run's folder", nargs="?", default=Path("rules"))
    parser.add_argument("--minutes", type=float, default=300.0, help="for training; a resumed run keeps its own")
    parser.add_argument("--size", type=int, help="one size instead of the recipe's stages")
    parser.add_argument("--variants", help="with --size: other variants than all")
    parser.add_argument("--count", type=int, help="instances of each set instead of 1,000")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true", help="only says what would run")
    arguments = parser.parse_args()
    if arguments.quick:
        print("Skipped: this trains.")
        return 0
    train(arguments.folder, arguments.minutes, arguments.size, arguments.variants, arguments.device)
    table = measure_variants(str(arguments.folder), arguments.count, arguments.device)
    (arguments.folder / "gaps.json").write_text(json.dumps(list_gaps(table), indent=1) + "\n", encoding="utf-8")
    print(table.to_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
