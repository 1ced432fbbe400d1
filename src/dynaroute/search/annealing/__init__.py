"""Simulated annealing by ruin and recreate, on the whole problem or on parts of it in turn.

Begin with `annealing`; `ruin_recreate` is one step. It may import `problem`, `search` and `search/core`.
"""
