"""python -m dynaroute.improve: compile every kernel and keep the machine code, so that no user waits for it."""

from __future__ import annotations

from dynaroute.improve.compile import compile_kernels

if __name__ == "__main__":
    seconds = compile_kernels()
    print(f"The kernels of dynaroute.improve are compiled and kept on disk ({seconds:.1f} s).")
