"""Compare every kernel with its plain twin on this machine's GPU: ``python -m dynaroute.selftest``.

Prints a table, and exits with a non-zero code on a mismatch. Without a GPU, TRITON_INTERPRET=1 runs it slowly on the
CPU at small sizes (--sizes 5,17). The twin of the search is its emulation, which needs a C++ compiler. --only search
leaves out the policies. --quick compares every kind of kernel once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import product

import torch

from dynaroute.base.machine import choose_device
from dynaroute.kernels import kernels_run_on
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.config import KindName, Normalisation
from dynaroute.study.kernel_comparisons import (
    SEARCHED,
    Comparison,
    compare_all,
    compare_pointer_routes,
    compare_pointer_scores,
    compare_rules,
    compare_search,
    compare_search_with_rules,
    find_search_device,
)
from dynaroute.study.quick_selftest import choose_scope, report, run_parts

_LARGEST_PLAIN = 128  # customers up to which plain operations can keep all steps in memory


def list_configurations() -> Iterator[tuple[str, PolicyConfig]]:
    """List all combinations of switches that need their own compiled kernels, and six layers, with names."""
    kinds: tuple[tuple[KindName, Normalisation], ...] = (("AM-D", "tanh"), ("AM", "tanh"), ("AM", "batch"))
    for (kind, normalisation), shrinks in product(kinds, (True, False)):
        mean = "shrinking" if shrinks else "constant"
        yield (
            f"{kind}, {normalisation}, {mean} mean",
            PolicyConfig(kind=kind, normalisation=normalisation, shrinking_mean=shrinks, scaled=True, layers=2),
        )
    yield "AM-D, six layers", PolicyConfig(layers=6)
    yield "AM-D, distances", PolicyConfig(layers=2, distance_bias=True)
    yield "AM-D, edges", PolicyConfig(layers=2, edge_scores=True)
    yield "AM-D, distances and edges", PolicyConfig(layers=2, distance_bias=True, edge_scores=True)
    yield "AM-D, depot without demand, no query", PolicyConfig(depot_features=2, logit_query=False)


def main() -> int:
    """Run the comparisons; returns 0 if all are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a trained policy; the default has random parameters")
    parser.add_argument("--sizes", default="1,2,5,17,20,50,64,100,101,127,150,300,1000")
    parser.add_argument("--count", type=int, default=256, help="instances of each size")
    parser.add_argument("--only", choices=("policies", "search"), help="test only these kernels")
    parser.add_argument("--quick", action="store_true", help="every kind of kernel once; other options do not count")
    parser.add_argument("--configurations", action="store_true", help="test random policies of every configuration")
    arguments = parser.parse_args()
    device = choose_device("auto")
    if os.environ.get("TRITON_INTERPRET") == "1":
        os.environ["DYNAROUTE_INTERPRET"] = "1"
    if not kernels_run_on(torch.device(device)):
        print("No kernels to test: there is no GPU with Triton, and TRITON_INTERPRET=1 is not set.", file=sys.stderr)
        return 2
    torch.backends.cuda.matmul.allow_tf32 = False
    sizes = [int(size) for size in arguments.sizes.split(",")]
    print(f"{'kernel':32} {'n':>5} {'difference':>12} {'limit':>8}")
    if arguments.quick:
        return 0 if report(run_parts(choose_scope(device))) else 1
    is_right = True
    if arguments.only != "search":
        for title, policy in _make_policies(arguments.model, arguments.configurations):
            print(title)
            is_right &= _print_outcomes(compare_all(policy.to(device).eval(), sizes, arguments.count, device))
        print("AM-D with rules beyond capacity, random parameters")
        for size in sizes:
            if size < _LARGEST_PLAIN:
                is_right &= _print_outcomes(compare_rules(size, min(arguments.count, SEARCHED), device))
        print("RL, random numbers")
        for size in sizes:
            if size < _LARGEST_PLAIN:
                is_right &= _print_outcomes(compare_pointer_scores(size, min(arguments.count, SEARCHED), device))
                is_right &= _print_outcomes(iter([compare_pointer_routes(size, min(arguments.count, 8), device)]))
    if arguments.only != "policies":
        print("batched search")
        kernels = find_search_device(device)
        for size in sizes:
            is_right &= _print_outcomes(compare_search(kernels, size, min(arguments.count, SEARCHED)))
            is_right &= _print_outcomes(compare_search_with_rules(kernels, size, min(arguments.count, SEARCHED)))
    print("all kernels agree with their twins" if is_right else "MISMATCH: see above")
    return 0 if is_right else 1


def _print_outcomes(outcomes: Iterator[Comparison]) -> bool:
    """Print a line for each; returns whether all are right."""
    is_right = True
    for outcome in outcomes:
        print(outcome.describe(), flush=True)
        is_right &= outcome.is_right
    return is_right


def _make_policies(model: str | None, of_all_configurations: bool) -> Iterator[tuple[str, Policy]]:
    if model is not None:
        yield model, Policy.from_pretrained(model)
        return
    chosen = list_configurations() if of_all_configurations else [("AM-D", PolicyConfig())]
    for title, config in chosen:
        yield f"{title}, random parameters", Policy(config, generator=torch.Generator().manual_seed(1))
