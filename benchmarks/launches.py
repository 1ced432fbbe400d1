"""Which launch settings of the kernels for large instances are fastest on this machine's GPU; prints a table of each.

    python benchmarks/launches.py [--size 500] [--count 1000] [--only parts drive] [--quick]

`parts` tells what each kernel takes of a greedy construction, as it is.

The settings in use are those that were fastest on an H200; where another wins by much, tell us.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from dynaroute.construct import fused_stream
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.kernels import attention, token_layer
from dynaroute.kernels.attention import AttentionShape, StreamLaunch, attention_backward, attention_forward
from dynaroute.kernels.token_layer import TokenLaunch, TokenLayer, run_token_layer
from dynaroute.model import Policy
from dynaroute.model.encoder import AttentionLayer
from dynaroute.training.step.instances import TrainingTask

HEADS = 8
SWEEPS = ("parts", "forward", "backward", "tokens", "drive")


def measure(action: Callable[[], object]) -> float:
    """Return the best of three times in milliseconds, after a first call that compiles."""
    action()
    seconds = []
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        action()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return 1e3 * min(seconds)


@contextmanager
def swapped(module: Any, name: str, value: object) -> Iterator[None]:
    """Give a module another setting for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def sweep(
    title: str, module: Any, names: tuple[str, ...], settings: Iterable[Any], action: Callable[[], object]
) -> None:
    """Time an action with every setting, and print the fastest settings first."""
    rows = []
    for setting in settings:
        with swapped(module, names[0], setting), swapped(module, names[-1], setting):
            try:
                rows.append((measure(action), setting))
            except Exception as error:  # this setting does not fit on the chip
                print(f"  {setting}: {type(error).__name__}", flush=True)
    in_use = getattr(module, names[0])
    print(f"{title}; in use: {in_use}")
    for milliseconds, setting in sorted(rows)[:8]:
        print(f"  {milliseconds:8.3f} ms  {setting}{'  (in use)' if setting == in_use else ''}", flush=True)


def show_parts(build: Callable[[], object]) -> None:
    """What each kernel takes of a construction; the rest is what the device waits."""
    whole = measure(build)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        build()
        torch.cuda.synchronize()
    print(f"greedy routes: {whole:.1f} ms")
    kernels = sorted(profiler.key_averages(), key=lambda kernel: kernel.self_device_time_total, reverse=True)
    for kernel in kernels[:8]:
        print(f"  {1e-3 * kernel.self_device_time_total:8.3f} ms  {kernel.count:4d} x {kernel.key[:60]}", flush=True)


def main() -> None:
    """Sweep attention both ways, the layer's tokens, and the drive of routes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--only", choices=SWEEPS, nargs="+", default=SWEEPS, help="some of the sweeps")
    parser.add_argument("--quick", action="store_true", help="two settings each, 64 instances")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no GPU: nothing to measure.")
        return
    count = 64 if arguments.quick else arguments.count
    few = 2 if arguments.quick else None
    nodes, policy = arguments.size + 1, Policy.from_pretrained("amd-100").to("cuda").eval()
    batch = TrainingTask(arguments.size, (100,)).draw(count, torch.Generator("cuda").manual_seed(1), 0)
    packed = torch.randn(count * nodes, 3 * 128, device="cuda", dtype=torch.float16)
    lengths = torch.full((count,), nodes, device="cuda")
    offsets, shape = torch.arange(count, device="cuda") * nodes, AttentionShape(nodes, HEADS, 1.0)

    streams = [StreamLaunch(*each) for each in product((64, 128), (32, 64), (2, 4), (3, 4), (None, 128))]
    forward = lambda: attention_forward(packed, offsets, lengths, shape)  # noqa: E731 (several of a kind)
    if "forward" in arguments.only:
        sweep("attention, forward", attention, ("_STREAM_FORWARD",), streams[:few], forward)
    attended = attention_forward(packed, offsets, lengths, shape)
    tiles = ((64, 64, 4), (64, 128, 4), (32, 128, 4), (64, 128, 8), (128, 128, 8))  # queries, keys, warps
    blocks = [StreamLaunch(*tile, *each) for tile, each in product(tiles, product((1, 2, 3), (None, 128)))]
    backward = lambda: attention_backward(packed, attended, attended.out, offsets, lengths, shape)  # noqa: E731
    if "backward" in arguments.only:
        sweep("attention, backward", attention, ("_STREAM_BACKWARD",), blocks[:few], backward)

    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    with torch.no_grad():
        weights = layer.weights(torch.float16)
        rest = TokenLayer._make((*weights[1:], weights[0]))
        hidden, tokens = attended.out, torch.tensor([count * nodes], device="cuda")
        sizes = ((64, 4, 128), (64, 4, 168), (128, 8, 128))  # tile, warps, registers
        launches = [
            TokenLaunch(tile, inner, warps, stages, registers, is_described)
            for (tile, warps, registers), inner, stages, is_described in product(sizes, (32, 64), (2, 3), (True, False))
        ]
        run_layer = lambda: run_token_layer(hidden, hidden, tokens, rest)  # noqa: E731
        if "tokens" in arguments.only:
            sweep("tokens", token_layer, ("_HALF", "_HALF_FEW"), launches[:few], run_layer)

        drives = [
            fused_stream.RouteLaunch(*each) for each in product((32, 64, 128), (2, 3), (2, 4, 8), (None, 128, 168))
        ]
        build = lambda: construct_once(policy, batch, MostLikely())  # noqa: E731
        if "drive" in arguments.only:
            sweep("greedy routes by drive", fused_stream, ("_NARROW", "_WIDE"), drives[:few], build)
        if "parts" in arguments.only:
            show_parts(build)


if __name__ == "__main__":
    main()
