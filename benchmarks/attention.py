"""Compare our attention kernel for short segments with PyTorch's on one GPU: forward and backward, in bf16.

    python benchmarks/attention.py

Segments are the nodes that remain before each route of 4,096 solutions of 100 customers: 2 to 101 tokens, about 53 on
average.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from dynaroute.model.packing import Packing

HEADS, HEAD_DIMENSION = 8, 16


def draw_lengths(solutions: int, generator: torch.Generator) -> Tensor:
    """Lengths of the segments of solutions of 100 customers, 8 to 10 of them on a route."""
    lengths = []
    for _ in range(solutions):
        left = 100
        while left > 0:
            lengths.append(left + 1)
            left -= int(torch.randint(8, 11, (), generator=generator))
    return torch.tensor(lengths)


def measure(run: Callable[[Tensor], Tensor], packed: Tensor) -> tuple[float, float]:
    """Median milliseconds of forward, and of forward and backward."""

    def median(action: Callable[[], object]) -> float:
        action()
        times = []
        for _ in range(10):
            torch.cuda.synchronize()
            start = time.perf_counter()
            action()
            torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)

    def both() -> None:
        packed.grad = None
        run(packed).sum().backward()  # type: ignore[no-untyped-call]

    with torch.no_grad():
        forward = median(lambda: run(packed))
    return forward, median(both)


def main(solutions: int) -> None:
    from dynaroute.kernels.attention import AttentionShape, SegmentAttention  # needs Triton, which not every system has

    packing_lengths = draw_lengths(solutions, torch.Generator().manual_seed(1)).cuda()
    packing = Packing(packing_lengths, 101)
    tokens = int(packing_lengths.sum())
    packed = torch.randn(tokens, 3 * HEADS * HEAD_DIMENSION, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    print(
        f"{len(packing_lengths)} segments, {tokens} tokens, {torch.cuda.get_device_name()}, torch {torch.__version__}"
    )
    offsets = F.pad(packing_lengths.cumsum(0), (1, 0)).int()

    def ours(packed: Tensor) -> Tensor:
        shape = AttentionShape(101, HEADS, 1.0)
        out: Tensor = SegmentAttention.apply(packed, packing.offsets, packing.lengths, shape)  # type: ignore[no-untyped-call]
        return out

    def split(packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = packed.view(tokens, 3, HEADS, HEAD_DIMENSION).unbind(1)
        return query, key, value

    def variable_length(packed: Tensor) -> Tensor:
        from torch.nn.attention.varlen import varlen_attn

        query, key, value = split(packed)
        out = varlen_attn(query * 4.0, key, value, offsets, offsets, 101, 101)  # its scale is 1 / sqrt(16)
        return out if isinstance(out, Tensor) else out[0]

    def padded(packed: Tensor) -> Tensor:
        query, key, value = (packing.pad(part).transpose(1, 2) for part in split(packed))
        mask = packing.is_token[:, None, None, :]
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)

    for name, run in (("ours", ours), ("torch varlen_attn", variable_length), ("torch padded", padded)):
        forward, both = measure(run, packed)
        print(f"| {name} | forward {forward:.2f} ms | forward + backward {both:.2f} ms |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    is_quick = parser.parse_args().quick
    if is_quick and not torch.cuda.is_available():
        print("Skipped: this needs a GPU, and PyTorch finds none.")
        sys.exit()
    if not torch.cuda.is_available():
        sys.exit("This needs a CUDA device.")
    main(256 if is_quick else 4096)
