"""Functions shared by several kernels."""

from __future__ import annotations

import triton
import triton.language as tl

_IS_INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)


@triton.jit
def loop_end(count):
    """Convert a loaded number to the end of a loop; the interpreter's own conversion fails with NumPy 2.4 and later."""
    if _IS_INTERPRETED:
        return count.handle.data.item()
    else:  # noqa: RET505 (Triton also compiles what follows a return)
        return count


@triton.jit
def find_feasible(is_open, demand, remaining, is_depot, may_return):
    """Eqs 14 and 19: unvisited customers that fit, and the depot if the vehicle may return.

    Twin: `dynaroute.model.state.find_feasible`.
    """
    return (is_open & (demand <= remaining)) | (is_depot & may_return)


@triton.jit
def log_distance(x_difference, y_difference, count):
    """The scaled logarithm of a distance, given the number of nodes. Twin: `dynaroute.model.decoder.log_distances`."""
    squared = x_difference * x_difference + y_difference * y_difference
    return 0.5 * tl.log(squared * count.to(tl.float32) + 1.0e-4)


@triton.jit
def tanh(x):
    """Tanh, within 1e-7. Twin: torch.tanh."""
    return 1.0 - 2.0 / (tl.exp(2.0 * tl.minimum(x, 40.0)) + 1.0)  # beyond 40, exp may overflow and tanh is 1


@triton.jit
def native_tanh(x):
    """Tanh by the GPU's own instruction, within 2^-11. Twin: torch.tanh."""
    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def draw_gumbel(first_key, second_key, step, node):
    """Gumbel noise from the same 32-bit words as its twin, `dynaroute.construct.choose.draw_gumbel`."""
    row = _mix(first_key ^ (step.to(tl.uint32) * 0x9E3779B1))
    bits = _mix(_mix(row ^ (node.to(tl.uint32) * 0x85EBCA77)) ^ second_key)
    uniform = ((bits >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07  # 2^-23
    return -tl.log(-tl.log(uniform))


@triton.jit
def scramble(numbers):
    """64 pseudo-random bits for each number; their sum over a set identifies the set.

    `dynaroute.construct.choose.scramble` does the same with other bits, which are only compared with each other.
    """
    words = numbers.to(tl.uint32)
    high = _mix(words * 0x9E3779B1 ^ 0x243F6A88)
    low = _mix(words * 0x85EBCA77 ^ 0x13198A2E)
    return (high.to(tl.int64) << 32) | low.to(tl.int64)


@triton.jit
def _mix(words):
    """The twin of `noise._mix`."""
    words = (words ^ (words >> 16)) * 0x7FEB352D
    words = (words ^ (words >> 15)) * 0x846CA68B
    return words ^ (words >> 16)
