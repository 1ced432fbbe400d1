"""What each setting that is not in the paper is worth: train policies that differ in one, side by side.

    python benchmarks/settings.py FOLDER --minutes 6 --x X --xml XML100

All start from random parameters with the same seed, and are trained by the same recipe for the same minutes at the same
time, on one GPU that they share evenly: 128 x 8, instances of 20 to 100 customers, three of the X set's kinds for each
uniform one. Before that, each takes a few updates, so that no minute goes into compiling. Then all are compared on the
validation sets (benchmarks/validation.py). `--only measure` compares runs that have ended.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from validation import COUNTS, list_sets, print_table

from dynaroute.base.machine import choose_device
from dynaroute.training.run.trainer import LAST

VARIANTS = {
    "three layers": [],
    "six layers": ["--layers", "6"],
    "six, distances": ["--layers", "6", "--distance-bias"],
    "six, edges": ["--layers", "6", "--edge-scores"],
    "six, distances, edges": ["--layers", "6", "--distance-bias", "--edge-scores"],
}
DISTRIBUTION = """\
name = "up-to-100"

[[parts]]
sizes = [20, 100]
customers = ["uniform", "clustered", "mixed"]
depots = ["centre", "corner", "random"]
demands = ["unitary", "1-10", "5-10", "1-100", "50-100", "quadrant", "many-small"]
route_lengths = "x"
coordinates = "grid"
weight = 3

[[parts]]
sizes = [20, 100]
weight = 1
"""


def find_run(folder: Path, variant: str) -> Path:
    """The folder of a variant's run."""
    return folder / variant.replace(", ", "-").replace(" ", "-")


def start(folder: Path, variant: str, budget: Sequence[str], common: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a run of a variant in a process of its own."""
    run = find_run(folder, variant)
    options = [
        *VARIANTS[variant],
        "--distribution",
        str(folder / "up-to-100.toml"),
        *budget,
        *common,
        "--out",
        str(run),
    ]
    with (folder / f"{run.name}.log").open("wb") as log:
        command = [sys.executable, "-m", "dynaroute", "train", *options]
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def train_all(folder: Path, budget: Sequence[str], common: Sequence[str]) -> list[Path]:
    """Train all variants at once; returns the folders of those that ended well."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "up-to-100.toml").write_text(DISTRIBUTION)
    running = {variant: start(folder, variant, budget, common) for variant in VARIANTS}
    ended = {variant: process.wait() for variant, process in running.items()}
    for variant, code in ended.items():
        if code:
            print(f"{variant} failed: see its log in {folder}.", file=sys.stderr)
    return [find_run(folder, variant) for variant, code in ended.items() if code == 0]


def describe(run: Path) -> str:
    """How long a run was."""
    state = torch.load(run / LAST, map_location="cpu", weights_only=True)
    amount = f"{state['step']:,} updates, {state['trajectories'] / 1e6:.1f} M trajectories"
    return f"{run.name}: {state['seconds'] / 60:.2f} minutes, {amount}, best validation {state['best_length']:.4f}"


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder for the runs")
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run, all at the same time")
    parser.add_argument("--seed", type=int, default=44)
    parser.add_argument("--x", type=Path, help="folder of the X set")
    parser.add_argument("--xml", type=Path, help="folder of XML100")
    parser.add_argument("--only", choices=("compile", "train", "measure"), help="do only this part")
    parser.add_argument("--quick", action="store_true", help="a check: an update of each variant, few instances")
    given = parser.parse_args()
    common = ["--instances", "128", "--validation-count", "200", "--seed", str(given.seed)]
    if given.quick:
        with TemporaryDirectory() as folder:
            tiny = ["--instances", "2", "--samples", "2", "--validation-count", "2"]
            made = [str(run) for run in train_all(Path(folder), ["--updates", "1"], tiny)]
            print_table(made, list(list_sets(None, None, {20: 2})), choose_device("auto"))
        return
    if given.folder is None:
        parser.error("give a folder for the runs")
    if given.only in (None, "compile"):
        with TemporaryDirectory() as folder:
            train_all(Path(folder), ["--updates", "4"], common)
    if given.only in (None, "train"):
        train_all(given.folder, ["--minutes", str(given.minutes)], common)
    if given.only in (None, "measure"):
        runs = [find_run(given.folder, variant) for variant in VARIANTS]
        runs = [run for run in runs if (run / LAST).exists()]
        print("\n".join(describe(run) for run in runs) + "\n")
        sets = list(list_sets(given.x, given.xml, COUNTS))
        print_table([str(run) for run in runs], sets, choose_device("auto"))


if __name__ == "__main__":
    main()
