"""Searching many instances at once on a GPU, in CUDA C++.

Begin with `batched_search`; `kernel.cu` is the search itself, which a CPU runs as well (`emulation`). One instance of
any size is searched by `rounds`, beside the cores. It may import `base`, `problem`, `batch` and `search`.
"""
